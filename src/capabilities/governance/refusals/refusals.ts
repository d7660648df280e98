/** Notes what the gates refuse: in memory while requests are answered, written by a job. */
import type { ApiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteBeyond, insertRefusals, type RefusalRow } from './queries.ts';
import { type NotedCode, notedCodes } from './schema.ts';

export interface Refusals {
  /** `body` is what was asked for, as far as it was read. */
  note(refusal: ApiError, operation: string, caller: Caller, body: object | undefined): void;
  readonly job: Job;
}

export interface RefusalDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
}

type Kept = { -readonly [Name in keyof RefusalRow]: RefusalRow[Name] };

const writeEveryMs = 1_000;
const kindsPerOrgMax = 200;
const kindsMax = 10_000;
const keptPerOrg = 1_000;
const noted: ReadonlySet<string> = new Set(notedCodes);

export function createRefusals({ db, ids, clock }: RefusalDependencies): Refusals {
  /** By org, then by what makes them alike. */
  let waiting = new Map<string, Map<string, Kept>>();
  let kinds = 0;

  function add(name: string, row: Kept): void {
    let ofOrg = waiting.get(row.org_id);
    if (ofOrg === undefined) {
      ofOrg = new Map();
      waiting.set(row.org_id, ofOrg);
    }
    const there = ofOrg.get(name);
    if (there !== undefined) {
      there.count += row.count;
      there.last_at = row.last_at;
    } else if (ofOrg.size < kindsPerOrgMax && kinds < kindsMax) {
      ofOrg.set(name, row);
      kinds += 1;
    }
  }

  async function write(): Promise<void> {
    if (kinds === 0) {
      return;
    }
    const taken = waiting;
    waiting = new Map();
    kinds = 0;
    try {
      await insertRefusals(
        db,
        [...taken.values()].flatMap((ofOrg) => [...ofOrg.values()]),
      );
    } catch (error) {
      // Kept for the next time; if these were written after all, the same ids are not written twice.
      for (const ofOrg of taken.values()) {
        for (const [name, row] of ofOrg) {
          add(name, row);
        }
      }
      throw error;
    }
    await deleteBeyond(db, [...taken.keys()], keptPerOrg);
  }

  return {
    note(error, operation, { tenantId, keyId }, body) {
      if (!noted.has(error.code)) {
        return;
      }
      const details = withoutContent(error.details as Bag);
      const subject = subjectOf(body, details);
      const at = clock.now();
      const row: Kept = {
        org_id: tenantId,
        id: ids.next('rfl'),
        code: error.code as NotedCode,
        message: error.message,
        operation,
        key_id: keyId,
        model: textOf(subject.model),
        action: textOf(subject.action),
        workflow: textOf(subject.workflow),
        customer_id: textOf(subject.customer_id),
        details,
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

type Bag = Readonly<Record<string, unknown>>;

/** In a batch, the run that the refusal names. */
function subjectOf(body: object | undefined, { run_index: index }: Bag): Bag {
  const { runs } = (body ?? {}) as { runs?: readonly Bag[] };
  return (typeof index === 'number' ? runs?.[index] : undefined) ?? ((body ?? {}) as Bag);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function withoutContent({ sample: _content, ...details }: Bag): Record<string, unknown> {
  return details;
}

/** What was asked, and what refused it. */
function countKey(row: Kept): string {
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
    cause,
  ]);
}
