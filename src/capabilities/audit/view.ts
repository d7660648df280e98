import type { AuditEntry } from './chain.ts';
import type { AuditEntryView, SigningKeyView } from './schema.ts';
import type { PublicKey } from './signing-keys.ts';

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

/** The first is the one in use. */
export function viewSigningKeys([current, ...previous]: readonly PublicKey[]): SigningKeyView {
  if (current === undefined) {
    throw new Error('there is no key that signs audit logs');
  }
  return {
    ...viewSigningKey(current),
    previous: previous.map((key) => ({
      ...viewSigningKey(key),
      retired_at: key.retiredAt?.toISOString() ?? '',
    })),
  };
}

function viewSigningKey({ id, pem, createdAt }: PublicKey) {
  return { id, algorithm: 'Ed25519' as const, public_key: pem, created_at: createdAt.toISOString() };
}
