/** The answer of the metadata services of AWS. */
import { textIn, timeIn } from '../ask-for-token.ts';
import type { IssuedCredential } from '../credential-source.ts';

export function issuedRole(answer: Readonly<Record<string, unknown>>, service: string): IssuedCredential {
  return {
    credential: {
      type: 'aws',
      accessKeyId: textIn(answer, 'AccessKeyId', service),
      secretAccessKey: textIn(answer, 'SecretAccessKey', service),
      sessionToken: textIn(answer, 'Token', service),
    },
    expiresAtMs: timeIn(answer, 'Expiration', service),
  };
}
