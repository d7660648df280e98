/** Access tokens of Google. */

import type { CredentialRequest, IssuedCredential } from '../credential-source.ts';
import { requestJson, textIn, timeIn } from '../token-requests.ts';

export const googleScope = 'https://www.googleapis.com/auth/cloud-platform';
const lifetime = '3600s';

/** Exchanges a token for one of the service account that the connection names, if it names one. */
export async function impersonated(
  { fields, surroundings }: CredentialRequest,
  issued: IssuedCredential,
): Promise<IssuedCredential> {
  const { service_account } = fields;
  if (service_account === undefined || issued.credential.type !== 'bearer') {
    return issued;
  }
  const service = 'Google IAM';
  const answer = await requestJson(surroundings, {
    service,
    url: `${surroundings.endpoints.googleIamCredentials}/v1/projects/-/serviceAccounts/${encodeURIComponent(service_account)}:generateAccessToken`,
    method: 'POST',
    headers: { authorization: `Bearer ${issued.credential.token}` },
    body: { scope: [googleScope], lifetime },
  });
  return {
    credential: { type: 'bearer', token: textIn(answer, 'accessToken', service) },
    expiresAtMs: timeIn(answer, 'expireTime', service),
  };
}

const accountPattern = /^[a-z0-9][a-z0-9.-]{0,99}@[a-z0-9.-]{1,200}\.gserviceaccount\.com$/;

export function checkAccount({ service_account }: CredentialRequest['fields']) {
  return service_account === undefined || accountPattern.test(service_account)
    ? undefined
    : ({
        field: 'service_account',
        message:
          'Must be the e-mail address of a service account, such as name@project.iam.gserviceaccount.com.',
      } as const);
}
