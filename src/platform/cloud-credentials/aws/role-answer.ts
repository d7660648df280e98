/** The answer of the metadata services of AWS. */

import type { IssuedCredential } from '../credential-source.ts';
import { textIn, timeIn } from '../token-requests.ts';

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
