/** The answer of a token endpoint of OAuth. */

import { CredentialUnavailable, type IssuedCredential } from './credential-source.ts';
import { textIn } from './token-requests.ts';

/** Returns the token in an answer of OAuth. Its time counts from the request. */
export function issuedToken(
  answer: Readonly<Record<string, unknown>>,
  service: string,
  requestedAtMs: number,
): IssuedCredential {
  const seconds = Number(answer.expires_in);
  if (!(seconds > 0)) {
    throw new CredentialUnavailable(`${service} answered without expires_in`);
  }
  return {
    credential: { type: 'bearer', token: textIn(answer, 'access_token', service) },
    expiresAtMs: requestedAtMs + seconds * 1_000,
  };
}
