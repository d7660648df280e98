/**
 * SAML 2.0, as a service provider: requests by redirect, responses by POST. node-saml verifies signature, audience and
 * times; what it leaves open is checked in `assertion.ts`, on the signed bytes alone.
 */
import type { SamlConfig } from '@node-saml/node-saml';
import { apiError } from '../../../contract/api-error.ts';
import type { SamlThread } from '../../../platform/saml/saml-thread.ts';
import { systemClock } from '../../../platform/time/clock.ts';
import { type Assertion, readAssertion } from './assertion.ts';
import type { ServiceUrls } from './connection.ts';
import type { ConnectionRow } from './queries.ts';

const clockSkewMs = 60_000;
/** However long the provider says that it is good for. */
const assertionAgeMaxMs = 10 * 60_000;

/** Loaded when somebody needs it: every start would wait for it, and few organizations sign in by SAML. */
const loadLibrary = () => import('@node-saml/node-saml');

type Urls = Pick<ServiceUrls, 'spEntityId' | 'acsUrl'>;

async function optionsOf(connection: ConnectionRow, { spEntityId, acsUrl }: Urls): Promise<SamlConfig> {
  const { ValidateInResponseTo } = await loadLibrary();
  return {
    issuer: spEntityId,
    audience: spEntityId,
    callbackUrl: acsUrl,
    entryPoint: connection.idp_sso_url ?? '',
    idpCert: connection.idp_certificate ?? '',
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    // Asked of the signed assertion and of the database, which all processes share.
    validateInResponseTo: ValidateInResponseTo.never,
    disableRequestedAuthnContext: true,
    identifierFormat: null,
    acceptedClockSkewMs: clockSkewMs,
    maxAssertionAgeMs: assertionAgeMaxMs,
  };
}

/** Where to send the person. */
export async function authorizeUrl(
  connection: ConnectionRow,
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

/**
 * What the one signed assertion of a response says, whose text was found plain before. Throws whatever is wrong with it.
 */
export async function verifyResponse(
  thread: SamlThread,
  connection: ConnectionRow,
  urls: Urls,
  response: string,
): Promise<Assertion> {
  const signed = await thread.verify({ options: await optionsOf(connection, urls), response });
  if (signed === undefined) {
    throw apiError('forbidden', 'The identity provider did not complete the sign-in.');
  }
  return readAssertion(signed, {
    idpEntityId: connection.issuer,
    acsUrl: urls.acsUrl,
    // The clock that node-saml goes by.
    now: systemClock.now(),
    clockSkewMs,
  });
}
