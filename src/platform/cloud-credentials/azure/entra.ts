/** Access tokens of Microsoft Entra for the models of Azure. */
import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import {
  type CredentialFields,
  type CredentialRequest,
  CredentialUnavailable,
  type InvalidField,
  type IssuedCredential,
} from '../credential-source.ts';
import { privateKeyOf, signJwt } from '../jwt.ts';
import { requestJson, textIn } from '../token-requests.ts';

export const azureResource = 'https://cognitiveservices.azure.com';
const scope = `${azureResource}/.default`;
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const assertionSeconds = 600;
const service = 'Microsoft Entra';

export interface Application {
  readonly tenant: string;
  readonly client: string;
}

/** Asks for a token by a proof: a secret, or an assertion in a JWT. */
export async function entraToken(
  { surroundings }: CredentialRequest,
  { tenant, client }: Application,
  proof: Readonly<Record<string, string>>,
): Promise<IssuedCredential> {
  const requestedAtMs = surroundings.nowMs();
  const answer = await requestJson(surroundings, {
    service,
    url: tokenUrl(surroundings.variables, tenant),
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: client, scope, ...proof }),
  });
  return issuedByEntra(answer, service, requestedAtMs);
}

export function issuedByEntra(
  answer: Readonly<Record<string, unknown>>,
  from: string,
  requestedAtMs: number,
): IssuedCredential {
  // The metadata service sends text, and the time of the expiry.
  const seconds = Number(answer.expires_in);
  const expiresAtMs = seconds > 0 ? requestedAtMs + seconds * 1_000 : Number(answer.expires_on) * 1_000;
  if (!(expiresAtMs > 0)) {
    throw new CredentialUnavailable(`${from} answered without expires_in`);
  }
  return { credential: { type: 'bearer', token: textIn(answer, 'access_token', from) }, expiresAtMs };
}

export function assertionProof(assertion: string): Record<string, string> {
  return { client_assertion_type: assertionType, client_assertion: assertion };
}

/** Returns the proof that the application has the key of a certificate. Both are in one PEM. */
export function certificateProof(
  { surroundings }: CredentialRequest,
  { tenant, client }: Application,
  pem: string,
  what: string,
): Record<string, string> {
  const key = privateKeyOf(pem, what);
  const thumbprint = createHash('sha256').update(certificateOf(pem, what).raw).digest('base64url');
  const nbf = Math.floor(surroundings.nowMs() / 1_000);
  const claims = {
    aud: tokenUrl(surroundings.variables, tenant),
    iss: client,
    sub: client,
    jti: randomUUID(),
    nbf,
    exp: nbf + assertionSeconds,
  };
  return assertionProof(signJwt({ alg: 'PS256', 'x5t#S256': thumbprint }, claims, key));
}

export function certificateOf(pem: string, what: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new CredentialUnavailable(`${what} has no certificate in PEM`);
  }
}

function tokenUrl(variables: Readonly<Record<string, string | undefined>>, tenant: string): string {
  const authority = variables.AZURE_AUTHORITY_HOST ?? 'https://login.microsoftonline.com';
  return `${authority.replace(/\/+$/, '')}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
}

/** Ids, or domains of a tenant. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/;

export function checkApplication(fields: CredentialFields): InvalidField | undefined {
  for (const field of ['tenant_id', 'client_id'] as const) {
    const value = fields[field];
    if (value !== undefined && !idPattern.test(value)) {
      return { field, message: 'Must be an id of Microsoft Entra.' };
    }
  }
  return undefined;
}
