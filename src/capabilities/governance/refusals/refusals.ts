/** Records the denials of admission checks: in memory during requests, written by a job. */
import type { ApiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteBeyond, insertRefusals, type RefusalRow } from './queries.ts';
import { type RecordedCode, recordedCodes, traceIdsMax } from './schema.ts';

export interface Refusals {
  note(denied: DeniedRequest): void;
  readonly job: Job;
}

export interface DeniedRequest {
  readonly error: ApiError;
  readonly operation: string;
  readonly caller: Caller;
  readonly traceId: string;
  /** The request body; undefined if it was not read. */
  readonly body: object | undefined;
}

export interface RefusalDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
}

type MutableRow = { -readonly [Name in keyof RefusalRow]: RefusalRow[Name] } & { trace_ids: string[] };

const writeEveryMs = 1_000;
const entriesPerOrgMax = 200;
const entriesMax = 10_000;
const keptPerOrg = 1_000;
/** Maximum number of trace ids in memory. Beyond it, an entry only keeps its first one. */
const traceIdsQueuedMax = 100_000;
const recorded: ReadonlySet<string> = new Set(recordedCodes);

export function createRefusals({ db, ids, clock }: RefusalDependencies): Refusals {
  /** Queued entries by org and count key. */
  let queued = new Map<string, Map<string, MutableRow>>();
  /**
   * Entries that are being written, or whose write failed. They no longer change. If they were written although the response was
   * lost, their ids prevent duplicates.
   */
  let taken: readonly MutableRow[] = [];
  let traceIdsQueued = 0;
  const places = new FairShare({ capacity: entriesMax, perTenantMax: entriesPerOrgMax });

  function add(name: string, row: MutableRow): void {
    let ofOrg = queued.get(row.org_id);
    if (ofOrg === undefined) {
      ofOrg = new Map();
      queued.set(row.org_id, ofOrg);
    }
    const existing = ofOrg.get(name);
    if (existing !== undefined) {
      existing.count += row.count;
      existing.last_at = row.last_at;
      addTraceIds(existing, row.trace_ids);
    } else if (places.tryTake(row.org_id)) {
      ofOrg.set(name, row);
      traceIdsQueued += row.trace_ids.length;
    }
  }

  function addTraceIds({ trace_ids }: MutableRow, added: readonly string[]): void {
    if (trace_ids.length < traceIdsMax && traceIdsQueued < traceIdsQueuedMax) {
      trace_ids.push(...added);
      traceIdsQueued += added.length;
    }
  }

  /** Writes the entries of a failed attempt first, then those queued since. */
  async function write(): Promise<void> {
    if (taken.length > 0) {
      await writeTaken();
    }
    taken = [...queued.values()].flatMap((ofOrg) => [...ofOrg.values()]);
    queued = new Map();
    if (taken.length > 0) {
      await writeTaken();
    }
  }

  async function writeTaken(): Promise<void> {
    await insertRefusals(db, taken);
    const written = taken;
    taken = [];
    for (const { org_id, trace_ids } of written) {
      places.release(org_id);
      traceIdsQueued -= trace_ids.length;
    }
    const orgIds = [...new Set(written.map(({ org_id }) => org_id))];
    for (const group of await db.tenantGroups.split(orgIds, (orgId) => orgId)) {
      await deleteBeyond(db, group, keptPerOrg);
    }
  }

  return {
    note({ error, operation, caller: { tenantId, keyId, attribution }, traceId, body }) {
      if (!recorded.has(error.code)) {
        return;
      }
      const details = withoutContent(error.details as BodyFields);
      const subject: BodyFields = { ...attribution?.values, ...subjectOf(body, details) };
      const at = clock.now();
      const row: MutableRow = {
        org_id: tenantId,
        id: ids.next('rfl'),
        code: error.code as RecordedCode,
        message: error.message,
        operation,
        key_id: keyId,
        model: textOf(subject.model),
        action: textOf(subject.action),
        workflow: textOf(subject.workflow),
        customer_id: textOf(subject.customer_id),
        details,
        limit_id: error.limitId ?? null,
        trace_ids: [traceId],
        count: 1n,
        first_at: at,
        last_at: at,
      };
      add(countKey(row), row);
    },
    job: {
      id: 'record-refusals',
      everyMs: writeEveryMs,
      async runOnce() {
        await write();
        return false;
      },
      stop: write,
    },
  };
}

type BodyFields = Readonly<Record<string, unknown>>;

/** Returns the body, or the denied run of a bulk request. */
function subjectOf(body: object | undefined, { run_index: index }: BodyFields): BodyFields {
  const { runs } = (body ?? {}) as { runs?: readonly BodyFields[] };
  return (typeof index === 'number' ? runs?.[index] : undefined) ?? ((body ?? {}) as BodyFields);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function withoutContent({ sample: _content, ...details }: BodyFields): Record<string, unknown> {
  return details;
}

/** Returns a key for denials that are counted together, because they have the same request and the same cause. */
function countKey(row: MutableRow): string {
  const { budget_id, rule_id, detector, limit_kind, quota_kind, reason } = row.details;
  const cause = [budget_id, rule_id, detector, limit_kind, quota_kind, reason];
  return JSON.stringify([
    row.code,
    row.operation,
    row.key_id,
    row.model,
    row.action,
    row.workflow,
    row.customer_id,
    row.limit_id,
    cause,
  ]);
}
