/**
 * SAML 2.0 as a service provider: requests by redirect, responses by POST. node-saml verifies signature, audience and times.
 * `assertion.ts` does the remaining checks, and only reads values from the signed bytes.
 */
import type { SamlConfig } from '@node-saml/node-saml';
import { apiError } from '../../../contract/api-error.ts';
import type { SamlThread } from '../../../platform/saml/saml-thread.ts';
import { systemClock } from '../../../platform/time/clock.ts';
import { type Assertion, readAssertion } from './assertion.ts';
import type { ServiceUrls } from './connection.ts';
import { displayName, emailOf, type Person } from './person.ts';
import type { SsoConnectionRow } from './queries.ts';

const clockSkewMs = 60_000;
/** Maximum age of an assertion, even if the provider declares a longer validity. */
const assertionAgeMaxMs = 10 * 60_000;

/** Loads the library on first use, because it would delay every start, and few organizations use SAML. */
const loadLibrary = () => import('@node-saml/node-saml');

type Urls = Pick<ServiceUrls, 'spEntityId' | 'acsUrl'>;

async function optionsOf(connection: SsoConnectionRow, { spEntityId, acsUrl }: Urls): Promise<SamlConfig> {
  const { ValidateInResponseTo } = await loadLibrary();
  return {
    issuer: spEntityId,
    audience: spEntityId,
    callbackUrl: acsUrl,
    entryPoint: connection.idp_sso_url ?? '',
    idpCert: connection.idp_certificate ?? '',
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    // Off, because `callbacks.ts` checks this with the signed assertion and the database, which all processes share.
    validateInResponseTo: ValidateInResponseTo.never,
    disableRequestedAuthnContext: true,
    identifierFormat: null,
    acceptedClockSkewMs: clockSkewMs,
    maxAssertionAgeMs: assertionAgeMaxMs,
  };
}

/** Returns the URL of the identity provider for the browser. */
export async function authorizeUrl(
  connection: SsoConnectionRow,
  urls: Urls,
  requestId: string,
): Promise<string> {
  const { SAML } = await loadLibrary();
  const saml = new SAML({ ...(await optionsOf(connection, urls)), generateUniqueId: () => requestId });
  return saml.getAuthorizeUrlAsync('', undefined, {});
}

export async function serviceMetadata({ spEntityId, acsUrl }: Urls): Promise<string> {
  const { generateServiceProviderMetadata } = await loadLibrary();
  return generateServiceProviderMetadata({
    issuer: spEntityId,
    callbackUrl: acsUrl,
    wantAssertionsSigned: true,
    identifierFormat: null,
    generateUniqueId: () => '_metadata',
  });
}

/** Verifies a response that has passed `checkResponseText`, and returns its signed assertion. Throws if anything is invalid. */
export async function verifyResponse(
  thread: SamlThread,
  connection: SsoConnectionRow,
  urls: Urls,
  response: string,
): Promise<Assertion> {
  const signed = await thread.verify({
    tenantId: connection.org_id,
    options: await optionsOf(connection, urls),
    response,
  });
  if (signed === undefined) {
    throw apiError('forbidden', 'The identity provider did not complete the sign-in.');
  }
  return readAssertion(signed, {
    idpEntityId: connection.issuer,
    acsUrl: urls.acsUrl,
    // The same clock that node-saml uses.
    now: systemClock.now(),
    clockSkewMs,
  });
}

/** Returns the person of an assertion. E-mail addresses count as verified, because the org chose the provider. */
export function personOf(
  { issuer, groups_attribute }: SsoConnectionRow,
  { nameId, attributes }: Assertion,
): Person {
  const first = (...names: string[]) => names.map((name) => attributes.get(name)?.[0]).find(Boolean);
  const email = emailOf(
    first('email', 'mail', 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress') ?? nameId,
  );
  return {
    issuer,
    subject: nameId,
    email,
    claimedEmails: email === undefined ? [] : [email],
    name: displayName(
      first('name', 'displayName', 'http://schemas.microsoft.com/identity/claims/displayname'),
    ),
    groups: attributes.get(groups_attribute) ?? [],
  };
}
