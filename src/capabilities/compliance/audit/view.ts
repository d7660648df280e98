import { apiError } from '../../../contract/api-error.ts';
import type { AuditEntry } from './chain.ts';
import type { AuditEntryView, SigningKeyView } from './schema.ts';
import type { PublicKey, PublicKeys } from './signing-keys.ts';

export function viewEntry(entry: AuditEntry): AuditEntryView {
  return {
    id: entry.id,
    seq: entry.seq,
    at: entry.at,
    actor: { kind: entry.actorKind, id: entry.actorId },
    action: entry.action,
    outcome: entry.outcome,
    code: entry.code,
    target: { kind: entry.targetKind, id: entry.targetId },
    before: entry.before,
    after: entry.after,
    detail: entry.detail,
    address: entry.address,
    trace_id: entry.traceId,
    redacted: entry.redactedBy !== null,
    previous_hash: entry.previousHash,
    hash: entry.hash,
  };
}

export function viewSigningKeys({ current, previous }: PublicKeys): SigningKeyView {
  if (current === undefined) {
    throw apiError('service_unavailable', 'The audit signing key cannot be read.');
  }
  return {
    ...viewSigningKey(current),
    previous: previous.map((key) => ({
      ...viewSigningKey(key),
      retired_at: key.retiredAt?.toISOString() ?? '',
    })),
  };
}

export function viewSigningKey({ id, pem, createdAt }: PublicKey): Omit<SigningKeyView, 'previous'> {
  return { id, algorithm: 'Ed25519' as const, public_key: pem, created_at: createdAt.toISOString() };
}
