/** Checkpoints: the end of a chain, signed, for the org to keep. One is made every day in which something happened. */
import type { SharedClock } from '../../platform/clock.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import type { Database, Queryable, Transaction } from '../../platform/db/database.ts';
import { platformTenant } from '../../platform/http/access.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Job } from '../../platform/jobs.ts';
import { enqueueEvent } from '../../platform/outbox.ts';
import { type ChainPlace, chainStart } from './chain.ts';
import {
  type CheckpointRow,
  findCheckpoint,
  findHead,
  findUncheckpointed,
  insertCheckpoint,
  lockChain,
} from './queries.ts';
import type { CheckpointView } from './schema.ts';
import type { Signer } from './signing.ts';

export interface CheckpointDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly signer: Signer;
}

const everyMs = 10 * 60_000;
const dayMs = 24 * 3_600_000;
const tenantsPerBatch = 50;

export function viewCheckpoint({ tenant_id, seq, id, hash, at, token }: CheckpointRow): CheckpointView {
  return { id, org_id: tenant_id, seq: Number(seq), hash, at: at.toISOString(), token };
}

/** The end of the chain as it is now, signed and not stored. */
export async function signHead(
  db: Queryable,
  signer: Signer,
  tenantId: string,
  now: Date,
): Promise<{ place: ChainPlace; token: string }> {
  const place = (await findHead(db, tenantId)) ?? chainStart;
  const { seq, hash } = place;
  const said = { kind: 'checkpoint', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  return { place, token: signer.sign(said) };
}

export interface Made {
  readonly checkpoint: CheckpointRow;
  /** False: nothing happened since the last one, and that is it. */
  readonly isNew: boolean;
}

/** Stores a checkpoint of the end of the chain. */
export async function makeCheckpoint(
  tx: Transaction,
  { ids, signer }: Omit<CheckpointDependencies, 'db'>,
  tenantId: string,
  now: Date,
): Promise<Made> {
  // Nobody appends meanwhile, so two who make one at once make the same.
  const { seq } = await lockChain(tx, tenantId);
  const there = await findCheckpoint(tx, tenantId, seq);
  if (there !== undefined) {
    return { checkpoint: there, isNew: false };
  }
  const { place, token } = await signHead(tx, signer, tenantId, now);
  const checkpoint = {
    tenant_id: tenantId,
    seq: BigInt(place.seq),
    id: ids.next('chk'),
    hash: place.hash,
    at: now,
    token,
  };
  await insertCheckpoint(tx, checkpoint);
  return { checkpoint, isNew: true };
}

export function dailyCheckpoints({
  db,
  ids,
  signer,
  clock,
}: CheckpointDependencies & { readonly clock: SharedClock }): Job {
  return {
    name: 'sign the end of audit logs once a day',
    everyMs,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const due = await findUncheckpointed(db, new Date(now.getTime() - dayMs), tenantsPerBatch);
      for (const tenantId of due) {
        await db.transaction(async (tx) => {
          const { checkpoint, isNew } = await makeCheckpoint(tx, { ids, signer }, tenantId, now);
          // Another process may have been quicker; and nobody can subscribe to what operators do.
          if (isNew && tenantId !== platformTenant) {
            await enqueueEvent(tx, {
              id: ids.next('evt'),
              tenantId,
              type: 'audit.checkpoint',
              createdAt: now,
              data: viewCheckpoint(checkpoint),
            });
          }
        });
      }
      return due.length === tenantsPerBatch;
    },
  };
}
