/** The URL of an SMTP server, as operators set it: `smtp://user:password@host:port` or `smtps://…`. */

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** True for TLS from the first byte (`smtps`). Otherwise the connection is upgraded with STARTTLS. */
  readonly isSecure: boolean;
  /** `required`: nothing is sent in plain text. `optional`: STARTTLS is used if the server offers it. `never`: it is not used. */
  readonly startTls: StartTls;
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
}

const startTlsModes = ['required', 'optional', 'never'] as const;
export type StartTls = (typeof startTlsModes)[number];

const defaultPorts = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Parses the URL. The message of its error describes a valid value. */
export function parseSmtpUrl(value: string): SmtpServer {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    throw new Error('an absolute URL that starts with smtp:// or smtps://');
  }
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'starttls');
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash !== '' || unknown !== undefined) {
    throw new Error('an absolute URL without a path; its only parameter is `starttls`');
  }
  // A host in brackets is an IPv6 address.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const given = url.searchParams.get('starttls') ?? (isLoopback(host) ? 'optional' : 'required');
  const startTls = startTlsModes.find((mode) => mode === given);
  if (startTls === undefined) {
    throw new Error(`an absolute URL whose parameter \`starttls\` is one of ${startTlsModes.join(', ')}`);
  }
  if ((url.username === '') !== (url.password === '')) {
    throw new Error('an absolute URL with both a user and a password, or neither');
  }
  return {
    host,
    port: url.port === '' ? defaultPorts[url.protocol] : Number(url.port),
    isSecure: url.protocol === 'smtps:',
    startTls,
    credentials:
      url.username === '' ? undefined : { user: decoded(url.username), password: decoded(url.password) },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('an absolute URL whose user and password are percent-encoded');
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
