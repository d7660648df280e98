/** Addresses of this machine that people call `localhost`. One name for all of them: a browser keeps cookies by name. */
const local = ['127.0.0.1', '0.0.0.0', '::'];

/** One that listens everywhere is reached here. */
const literals = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Where a service that listens there is reached from the same machine. */
export function localUrl(host: string, port: number): string {
  return urlOf(local.includes(host) ? 'localhost' : host, port);
}

/** The same by its number: what is sent with a key must not go to whoever has the name. */
export function literalUrl(host: string, port: number): string {
  return urlOf(literals.get(host) ?? host, port);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
