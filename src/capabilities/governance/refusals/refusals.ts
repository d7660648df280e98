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
/** All entries together; beyond it an entry keeps only its first trace id. */
const traceIdsQueuedMax = 100_000;
const recorded: ReadonlySet<string> = new Set(recordedCodes);

export function createRefusals({ db, ids, clock }: RefusalDependencies): Refusals {
  /** Queued entries by org, then by count key. */
  let queued = new Map<string, Map<string, MutableRow>>();
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
    const free = Math.min(traceIdsMax - trace_ids.length, traceIdsQueuedMax - traceIdsQueued);
    if (free > 0) {
      const kept = added.slice(0, free);
      trace_ids.push(...kept);
      traceIdsQueued += kept.length;
    }
  }

  async function write(): Promise<void> {
    if (places.used === 0) {
      return;
    }
    const taken = queued;
    queued = new Map();
    places.clear();
    traceIdsQueued = 0;
    try {
      await insertRefusals(
        db,
        [...taken.values()].flatMap((ofOrg) => [...ofOrg.values()]),
      );
    } catch (error) {
      // The entries are queued again for the next run. If the rows were written after all, their ids prevent
      // duplicates, except for entries that are added to a newer entry of the same key.
      for (const ofOrg of taken.values()) {
        for (const [name, row] of ofOrg) {
          add(name, row);
        }
      }
      throw error;
    }
    for (const orgIds of await db.tenantGroups.split([...taken.keys()], (orgId) => orgId)) {
      await deleteBeyond(db, orgIds, keptPerOrg);
    }
  }

  return {
    note({ error, operation, caller: { tenantId, keyId, attribution }, traceId, body }) {
      if (!recorded.has(error.code)) {
        return;
      }
      const details = withoutContent(error.details as Fields);
      const subject: Fields = { ...attribution?.values, ...subjectOf(body, details) };
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

type Fields = Readonly<Record<string, unknown>>;

/** Returns the body, or the denied run of a bulk request. */
function subjectOf(body: object | undefined, { run_index: index }: Fields): Fields {
  const { runs } = (body ?? {}) as { runs?: readonly Fields[] };
  return (typeof index === 'number' ? runs?.[index] : undefined) ?? ((body ?? {}) as Fields);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function withoutContent({ sample: _content, ...details }: Fields): Record<string, unknown> {
  return details;
}

/** Identifies denials that are counted together: the same request and the same cause. */
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
