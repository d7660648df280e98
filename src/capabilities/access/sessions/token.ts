/**
 * Tokens that this service issues: random bytes and a signature over them. The signature proves without a query that a token was
 * issued, even long after its row was deleted. Only the SHA-256 of a token is stored.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

const randomBytesPerToken = 24;
const signatureBytes = 16;
const form = /^[A-Za-z0-9_-]{32}[A-Za-z0-9_-]{22}$/;

export interface TokenIssuer {
  issue(): string;
  /** Returns true if this service issued the token for this purpose. */
  isOurs(token: string): boolean;
}

export function createTokens(secrets: Pick<Secrets, 'signer'>, purpose: string): TokenIssuer {
  const sign = secrets.signer(purpose);
  const signature = (random: string) => sign(random).subarray(0, signatureBytes);
  return {
    issue() {
      const random = randomBytes(randomBytesPerToken).toString('base64url');
      return random + signature(random).toString('base64url');
    },
    isOurs(token) {
      if (!form.test(token)) {
        return false;
      }
      const signed = Buffer.from(token.slice(32), 'base64url');
      return signed.length === signatureBytes && timingSafeEqual(signed, signature(token.slice(0, 32)));
    },
  };
}

export function tokenDigest(token: string): string {
  return hash('sha256', token);
}
