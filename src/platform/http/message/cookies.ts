/** Cookies: reads the header, and writes host-only cookies. */

/** Returns the first cookie with this name. Browsers send the most specific cookie first. */
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
 * Returns functions for a cookie. Over HTTPS its name starts with `__Host-`: browsers accept such a cookie only from this host and
 * over TLS. Over plain HTTP, which is for local trials, the prefix is not possible, so the name has none.
 */
export function cookiesNamed(bareName: string, baseUrl: string, sameSite: 'Lax' | 'None' = 'Lax'): Cookies {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? `__Host-${bareName}` : bareName;
  // `SameSite=None` needs TLS. Without it, browsers reject the cookie, so `Lax` is used.
  const attributes = `Path=/; HttpOnly; SameSite=${secure ? `${sameSite}; Secure` : 'Lax'}`;
  return {
    name,
    set: (value, seconds) => `${name}=${value}; ${attributes}; Max-Age=${seconds}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  };
}
