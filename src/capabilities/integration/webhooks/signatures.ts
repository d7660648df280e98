/** Signature of a delivery: HMAC-SHA256 in lowercase hex, keyed with the bytes of the secret's text. */
import { createHash, createHmac, randomBytes } from 'node:crypto';

const secretBytes = 32;
const fingerprintDigits = 16;

export function generateSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64url')}`;
}

export function fingerprintOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, fingerprintDigits);
}

function hmac(secret: string, ...parts: readonly (string | Buffer)[]): string {
  const digest = createHmac('sha256', secret);
  for (const part of parts) {
    digest.update(part);
  }
  return digest.digest('hex');
}

/** Deprecated signature: the org's secret over the body only. */
export function orgSignature(body: Buffer, secret: string): string {
  return `v1=${hmac(secret, body)}`;
}

/** Contains one `v1=` for each currently valid secret of the subscription. */
export function ownSignature(body: Buffer, secrets: readonly string[], atSeconds: number): string {
  const signed = secrets.map((secret) => `,v1=${hmac(secret, `${atSeconds}.`, body)}`);
  return `t=${atSeconds}${signed.join('')}`;
}
