/**
 * Checkpoints: signed positions of the end of a chain, for the org to keep. A job makes one if the
 * chain has grown and its last checkpoint, or its first entry, is at least a day old.
 */
import { ApiError, apiError } from '../../../contract/api-error.ts';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import { enqueueEvent } from '../../../platform/outbox/outbox.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import type { Appending } from './audit.ts';
import { type ChainPosition, chainStart } from './chain.ts';
import { isIntact } from './chain-check.ts';
import { lockChain } from './head-queries.ts';
import {
  type CheckpointRow,
  findAnchor,
  findCheckpoint,
  findUncheckpointed,
  insertCheckpoint,
  readEntries,
} from './queries.ts';
import type { CheckpointView } from './schema.ts';
import type { Signer } from './signing-keys.ts';

export interface CheckpointDependencies extends Appending {
  readonly db: Database;
  readonly signer: Signer;
}

const everyMs = 10 * 60_000;
const dayMs = 24 * 3_600_000;
const tenantsPerBatch = 50;

export function viewCheckpoint({ tenant_id, seq, id, hash, at, token }: CheckpointRow): CheckpointView {
  return { id, org_id: tenant_id, seq: Number(seq), hash, at: at.toISOString(), token };
}

export interface Made {
  readonly checkpoint: CheckpointRow;
  /** False if nothing was appended since the last checkpoint, which is then returned. */
  readonly isNew: boolean;
}

/** Stores a checkpoint of the end of the chain. */
export async function makeCheckpoint(
  tx: Transaction,
  { ids, heads, signer }: Omit<CheckpointDependencies, 'db'>,
  tenantId: string,
  now: Date,
): Promise<Made> {
  // The lock prevents appends, so two concurrent calls make the same checkpoint.
  const head = await lockChain(tx, tenantId);
  const { seq, hash } = head;
  const there = await findCheckpoint(tx, tenantId, BigInt(seq));
  if (there !== undefined) {
    return { checkpoint: there, isNew: false };
  }
  if (!heads.isGenuine(tenantId, head)) {
    throw apiError('conflict', 'The end of the audit log is not authentic. Verify the log.');
  }
  await requireIntactEnd(tx, tenantId, head);
  const said = { kind: 'checkpoint', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  const token = await signer.sign(tx, said);
  const checkpoint = { tenant_id: tenantId, seq: BigInt(seq), id: ids.next('chk'), hash, at: now, token };
  await insertCheckpoint(tx, checkpoint);
  return { checkpoint, isNew: true };
}

/** The end that is signed must match the last entry, not only the recorded head. */
async function requireIntactEnd(tx: Transaction, tenantId: string, head: ChainPosition): Promise<void> {
  const [last] = await readEntries(tx, tenantId, head.seq - 1, 1);
  const end = last ?? (await findAnchor(tx, tenantId)) ?? chainStart;
  if (end.seq !== head.seq || end.hash !== head.hash || (last !== undefined && !isIntact(last))) {
    throw apiError(
      'conflict',
      'The last entry of the audit log does not match the recorded end. Verify the log.',
    );
  }
}

export function dailyCheckpoints({
  db,
  ids,
  heads,
  signer,
  clock,
  log,
}: CheckpointDependencies & { readonly clock: SharedClock; readonly log: Log }): Job {
  async function tellDaily(tx: Transaction, tenantId: string, now: Date): Promise<void> {
    const { checkpoint, isNew } = await makeCheckpoint(tx, { ids, heads, signer }, tenantId, now);
    // No event if another process has made the checkpoint already, or for the platform's log, which has no subscribers.
    if (isNew && tenantId !== platformTenant) {
      await enqueueEvent(tx, {
        id: ids.next('evt'),
        tenantId,
        type: 'audit.checkpoint',
        createdAt: now,
        data: viewCheckpoint(checkpoint),
      });
    }
  }

  // Chains that cannot be signed remain due. The next batch starts after them until all have been tried.
  let after = '';
  return {
    id: 'sign-daily-checkpoints',
    everyMs,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const before = new Date(now.getTime() - dayMs);
      const due = await findUncheckpointed(db, { before, after, limit: tenantsPerBatch });
      for (const tenantId of due) {
        try {
          await db.transaction((tx) => tellDaily(tx, tenantId, now));
        } catch (error) {
          const reason = error instanceof ApiError ? { reason: error.message } : { err: error };
          log.error({ tenant: tenantId, ...reason }, 'audit log end could not be signed');
        }
      }
      const isFull = due.length === tenantsPerBatch;
      after = isFull ? (due.at(-1) ?? '') : '';
      return isFull;
    },
  };
}
