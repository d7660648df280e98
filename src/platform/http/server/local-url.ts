/** Addresses that are shown as `localhost`. They share one name, because browsers store cookies by host name. */
const local = ['127.0.0.1', '0.0.0.0', '::'];

/** The loopback address of each wildcard address. */
const literals = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Returns the URL at which people reach the service from the same machine. */
export function localUrl(host: string, port: number): string {
  return urlOf(local.includes(host) ? 'localhost' : host, port);
}

/** Like `localUrl`, but keeps an IP address: a request with a key must not depend on name resolution. */
export function literalUrl(host: string, port: number): string {
  return urlOf(literals.get(host) ?? host, port);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
