/** Entries as lines that can be parsed again, by `purser audit verify` or by anyone who has the format description. */

import { jsonLine } from '../../../platform/line-breaks.ts';
import type { AuditEntry } from './chain.ts';
import { outcomes } from './chain.ts';
import type { CheckpointView } from './schema.ts';
import { viewEntry } from './view.ts';

/** Formats an entry with everything that verification needs, such as the salt of the commitment. */
export function ndjsonLine(entry: AuditEntry): string {
  return jsonLine({
    ...viewEntry(entry),
    org_id: entry.tenantId,
    salt: entry.salt,
    commitment: entry.commitment,
    redacted_by: entry.redactedBy,
  });
}

export function checkpointLine(checkpoint: Omit<CheckpointView, 'id'>): string {
  return jsonLine({ checkpoint });
}

export type ExportLine =
  | { readonly kind: 'entry'; readonly entry: AuditEntry }
  | { readonly kind: 'checkpoint'; readonly checkpoint: Omit<CheckpointView, 'id'> };

/** Returns undefined if the text is not a line of an export. */
export function parseExportLine(text: string): ExportLine | undefined {
  let said: Record<string, unknown>;
  try {
    said = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (isObject(said.checkpoint)) {
    return { kind: 'checkpoint', checkpoint: said.checkpoint as unknown as CheckpointView };
  }
  const { actor, target } = said;
  const isEntry =
    isObject(actor) &&
    isObject(target) &&
    Number.isSafeInteger(said.seq) &&
    typeof said.hash === 'string' &&
    // A missing field would be undefined, which verification does not distinguish from a value: without `redacted_by`
    // the entry would count as redacted.
    ['salt', 'commitment', 'redacted_by', 'code', 'detail', 'before', 'after'].every(
      (name) => said[name] !== undefined,
    ) &&
    (said.redacted_by === null || Number.isSafeInteger(said.redacted_by)) &&
    outcomes.some((outcome) => outcome === said.outcome);
  if (!isEntry) {
    return undefined;
  }
  const entry = {
    tenantId: said.org_id,
    seq: said.seq,
    id: said.id,
    at: said.at,
    actorKind: actor.kind,
    actorId: actor.id,
    action: said.action,
    outcome: said.outcome,
    code: said.code,
    targetKind: target.kind,
    targetId: target.id,
    before: said.before,
    after: said.after,
    detail: said.detail,
    address: said.address,
    traceId: said.trace_id,
    salt: said.salt,
    commitment: said.commitment,
    redactedBy: said.redacted_by,
    previousHash: said.previous_hash,
    hash: said.hash,
  };
  return { kind: 'entry', entry: entry as AuditEntry };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
