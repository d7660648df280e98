/** The managed identity of the machine or App Service that this service runs on. */

import type { CredentialRequest, CredentialSource, IssuedCredential } from '../credential-source.ts';
import { requestJson } from '../token-requests.ts';
import { azureResource, checkApplication, issuedByEntra } from './entra.ts';

const service = 'the Azure metadata service';

export const managedIdentity: CredentialSource = {
  required: [],
  optional: ['client_id'],
  usesService: () => true,
  targetOf: ({ client_id }) => client_id,
  check: checkApplication,
  async acquire(request): Promise<IssuedCredential> {
    const requestedAtMs = request.surroundings.nowMs();
    return issuedByEntra(
      await requestJson(request.surroundings, { service, ...addressOf(request) }),
      service,
      requestedAtMs,
    );
  },
};

function addressOf({ fields: { client_id }, surroundings: { variables } }: CredentialRequest) {
  const parameters = { resource: azureResource, ...(client_id !== undefined && { client_id }) };
  // App Service, Functions and Container Apps.
  if (variables.IDENTITY_ENDPOINT !== undefined && variables.IDENTITY_HEADER !== undefined) {
    return {
      url: `${variables.IDENTITY_ENDPOINT}?${new URLSearchParams({ 'api-version': '2019-08-01', ...parameters })}`,
      headers: { 'x-identity-header': variables.IDENTITY_HEADER },
    };
  }
  const origin = variables.AZURE_POD_IDENTITY_AUTHORITY_HOST ?? 'http://169.254.169.254';
  return {
    url: `${origin.replace(/\/+$/, '')}/metadata/identity/oauth2/token?${new URLSearchParams({ 'api-version': '2018-02-01', ...parameters })}`,
    headers: { metadata: 'true' },
  };
}
