/** Keys of AWS that the connection has: of a user, or temporary ones. */
import type { AwsCredential } from '../credential.ts';
import { type CredentialFields, type CredentialSource, CredentialUnavailable } from '../credential-source.ts';

export const staticKeys: CredentialSource = {
  required: ['access_key_id', 'secret_access_key'],
  optional: ['session_token'],
  usesService: () => false,
  targetOf: () => undefined,
  acquire: ({ fields }) => ({ credential: keysIn(fields), expiresAtMs: undefined }),
};

/** Returns the keys of a connection that must have them. */
export function keysIn({ access_key_id, secret_access_key, session_token }: CredentialFields): AwsCredential {
  if (access_key_id === undefined || secret_access_key === undefined) {
    throw new CredentialUnavailable('the keys of the connection cannot be decrypted');
  }
  return {
    type: 'aws',
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    sessionToken: session_token,
  };
}
