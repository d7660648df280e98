/** The service account of the instance, pod or container that this service runs on. */

import type { CredentialRequest, CredentialSource, IssuedCredential } from '../credential-source.ts';
import { issuedToken } from '../oauth-token.ts';
import { requestJson } from '../token-requests.ts';
import { checkAccount, googleScope, impersonated } from './google-token.ts';

const service = 'the Google metadata server';

export const metadata: CredentialSource = {
  required: [],
  optional: ['service_account'],
  usesService: () => true,
  targetOf: ({ service_account }) => service_account,
  check: checkAccount,
  acquire: async (request) => impersonated(request, await metadataToken(request)),
};

async function metadataToken({ surroundings }: CredentialRequest): Promise<IssuedCredential> {
  // The address, not the name: a name could be resolved to another host.
  const host = surroundings.variables.GCE_METADATA_HOST ?? '169.254.169.254';
  const requestedAtMs = surroundings.nowMs();
  const answer = await requestJson(surroundings, {
    service,
    url: `http://${host}/computeMetadata/v1/instance/service-accounts/default/token?scopes=${encodeURIComponent(googleScope)}`,
    headers: { 'metadata-flavor': 'Google' },
  });
  return issuedToken(answer, service, requestedAtMs);
}
