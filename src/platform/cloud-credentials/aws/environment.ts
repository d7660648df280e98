/** Keys in the environment of this service. */

import type { CredentialRequest, CredentialSource, IssuedCredential } from '../credential-source.ts';
import { variableOf } from '../token-requests.ts';

export const environment: CredentialSource = {
  required: [],
  optional: [],
  usesService: () => true,
  targetOf: () => undefined,
  acquire: environmentKeys,
};

export function environmentKeys(request: CredentialRequest): IssuedCredential {
  return {
    credential: {
      type: 'aws',
      accessKeyId: variableOf(request, 'AWS_ACCESS_KEY_ID'),
      secretAccessKey: variableOf(request, 'AWS_SECRET_ACCESS_KEY'),
      sessionToken: request.surroundings.variables.AWS_SESSION_TOKEN,
    },
    expiresAtMs: undefined,
  };
}
