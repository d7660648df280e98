/** A key of a service account: its JSON signs an assertion that is exchanged for a token. */

import {
  type CredentialFields,
  type CredentialRequest,
  type CredentialSource,
  CredentialUnavailable,
  type InvalidField,
  type IssuedCredential,
} from '../credential-source.ts';
import { privateKeyOf, signJwt } from '../jwt.ts';
import { issuedToken } from '../oauth-token.ts';
import { parsedObject, requestJson, textIn } from '../token-requests.ts';
import { checkAccount, googleScope, impersonated } from './google-token.ts';

const assertionSeconds = 3_600;

export const serviceAccountKey: CredentialSource = {
  required: ['service_account_key'],
  optional: ['service_account'],
  usesService: () => false,
  targetOf: ({ service_account }) => service_account,
  check,
  async acquire(request) {
    const { service_account_key } = request.fields;
    if (service_account_key === undefined) {
      throw new CredentialUnavailable('the service account key of the connection cannot be decrypted');
    }
    return impersonated(request, await tokenOfKey(request, service_account_key, 'the service account key'));
  },
};

function check(fields: CredentialFields): InvalidField | undefined {
  try {
    parseKey(fields.service_account_key ?? '', 'It');
  } catch {
    return {
      field: 'service_account_key',
      message: 'Must be the JSON of a key of a service account, with `client_email` and `private_key`.',
    };
  }
  return checkAccount(fields);
}

function parseKey(text: string, what: string) {
  const json = parsedObject(text, what);
  if (typeof json.private_key !== 'string') {
    throw new CredentialUnavailable(`${what} has no private_key`);
  }
  return { email: textIn(json, 'client_email', what), key: privateKeyOf(json.private_key, what), json };
}

/** The token endpoint in the JSON is not used: it would receive the assertion. */
export async function tokenOfKey(
  { surroundings }: CredentialRequest,
  text: string,
  what: string,
): Promise<IssuedCredential> {
  const { email, key, json } = parseKey(text, what);
  const { googleOauth } = surroundings.endpoints;
  const nowMs = surroundings.nowMs();
  const iat = Math.floor(nowMs / 1_000);
  const assertion = signJwt(
    { alg: 'RS256', ...(typeof json.private_key_id === 'string' && { kid: json.private_key_id }) },
    { iss: email, scope: googleScope, aud: googleOauth, iat, exp: iat + assertionSeconds },
    key,
  );
  const service = 'Google OAuth';
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  return issuedToken(
    await requestJson(surroundings, { service, url: googleOauth, method: 'POST', body }),
    service,
    nowMs,
  );
}
