/**
 * The `Idempotency-Key` of a call in the form that the ledger stores with its hold. It belongs to the path, and to the API key or
 * signed-in member that sent it, so that no other caller can find out that it was used.
 */
import { createHash, createHmac, hkdfSync } from 'node:crypto';
import type { RequestKey } from '../../ledger/holds/hold-keys.ts';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Caller } from '../../platform/http/routes/access.ts';

export interface ReceivedCall {
  readonly caller: Caller;
  /** The requested path with its query string. */
  readonly url: string;
  readonly body: Buffer;
}

/** Separates these keys from those of decisions, whose digests have no prefix. */
const digestPrefix = 'call:';

export function callKeyOf(idempotencyKey: string, { caller, url, body }: ReceivedCall): RequestKey {
  const [path = '', query = ''] = splitOnce(url, '?');
  const owner = canonicalJson([caller.tenantId, caller.keyId, path]);
  return {
    digest: digestPrefix + createHash('sha256').update(owner).update(idempotencyKey).digest('hex'),
    // An HMAC with the idempotency key, which is not stored, so that a prompt cannot be guessed from the fingerprint.
    fingerprint: createHmac('sha256', idempotencyKey).update(`${query}\n`).update(body).digest('hex'),
    cipherKey: Buffer.from(hkdfSync('sha256', idempotencyKey, owner, 'run of a call', 32)),
    // Null, because the stored response contains the run but not its customer.
    customerDigest: null,
  };
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
