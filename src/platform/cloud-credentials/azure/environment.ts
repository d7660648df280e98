/** An application whose secret or certificate is in the environment of this service. */

import type { CredentialSource } from '../credential-source.ts';
import { readTokenFile, variableOf } from '../token-requests.ts';
import { certificateProof, entraToken } from './entra.ts';

const certificateVariable = 'AZURE_CLIENT_CERTIFICATE_PATH';

export const environment: CredentialSource = {
  required: [],
  optional: [],
  usesService: () => true,
  targetOf: () => undefined,
  async acquire(request) {
    const { variables } = request.surroundings;
    const application = {
      tenant: variableOf(request, 'AZURE_TENANT_ID'),
      client: variableOf(request, 'AZURE_CLIENT_ID'),
    };
    const path = variables[certificateVariable];
    if (path === undefined) {
      const client_secret = variableOf(request, 'AZURE_CLIENT_SECRET');
      return entraToken(request, application, { client_secret });
    }
    const pem = await readTokenFile(request.surroundings, path, certificateVariable);
    const what = `the file of ${certificateVariable}`;
    return entraToken(request, application, certificateProof(request, application, pem, what));
  },
};
