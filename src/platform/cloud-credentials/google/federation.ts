/**
 * Workload identity federation: a token of this service, or a signed request that proves its identity at AWS, is exchanged for one of
 * Google.
 */

import { serviceRole } from '../aws/assume-role.ts';
import { stsHost, stsRegion } from '../aws/sts.ts';
import type { AwsCredential } from '../credential.ts';
import type {
  CredentialFields,
  CredentialRequest,
  CredentialSource,
  InvalidField,
  IssuedCredential,
} from '../credential-source.ts';
import { identityToken } from '../identity-token.ts';
import { issuedToken } from '../oauth-token.ts';
import { signAws, targetResourceHeader } from '../sign-aws.ts';
import { requestJson } from '../token-requests.ts';
import { checkAccount, googleScope, impersonated } from './google-token.ts';

const service = 'Google STS';
const audiencePattern =
  /^\/\/iam\.googleapis\.com\/projects\/\d{1,20}\/locations\/global\/workloadIdentityPools\/[a-z0-9-]{1,64}\/providers\/[a-z0-9-]{1,64}$/;

export const federation: CredentialSource = {
  required: ['audience'],
  optional: ['subject', 'service_account'],
  usesService: () => true,
  targetOf: ({ audience, service_account }) => service_account ?? audience,
  check,
  async acquire(request) {
    const { audience = '', subject } = request.fields;
    return impersonated(request, await exchange(request, audience, subject ?? 'token_file'));
  },
};

function check(fields: CredentialFields): InvalidField | undefined {
  return audiencePattern.test(fields.audience ?? '')
    ? checkAccount(fields)
    : {
        field: 'audience',
        message:
          'Must be a provider of a workload identity pool, such as //iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/pool/providers/provider.',
      };
}

export async function exchange(
  request: CredentialRequest,
  audience: string,
  subject: 'token_file' | 'aws',
): Promise<IssuedCredential> {
  const isAws = subject === 'aws';
  const subjectToken = isAws
    ? await signedIdentity(request, audience)
    : await identityToken(request, 'google');
  return exchanged(request, audience, {
    subject_token: subjectToken,
    subject_token_type: isAws
      ? 'urn:ietf:params:aws:token-type:aws4_request'
      : 'urn:ietf:params:oauth:token-type:jwt',
  });
}

export async function exchanged(
  { surroundings }: CredentialRequest,
  audience: string,
  subject: Readonly<Record<string, string>>,
): Promise<IssuedCredential> {
  const requestedAtMs = surroundings.nowMs();
  const answer = await requestJson(surroundings, {
    service,
    url: surroundings.endpoints.googleSts,
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience,
      scope: googleScope,
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...subject,
    }),
  });
  return issuedToken(answer, service, requestedAtMs);
}

/** Returns a request to AWS STS, which Google sends to learn who signed it. It is valid for this provider of a pool only. */
async function signedIdentity(request: CredentialRequest, audience: string): Promise<string> {
  const { credential } = await serviceRole(request);
  const region = stsRegion(request);
  const url = `https://${stsHost(region)}?Action=GetCallerIdentity&Version=2011-06-15`;
  const method = 'POST';
  const headers: Record<string, string> = { [targetResourceHeader]: audience };
  const scope = { region, service: 'sts', atMs: request.surroundings.nowMs() };
  signAws({ method, url: new URL(url), headers, body: undefined }, credential as AwsCredential, scope);
  const signed = Object.entries({ host: stsHost(region), ...headers });
  return encodeURIComponent(
    JSON.stringify({ url, method, headers: signed.map(([key, value]) => ({ key, value })) }),
  );
}
