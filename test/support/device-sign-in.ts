/** Signing in from a coding tool: what the tool does over HTTP, and what the person does in a browser. */
import { createToolSignIns } from '../../src/capabilities/access/tool-sign-ins/index.ts';
import { createIds } from '../../src/platform/ids.ts';
import type { TestOrg, World } from '../harness.ts';
import type { Browser, BrowserAnswer } from './cookie-browser.ts';

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
export const clientId = 'claude-code';

export interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read tokens and errors.
  readonly json: any;
}

export interface Tool {
  /** Starts a sign-in. */
  authorize(): Promise<DeviceAuthorization>;
  poll(device: Pick<DeviceAuthorization, 'device_code'>, more?: Record<string, string>): Promise<TokenAnswer>;
  refresh(refreshToken: string, more?: Record<string, string>): Promise<TokenAnswer>;
  /** Sends a request below the base address with a bearer token. */
  call(path: string, token: string, init?: RequestInit): Promise<TokenAnswer>;
}

/** A tool that was given the base address of an org. */
export function toolAt(base: string): Tool {
  const send = async (path: string, init: RequestInit): Promise<TokenAnswer> => {
    const response = await fetch(`${base}${path}`, { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : text };
  };
  const post = (path: string, form: Record<string, string>) =>
    send(path, { method: 'POST', body: new URLSearchParams(form) });
  return {
    authorize: async () => (await post('/oauth/device_authorization', { client_id: clientId })).json,
    poll: ({ device_code }, more = {}) =>
      post('/oauth/token', { grant_type: deviceGrant, device_code, client_id: clientId, ...more }),
    refresh: (refresh_token, more = {}) =>
      post('/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id: clientId, ...more }),
    call: (path, token, init = {}) =>
      send(path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } }),
  };
}

/** Returns the hidden fields of the form that a page shows. */
export function hiddenFields({ text }: Pick<BrowserAnswer, 'text'>): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name, value]) => [
      name ?? '',
      value ?? '',
    ]),
  );
}

/** Presses a button on the page that asks for approval. */
export async function decideIn(
  browser: Browser,
  device: Pick<DeviceAuthorization, 'verification_uri' | 'verification_uri_complete'>,
  decision: 'approve' | 'deny',
): Promise<BrowserAnswer> {
  const page = await browser.request(device.verification_uri_complete);
  return browser.request(device.verification_uri, {
    form: { ...hiddenFields(page), decision },
    origin: new URL(device.verification_uri).origin,
  });
}

/** Invites a person who signs in with the link in this browser. Returns the id of the member. */
export async function joinWithLink(
  world: World,
  org: TestOrg,
  browser: Browser,
  { email, role = 'member' }: { readonly email: string; readonly role?: string },
): Promise<string> {
  const { json } = await world.request('POST', `/v1/orgs/${org.id}/members`, {
    key: org.ownerKey,
    body: { email, role },
  });
  const url = json.sign_in_url as string;
  const page = await browser.request(url);
  await browser.request(url, { form: hiddenFields(page), origin: new URL(url).origin });
  return json.id;
}

let stored = 0;

/** Stores a sign-in of a new member of the org, without the browser. Returns its id. */
export async function storedToolSignIn(world: World, org: TestOrg): Promise<string> {
  stored += 1;
  const member = await world.request('POST', `/v1/orgs/${org.id}/members`, {
    key: org.ownerKey,
    body: { email: `tool-${stored}@example.com`, role: 'member' },
  });
  const now = world.clock.now();
  const signIns = createToolSignIns({
    ids: createIds(world.clock),
    secrets: world.services.secrets,
    lifetimes: { toolTokenSeconds: 3_600, toolSignInMaxSeconds: 86_400 },
  });
  const { target } = await world.db.transaction((tx) =>
    signIns.approve(tx, now, {
      org_id: org.id,
      member_id: member.json.id,
      session_id: 'ses_stored',
      method: 'invitation',
      client_id: clientId,
      address: '127.0.0.1',
      user_agent: 'tool',
      expires_at: new Date(now.getTime() + 86_400_000),
    }),
  );
  return target.id;
}
