/** Authentication by a secret in a header. */
import type { Credential } from '../../../../platform/cloud-credentials/credential.ts';
import type { ProviderKind } from './provider-kind.ts';

type Authenticate = ProviderKind['authenticate'];

/** Sends keys and tokens as `Authorization: Bearer`. */
export const bearerToken: Authenticate = ({ headers }, credential) => {
  headers.authorization = `Bearer ${secretOf(credential)}`;
};

/** Sends keys in a header of the provider, and access tokens as `Authorization: Bearer`. */
export function keyHeader(name: string): Authenticate {
  return (request, credential) => {
    if (credential.type === 'key') {
      request.headers[name] = credential.key;
    } else {
      bearerToken(request, credential);
    }
  };
}

function secretOf(credential: Credential): string {
  switch (credential.type) {
    case 'key':
      return credential.key;
    case 'bearer':
      return credential.token;
    case 'aws':
      throw new Error('this kind of connection does not sign requests');
  }
}
