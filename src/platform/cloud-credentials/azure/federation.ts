/** Workload identity: the token of the Kubernetes service account of this service is exchanged for one of an application. */

import type { CredentialSource } from '../credential-source.ts';
import { identityToken } from '../identity-token.ts';
import { variableOf } from '../token-requests.ts';
import { assertionProof, checkApplication, entraToken } from './entra.ts';

export const federation: CredentialSource = {
  required: [],
  optional: ['tenant_id', 'client_id'],
  usesService: () => true,
  targetOf: ({ tenant_id, client_id }) => client_id ?? tenant_id,
  check: checkApplication,
  async acquire(request) {
    const { tenant_id, client_id } = request.fields;
    const application = {
      tenant: tenant_id ?? variableOf(request, 'AZURE_TENANT_ID'),
      client: client_id ?? variableOf(request, 'AZURE_CLIENT_ID'),
    };
    return entraToken(request, application, assertionProof(await identityToken(request, 'azure')));
  },
};
