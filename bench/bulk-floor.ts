/**
 * Floor of bulk ingest, in its own process: the writes of a batch, in one transaction on the same engine, without the
 * service. It runs the same statements as the service; the decisions are prepared outside the timed part.
 */
import { performance } from 'node:perf_hooks';
import { draftRun, isInvalid } from '../src/capabilities/spend/runs/draft-run.ts';
import { type RunDraft, writeRuns } from '../src/capabilities/spend/runs/index.ts';
import { emptyReservation } from '../src/kernel/settlement.ts';
import { ensureMonths } from '../src/ledger/partitions.ts';
import type { Posted } from '../src/ledger/posting.ts';
import {
  advanceClock,
  findExistingRuns,
  insertEntries,
  insertIdentities,
} from '../src/ledger/postings/ledger-writes.ts';
import { addToUsage } from '../src/ledger/usage/usage-rollups.ts';
import type { Database } from '../src/platform/db/database.ts';
import { createIds } from '../src/platform/ids.ts';
import { systemClock } from '../src/platform/time/clock.ts';
import { bulkRun } from './bench-org.ts';
import { keyIdOf, openPlace, type Place, seedOrgs } from './seed.ts';

export type Asked =
  | { readonly kind: 'open'; readonly place: Place; readonly runsPerBatch: number }
  | { readonly kind: 'turn'; readonly seconds: number };

export interface Told {
  readonly runs: number;
  readonly elapsedMs: number;
}

const ids = createIds(systemClock);
let batches = 0;

function prepareBatch(orgId: string, runs: number): Posted<RunDraft>[] {
  batches += 1;
  const now = systemClock.now();
  return Array.from({ length: runs }, (_, index) => {
    const body = { external_id: `bench-${batches}-${index}`, ...bulkRun(index), cost_usd: '0.0061' };
    const keyId = keyIdOf(orgId);
    const context = {
      ids,
      keyId,
      now,
      record: false,
      chained: false,
      parentOf: () => undefined,
      contentDigest: () => '0123456789abcdefghijkl',
      failOpenAtMs: () => undefined,
    };
    const posting = draftRun(body, context, undefined, undefined);
    if (isInvalid(posting)) {
      throw new Error('the run is not as the service would take it');
    }
    return {
      kind: 'posted',
      orgId,
      posting,
      scope: posting.scope,
      chargedAtMs: now.getTime(),
      postedAtMs: now.getTime(),
      marks: [],
      hold: null,
      settledUnheld: null,
      charged: {
        reservation: emptyReservation,
        additional: [],
        windows: [],
        amounts: posting.amounts,
        burned: [],
        uncovered: 0n,
        prepaid: posting.amounts.usd,
      },
    };
  });
}

async function writeBatch(db: Database, orgId: string, posted: readonly Posted<RunDraft>[]): Promise<void> {
  await db.transaction(async (tx) => {
    await findExistingRuns(
      tx,
      posted.flatMap(({ orgId, posting: { externalId } }) =>
        externalId === null ? [] : [{ orgId, externalId }],
      ),
    );
    await insertIdentities(tx, posted);
    await writeRuns(tx, posted);
    await insertEntries(tx, posted);
    await addToUsage(tx, posted);
    await advanceClock(tx, [orgId], posted[0]?.postedAtMs ?? 0);
  });
}

async function open(place: Place, runsPerBatch: number): Promise<(seconds: number) => Promise<Told>> {
  const db = await openPlace(place);
  await ensureMonths(db, systemClock.now());
  const [org] = await seedOrgs(db, 1);
  const orgId = org?.id ?? '';
  return async (seconds) => {
    let runs = 0;
    let elapsedMs = 0;
    while (elapsedMs < seconds * 1_000) {
      const batch = prepareBatch(orgId, runsPerBatch);
      const startedMs = performance.now();
      await writeBatch(db, orgId, batch);
      elapsedMs += performance.now() - startedMs;
      runs += runsPerBatch;
    }
    return { runs, elapsedMs };
  };
}

let turn: Awaited<ReturnType<typeof open>> | undefined;

async function answer(asked: Asked): Promise<void> {
  if (asked.kind === 'open') {
    turn = await open(asked.place, asked.runsPerBatch);
    process.send?.('open');
  } else {
    process.send?.(await turn?.(asked.seconds));
  }
}

process.on('message', (asked: Asked) => void answer(asked));
process.once('disconnect', () => process.exit());
