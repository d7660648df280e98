/**
 * OpenID Connect with the authorization code flow and PKCE. openid-client checks state, nonce, issuer, audience, signature and
 * times. `platform/outbound` checks the addresses of connections.
 */
import * as oidc from 'openid-client';
import { apiError } from '../../../contract/api-error.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { type ServiceUrls, secretContext } from './connection.ts';
import { createDiscovery, type DiscoveryDependencies } from './discovery.ts';
import { displayName, emailOf, type Person, textOf, textsOf } from './person.ts';
import { checkedAnswer } from './provider-answer.ts';
import type { SsoConnectionRow } from './queries.ts';

export interface OidcDependencies extends DiscoveryDependencies {
  readonly secrets: Secrets;
}

/** Values of a started sign-in that are needed to verify its callback. */
export interface OidcProof {
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUrl: string;
}

export interface Oidc {
  /** Starts a sign-in. Returns the URL for the browser, and the proof to store. */
  begin(
    connection: SsoConnectionRow,
    state: string,
    urls: Pick<ServiceUrls, 'redirectUrl' | 'orgRedirectUrl'>,
  ): Promise<{ url: URL; proof: OidcProof }>;
  /** Completes a sign-in. `currentUrl` is the requested callback URL with its query. Throws if the response is invalid. */
  finish(
    connection: SsoConnectionRow,
    currentUrl: URL,
    state: string,
    proof: OidcProof,
  ): Promise<{ readonly person: Person; readonly claims: Claims }>;
}

export type Claims = Readonly<Record<string, unknown>>;

export function createOidc(deps: OidcDependencies): Oidc {
  const { secrets, fetch, allowPrivateNetworks } = deps;
  const discovery = createDiscovery(deps);

  /** Creates a configuration for one step of a sign-in, so that client secret and issuer keys do not stay in memory. */
  async function configurationFor(connection: SsoConnectionRow): Promise<oidc.Configuration> {
    const { org_id, issuer, client_id, client_secret } = connection;
    const server = await discovery.metadataOf(issuer);
    const secret = client_secret === null ? undefined : secrets.decrypt(client_secret, secretContext(org_id));
    const auth = clientAuth(server.token_endpoint_auth_methods_supported, secret);
    const configuration = new oidc.Configuration(server, client_id ?? '', undefined, auth);
    configuration[oidc.customFetch] = async (url, options) => checkedAnswer(await fetch(url, options));
    if (allowPrivateNetworks) {
      oidc.allowInsecureRequests(configuration);
    }
    // Verifies the signatures of ID tokens instead of relying on the connection that delivered them.
    oidc.enableNonRepudiationChecks(configuration);
    return configuration;
  }

  return {
    async begin(connection, state, { redirectUrl, orgRedirectUrl }) {
      const configuration = await configurationFor(connection);
      const proof: OidcProof = {
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
        redirectUrl: namesItself(configuration) ? redirectUrl : orgRedirectUrl,
      };
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: proof.redirectUrl,
        scope: connection.scope ?? 'openid',
        response_type: 'code',
        code_challenge: await oidc.calculatePKCECodeChallenge(proof.verifier),
        code_challenge_method: 'S256',
        state,
        nonce: proof.nonce,
      });
      if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
        throw new Error(`the provider sends people to ${url.protocol}`);
      }
      return { url, proof };
    },
    async finish(connection, currentUrl, state, { nonce, verifier, redirectUrl }) {
      const configuration = await configurationFor(connection);
      checkWhoAnswers(configuration, currentUrl, redirectUrl);
      const tokens = await oidc.authorizationCodeGrant(configuration, currentUrl, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) {
        throw apiError('forbidden', 'The identity provider sent no ID token.');
      }
      checkClaims(claims, connection);
      // Needed because many providers return groups and the e-mail address only from the userinfo endpoint.
      const more =
        configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { person: personOf(connection, claims, more), claims: { ...more, ...claims } };
    },
  };
}

function namesItself(configuration: oidc.Configuration): boolean {
  return configuration.serverMetadata().authorization_response_iss_parameter_supported === true;
}

/**
 * Prevents mix-up attacks: a code must only be sent to the issuer that issued it. Otherwise a malicious issuer could redirect
 * people to another issuer with its own `state`, and would receive the other issuer's code. So the callback URL that all orgs share
 * is only for issuers that identify themselves in the callback, which openid-client checks. The callback URL of an org only
 * completes sign-ins of that org.
 */
function checkWhoAnswers(configuration: oidc.Configuration, currentUrl: URL, redirectUrl: string): void {
  if (currentUrl.origin + currentUrl.pathname !== redirectUrl) {
    throw new Error('the answer came to another address than it was asked to');
  }
  if (redirectUrl.endsWith('/sso/callback') && !namesItself(configuration)) {
    throw new Error('the issuer does not name itself any more');
  }
}

function clientAuth(supported: readonly string[] | undefined, secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) {
    return oidc.None();
  }
  // If no methods are listed, `client_secret_basic` is the default of the protocol.
  return (supported ?? ['client_secret_basic']).includes('client_secret_basic')
    ? oidc.ClientSecretBasic(secret)
    : oidc.ClientSecretPost(secret);
}

/** The last second of the year 9999. Later times cannot be written with a four-digit year. */
const timeMaxSeconds = 253_402_300_799;

/**
 * Makes two more checks: openid-client only compares `azp` if there are several audiences, and accepts times arbitrarily far in the
 * future.
 */
function checkClaims(claims: oidc.IDToken, { client_id }: SsoConnectionRow): void {
  if (claims.azp !== undefined && claims.azp !== client_id) {
    throw new Error(`the ID token was issued to ${String(claims.azp)}`);
  }
  for (const name of ['exp', 'iat', 'nbf', 'auth_time']) {
    const time = claims[name];
    if (time !== undefined && !(typeof time === 'number' && Math.abs(time) <= timeMaxSeconds)) {
      throw new Error(`the ID token has no possible time in ${name}`);
    }
  }
}

function personOf({ issuer, groups_attribute }: SsoConnectionRow, idToken: Claims, userinfo: Claims): Person {
  const claims: Claims = { ...userinfo, ...idToken };
  const subject = textOf(claims.sub);
  if (subject === undefined) {
    throw apiError('forbidden', 'The identity provider did not return your identity.');
  }
  return {
    issuer,
    subject,
    email: verifiedEmail([idToken, userinfo]),
    claimedEmails: [idToken, userinfo].flatMap(({ email }) => emailOf(email) ?? []),
    name: displayName(claims.name) ?? displayName(claims.preferred_username),
    groups: textsOf(claims[groups_attribute]),
  };
}

/**
 * Returns the e-mail address of the first source that has both `email` and `email_verified`; undefined if it is not verified there.
 * Both must come from one source, because sources may have different addresses.
 */
function verifiedEmail(sources: readonly Claims[]): string | undefined {
  const source = sources.find(
    ({ email, email_verified }) => email !== undefined && email_verified !== undefined,
  );
  return source?.email_verified === true ? emailOf(source.email) : undefined;
}
