/**
 * The hash chain: an entry's hash covers its content and the hash before it, so that no entry can be changed,
 * removed or moved without every later hash being wrong.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../platform/canonical-json.ts';

export interface AuditEntry {
  readonly tenantId: string;
  readonly seq: bigint;
  readonly id: string;
  readonly at: Date;
  readonly actorKind: string;
  readonly actorId: string;
  readonly action: string;
  readonly targetKind: string;
  readonly targetId: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly address: string | null;
  readonly traceId: string | null;
}

/** What the first entry of a chain names as the hash before it. */
export const chainStart = '0'.repeat(64);

export function entryHash(previousHash: string, entry: AuditEntry): string {
  const content = canonicalJson({ ...entry, seq: entry.seq.toString(), previousHash });
  return createHash('sha256').update(content).digest('hex');
}
