/**
 * The ledger on PostgreSQL. It is exact across any number of processes, because all decisions are made under row
 * locks in PostgreSQL. Each process collects the commands of its orgs and executes those of several orgs in one
 * transaction: lock the orgs, read their counters, decide, write. The org states are created for that transaction and
 * discarded with it.
 */
import { randomUUID } from 'node:crypto';
import type { Denial } from '../../kernel/denial.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldIncrease,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import type { Ledger, LedgerMaintenance, LedgerReads } from '../ledger.ts';
import { createOrgLimits } from '../limits/org-limits.ts';
import { type GroupResult, holdsOpenedBy, type PostingGroup } from '../posting.ts';
import { CommandBatches } from './command-batches.ts';
import { expireHolds } from './expire-holds.ts';
import { HoldExpiry } from './hold-expiry.ts';
import type { PostgresLedgerOptions } from './ledger-transaction.ts';
import { OpenHoldRoom } from './open-hold-room.ts';
import { OrgQueues } from './org-queues.ts';
import { selectHolds } from './postgres-holds.ts';
import { createPostgresMaintenance } from './postgres-maintenance.ts';
import { createPostgresReads } from './postgres-reads.ts';

export class PostgresLedger<Run = unknown> implements Ledger<Run> {
  readonly reads: LedgerReads;
  readonly expiry: HoldExpiry;
  readonly maintenance: LedgerMaintenance;
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #queues: OrgQueues<Run>;
  readonly #openHolds: OpenHoldRoom;

  constructor(options: PostgresLedgerOptions<Run>) {
    this.#options = options;
    this.#openHolds = new OpenHoldRoom({ processes: () => 1, ...options });
    const orgLimits = options.orgLimits ?? createOrgLimits(options.db);
    this.#queues = new OrgQueues(new CommandBatches(options, orgLimits));
    this.reads = createPostgresReads(options);
    this.maintenance = createPostgresMaintenance(options, () => this.#queues.waiting);
    const { db, clock, monotonicMs, processId = randomUUID() } = options;
    this.expiry = new HoldExpiry({
      db,
      clock,
      processId,
      ...(monotonicMs !== undefined && { monotonicMs }),
      expire: (orgId, holds) => expireHolds(options, orgLimits, processId, orgId, holds),
    });
  }

  decide(): undefined {
    // A decision always needs PostgreSQL, so the caller must use `hold`.
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId } = request;
    return this.#openHolds.use(
      orgId,
      1,
      () => this.#queues.enqueue(orgId, { kind: 'hold', request }) as Promise<HoldResult>,
    );
  }

  async replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const { db, clock } = this.#options;
    const [open] = await selectHolds(db, [], [{ orgId, id: key.digest }]);
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    // Queried second: a hold that ended meanwhile has stored its key here.
    return replayOf(await findStoredKey(db, orgId, key.digest, clock.now().getTime()), key);
  }

  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]> {
    return this.#queues.enqueue(orgId, { kind: 'preview', previews }) as Promise<(Denial | undefined)[]>;
  }

  importHolds(request: HoldImport): Promise<ImportedHold[]> {
    return this.#queues.enqueue(request.orgId, { kind: 'import', request }) as Promise<ImportedHold[]>;
  }

  post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { orgId } = group;
    const post = () => this.#queues.enqueue(orgId, { kind: 'post', group }) as Promise<GroupResult<Run>>;
    const opened = holdsOpenedBy(group);
    return opened === 0 ? post() : this.#openHolds.use(orgId, opened, post);
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#queues.enqueue(orgId, { kind: 'void', holdId }) as Promise<HoldChange>;
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#queues.enqueue(orgId, { kind: 'extend', holdId, seconds }) as Promise<HoldChange>;
  }

  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    return this.#queues.enqueue(orgId, { kind: 'increase', holdId, increase }) as Promise<IncreaseResult>;
  }

  /** Queued commands are finished before the server stops, so only the leases remain; without them they lapse. */
  async close(): Promise<void> {
    await this.expiry.close().catch(() => undefined);
  }
}
