import type { AuditEntry } from './chain.ts';
import type { AuditEntryView } from './schema.ts';

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
