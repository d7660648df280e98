/** A real OpenID provider on a real socket. A test can make it forge ID tokens. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error: the package has no types, and the types published by others are for an older version.
import Provider from 'oidc-provider';

export interface Account {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
}

/** The part of the provider's context that is used here. */
interface GrantContext {
  readonly client?: { readonly clientId: string };
  readonly session?: { readonly accountId?: string };
  readonly provider: {
    readonly Grant: new (of: {
      clientId: string;
      accountId: string;
    }) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  };
}

export interface Forgery {
  /** Replace the real claims; undefined removes a claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: KeyObject;
  readonly alg?: string;
}

export interface OidcIdp {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The account that signs in next. */
  account: Account;
  /**
   * Changes to the next ID tokens, which are signed again: with the provider's own key unless the forgery has another
   * one.
   */
  forge: Forgery | undefined;
  /** True if the metadata announces that redirects contain the issuer (`iss`). */
  namesItself: boolean;
  /** Replace claims of userinfo; undefined removes a claim. */
  userinfo: Readonly<Record<string, unknown>> | undefined;
  /** The bytes to send for the next requests of a path. */
  hijack: { readonly path: string; readonly bytes: string | Buffer } | undefined;
  /** The requested paths. */
  readonly asked: string[];
  close(): Promise<void>;
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
export const strangerKey = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;

export async function startOidcProvider(...redirectUris: string[]): Promise<OidcIdp> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${new URL(request.url ?? '', 'http://a').pathname}`);
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const idp: OidcIdp = {
    issuer,
    clientId: 'purser',
    clientSecret: 'a secret of the client, 32 long!',
    account: { sub: 'ada' },
    forge: undefined,
    namesItself: true,
    userinfo: undefined,
    hijack: undefined,
    asked,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };

  const provider = new Provider(issuer, {
    clients: [{ client_id: idp.clientId, client_secret: idp.clientSecret, redirect_uris: redirectUris }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] },
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    cookies: { keys: ['test'] },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    findAccount: async (_ctx: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ ...idp.account, sub }),
    }),
    async loadExistingGrant(ctx: { oidc: GrantContext }) {
      const { client, session } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  handle = (request, response) => {
    const { pathname } = new URL(request.url ?? '', issuer);
    if (idp.hijack?.path === pathname) {
      request.socket.end(idp.hijack.bytes);
      return;
    }
    if (pathname.startsWith('/interaction/')) {
      const login = { login: { accountId: idp.account.sub, remember: false } };
      void provider.interactionFinished(request, response, login, { mergeWithLastSubmission: false });
      return;
    }
    if (pathname === '/token' && idp.forge !== undefined) {
      forgeTokens(response, idp.forge);
    }
    if (pathname === '/me' && idp.userinfo !== undefined) {
      const { userinfo } = idp;
      rewriteJson(response, (json) => Object.assign(json, userinfo));
    }
    if (pathname === '/.well-known/openid-configuration' && !idp.namesItself) {
      rewriteJson(response, (json) => {
        json.authorization_response_iss_parameter_supported = undefined;
      });
    }
    void answer(request, response);
  };
  return idp;
}

function forgeTokens(response: ServerResponse, forgery: Forgery): void {
  rewriteJson(response, (json) => {
    if (typeof json.id_token === 'string') {
      const { key = privateKey, alg = 'RS256' } = forgery;
      const honest = JSON.parse(
        Buffer.from(json.id_token.split('.')[1] ?? '', 'base64url').toString(),
      ) as object;
      json.id_token = jwt({ alg, kid: 'k' }, { ...honest, ...forgery.claims }, key);
    }
  });
}

function rewriteJson(response: ServerResponse, change: (json: Record<string, unknown>) => void): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse;
  response.end = ((body: string | Buffer) => {
    const json = JSON.parse(String(body)) as Record<string, unknown>;
    change(json);
    const text = JSON.stringify(json);
    response.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as ServerResponse['end'];
}

function jwt(header: { alg: string; kid: string }, claims: object, key: KeyObject): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${encode(header)}.${encode(claims)}`;
  const signature =
    header.alg === 'none' ? '' : createSign('RSA-SHA256').update(content).sign(key, 'base64url');
  return `${content}.${signature}`;
}
