/** Cookies: reads the header, and writes host-only cookies. */

/** Returns the first cookie of that name; browsers send the most specific one first. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim() === name) {
      return part.slice(equals + 1).trim();
    }
  }
  return undefined;
}

export interface Cookies {
  readonly name: string;
  set(value: string, seconds: number): string;
  clear(): string;
}

/**
 * Over HTTPS the name starts with `__Host-`: browsers accept such a cookie only from this host and over TLS. Over plain
 * HTTP, used for local trials, that prefix is not possible, so the name has none.
 */
export function cookiesNamed(bareName: string, baseUrl: string, sameSite: 'Lax' | 'None' = 'Lax'): Cookies {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? `__Host-${bareName}` : bareName;
  // Browsers reject `SameSite=None` without TLS, so forms of other sites cannot send a cookie there.
  const attributes = `Path=/; HttpOnly; SameSite=${secure ? `${sameSite}; Secure` : 'Lax'}`;
  return {
    name,
    set: (value, seconds) => `${name}=${value}; ${attributes}; Max-Age=${seconds}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  };
}
