/** The client of the device grant (RFC 8628): discovery, a code, polling, renewal and sign-out. */
import { isIP } from 'node:net';
import type { StoredSignIn } from './stored-sign-ins.ts';

const clientId = 'purser-cli';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const answerWithinMs = 30_000;
/** Added to the interval when the server asks to slow down. */
const slowDownSeconds = 5;

interface Metadata {
  readonly device_authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint?: string;
}

export interface DeviceCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete?: string;
  readonly interval?: number;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
}

export interface SignInClock {
  nowMs(): number;
  pause(ms: number): Promise<unknown>;
}

interface OAuthAnswer {
  readonly status: number;
  readonly body: Partial<Tokens & DeviceCode & Metadata> & {
    readonly error?: string;
    readonly error_description?: string;
  };
}

/** Returns the address without a slash at its end. Throws for one that would send tokens unencrypted over a network. */
export function baseOf(given: string): string {
  if (!URL.canParse(given)) {
    throw new Error('The address must be a URL, such as https://purser.example.com/code/acme.');
  }
  const { protocol, hostname, origin, pathname, username, password } = new URL(given);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname))) {
    throw new Error('The address must begin with https://.');
  }
  if (username !== '' || password !== '') {
    throw new Error('The address must not contain credentials.');
  }
  return origin + pathname.replace(/\/+$/, '');
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
  );
}

/** Signs in. `show` is called with the code that the person must approve. */
export async function signIn(
  base: string,
  clock: SignInClock,
  show: (code: DeviceCode) => void,
): Promise<StoredSignIn> {
  const metadata = await discover(base);
  const device = (await post(metadata.device_authorization_endpoint, { client_id: clientId })) as {
    status: number;
    body: DeviceCode & OAuthAnswer['body'];
  };
  if (device.status !== 200) {
    throw failure(device);
  }
  show(device.body);
  let intervalSeconds = device.body.interval ?? slowDownSeconds;
  for (;;) {
    await clock.pause(intervalSeconds * 1_000);
    const answer = await post(metadata.token_endpoint, {
      grant_type: deviceGrant,
      device_code: device.body.device_code,
      client_id: clientId,
    });
    if (answer.status === 200) {
      return stored(metadata, answer.body as Tokens, clock);
    }
    if (answer.body.error === 'slow_down') {
      intervalSeconds += slowDownSeconds;
    } else if (answer.body.error !== 'authorization_pending') {
      throw failure(answer);
    }
  }
}

/** Returns the next tokens; undefined if the person must sign in again. */
export async function renew(signedIn: StoredSignIn, clock: SignInClock): Promise<StoredSignIn | undefined> {
  const { refresh_token, token_endpoint, revocation_endpoint } = signedIn;
  if (refresh_token === null) {
    return undefined;
  }
  const answer = await post(token_endpoint, {
    grant_type: 'refresh_token',
    refresh_token,
    client_id: clientId,
  });
  if (answer.body.error === 'invalid_grant') {
    return undefined;
  }
  if (answer.status !== 200) {
    throw failure(answer);
  }
  return stored(
    { token_endpoint, ...(revocation_endpoint !== null && { revocation_endpoint }) },
    answer.body as Tokens,
    clock,
  );
}

export async function signOut({
  revocation_endpoint,
  refresh_token,
  access_token,
}: StoredSignIn): Promise<void> {
  if (revocation_endpoint !== null) {
    const answer = await post(revocation_endpoint, {
      token: refresh_token ?? access_token,
      client_id: clientId,
    });
    if (answer.status !== 200) {
      throw failure(answer);
    }
  }
}

async function discover(base: string): Promise<Metadata> {
  const response = await send(`${base}/.well-known/oauth-authorization-server`, {});
  if (response.status !== 200) {
    throw new Error(`${base} is not an address to sign in at: it answered ${response.status}.`);
  }
  const metadata = response.body as Metadata;
  const { origin } = new URL(base);
  const endpoints = [
    metadata.device_authorization_endpoint,
    metadata.token_endpoint,
    metadata.revocation_endpoint,
  ];
  // Tokens are sent to no other host, whatever the answer says.
  if (
    !endpoints.every((url, index) =>
      url === undefined ? index === 2 : URL.canParse(url) && new URL(url).origin === origin,
    )
  ) {
    throw new Error(`${base} names endpoints of another host.`);
  }
  return metadata;
}

function stored(
  { token_endpoint, revocation_endpoint }: Pick<Metadata, 'token_endpoint' | 'revocation_endpoint'>,
  { access_token, refresh_token, expires_in }: Tokens,
  clock: SignInClock,
): StoredSignIn {
  return {
    token_endpoint,
    revocation_endpoint: revocation_endpoint ?? null,
    access_token,
    refresh_token: refresh_token ?? null,
    expires_at_ms: clock.nowMs() + expires_in * 1_000,
  };
}

function post(url: string, form: Readonly<Record<string, string>>): Promise<OAuthAnswer> {
  return send(url, { method: 'POST', body: new URLSearchParams(form) });
}

async function send(url: string, init: RequestInit): Promise<OAuthAnswer> {
  const response = await fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(answerWithinMs),
  });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) as OAuthAnswer['body'] };
  } catch {
    return { status: response.status, body: {} };
  }
}

const reasons: Readonly<Record<string, string>> = {
  access_denied: 'The sign-in was rejected.',
  expired_token: 'The code has expired. Run the command again.',
};

function failure({ status, body }: OAuthAnswer): Error {
  return new Error(reasons[body.error ?? ''] ?? body.error_description ?? `The service answered ${status}.`);
}
