/**
 * The ledger on PostgreSQL. It is exact across any number of processes, because all decisions are made under row locks in
 * PostgreSQL. Each process collects the commands of its orgs, and executes those of several orgs in one transaction: lock the orgs,
 * read their counters, decide, write. The org states exist for that transaction only.
 */
import type { Denial } from '../../kernel/denial.ts';
import type { ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, replayOf } from '../holds/hold-keys.ts';
import type { HoldChange, HoldResult, IncreaseResult } from '../holds/hold-request.ts';
import type { Ledger } from '../ledger.ts';
import { createOrgLimits } from '../limits/org-limits.ts';
import { type GroupResult, holdsOpenedBy } from '../posting.ts';
import { CommandBatches } from './command-batches.ts';
import { HoldExpiry } from './hold-expiry.ts';
import type { PostgresLedgerOptions } from './ledger-transaction.ts';
import { OpenHoldRoom } from './open-hold-room.ts';
import { OrgQueues } from './org-queues.ts';
import { selectHolds } from './postgres-holds.ts';
import { createPostgresMaintenance } from './postgres-maintenance.ts';
import { createPostgresReads } from './postgres-reads.ts';

export function createPostgresLedger<Run>(options: PostgresLedgerOptions<Run>): Ledger<Run> {
  const { db, clock } = options;
  const orgLimits = options.orgLimits ?? createOrgLimits(db);
  const queues = new OrgQueues(new CommandBatches(options, orgLimits));
  const openHolds = new OpenHoldRoom({ processes: () => 1, ...options });
  const expiry = new HoldExpiry(options, orgLimits);

  return {
    reads: createPostgresReads(options),
    expiry,
    maintenance: createPostgresMaintenance(options, queues),
    // A decision always needs PostgreSQL, so the caller must use `hold`.
    decide: () => undefined,
    hold(request) {
      const { orgId } = request;
      const hold = () => queues.enqueue(orgId, { kind: 'hold', request }) as Promise<HoldResult>;
      return openHolds.use(orgId, 1, hold);
    },
    async replay(orgId, key) {
      const [open] = await selectHolds(db, [], [{ orgId, id: key.digest }]);
      if (open !== undefined) {
        return replayOf(open.idempotency, key);
      }
      // Queried after the open holds, because a hold that ended in between has stored its key here.
      return replayOf(await findStoredKey(db, orgId, key.digest, clock.now().getTime()), key);
    },
    previewDenials: (orgId, previews) =>
      queues.enqueue(orgId, { kind: 'preview', previews }) as Promise<(Denial | undefined)[]>,
    importHolds: (request) =>
      queues.enqueue(request.orgId, { kind: 'import', request }) as Promise<ImportedHold[]>,
    post(group) {
      const { orgId } = group;
      const post = () => queues.enqueue(orgId, { kind: 'post', group }) as Promise<GroupResult<Run>>;
      const opened = holdsOpenedBy(group);
      return opened === 0 ? post() : openHolds.use(orgId, opened, post);
    },
    void: (orgId, holdId) => queues.enqueue(orgId, { kind: 'void', holdId }) as Promise<HoldChange>,
    extend: (orgId, holdId, seconds) =>
      queues.enqueue(orgId, { kind: 'extend', holdId, seconds }) as Promise<HoldChange>,
    increase: (orgId, holdId, increase) =>
      queues.enqueue(orgId, { kind: 'increase', holdId, increase }) as Promise<IncreaseResult>,
    /** Queued commands finish before the server stops, so only the leases remain. If they cannot be released, they lapse. */
    close: () => expiry.close().catch(() => undefined),
  };
}
