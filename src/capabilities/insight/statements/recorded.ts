/** Reads the recorded usage that a statement is compared with: sums by day and model. */
import { invalidField } from '../../../contract/api-error.ts';
import { type CostParts, noParts, type PartCode } from '../../../kernel/cost-parts.ts';
import { sumOfTexts } from '../../../ledger/usage/part-texts.ts';
import { otherValues, tagBounds } from '../../../ledger/usage/usage-tags.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { correctionPrefix, correctionTimes } from './correction.ts';
import {
  addSums,
  type DifferenceCause,
  differenceCauses,
  type LineSums,
  noSums,
  subtractSums,
} from './difference.ts';
import { type ByTokenKind, noTokens, type TokenKind, tokenKinds } from './statement-line.ts';

const dayMs = 86_400_000;

export interface RecordedRequest {
  readonly orgId: string;
  readonly timezone: string;
  /** UTC days; the end is exclusive. */
  readonly periodStart: string;
  readonly periodEnd: string;
  /** Dimension of runs that holds the provider's project, such as `department` or `tag:project`. */
  readonly projectDimension: string | null;
}

/** The sums of the runs of one day with the same model, provider and project. */
export interface RecordedGroup {
  readonly day: string;
  readonly model: string;
  readonly provider: string;
  readonly project: string;
  readonly sums: LineSums;
}

export interface RecordedGroups {
  readonly settled: readonly RecordedGroup[];
  readonly unsettled: readonly RecordedGroup[];
  /** By day in the time zone of the organization. Undefined if that is UTC: the same days. */
  readonly local: readonly RecordedGroup[] | undefined;
  /** Positive sums on the day of the start of late runs, negative ones on the day of their charge. */
  readonly lateShifts: readonly RecordedGroup[];
  /** Runs that earlier reconciliations posted. They are part of `settled`. */
  readonly corrections: readonly CorrectionGroup[];
}

export interface CorrectionGroup extends RecordedGroup {
  readonly cause: DifferenceCause;
  readonly kind: TokenKind | '';
  readonly keyIds: readonly string[];
}

interface GroupRow {
  readonly day: string;
  readonly other_day?: string;
  readonly model: string;
  readonly provider: string;
  readonly project: string;
  readonly is_unsettled?: boolean;
  readonly runs: bigint;
  /** Sums as texts: they may exceed 64 bits. */
  readonly input_tokens: string;
  readonly cached_input_tokens: string;
  readonly cache_write_tokens: string;
  readonly output_tokens: string;
  readonly usd_nanos: string;
  /** The costs by kind of the rows, joined. */
  readonly parts?: string;
}

const tokenSums = ['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens']
  .map((name) => `sum(${name})::text AS ${name}`)
  .join(', ');

/** Each day is a query of its own, so that none takes long, however many scopes the period has. Late runs are few. */
export async function readRecorded(db: Queryable, request: RecordedRequest): Promise<RecordedGroups> {
  const { timezone, periodStart, periodEnd } = request;
  const startMs = Date.parse(periodStart);
  const endMs = Date.parse(periodEnd);
  const isInPeriod = ({ day }: { readonly day: string }) => periodStart <= day && day < periodEnd;
  const settled: RecordedGroup[] = [];
  const unsettled: RecordedGroup[] = [];
  const local: RecordedGroup[] = [];
  const lateShifts: RecordedGroup[] = [];
  // The neighbouring days have the runs of local days, and late runs that were charged there.
  const around = [new Date(startMs - dayMs), new Date(endMs + dayMs)] as const;
  for (const row of await sumLateRuns(db, request, around)) {
    const group = groupOf(row);
    const negative = { ...group, sums: subtractSums(noSums, group.sums) };
    const shifted = { ...group, day: row.other_day ?? group.day };
    lateShifts.push(...[negative, shifted].filter(isInPeriod));
  }
  for (let dayStart = startMs - dayMs; dayStart < endMs + dayMs; dayStart += dayMs) {
    const range = [new Date(dayStart), new Date(dayStart + dayMs)] as const;
    const isUtcDay = startMs <= dayStart && dayStart < endMs;
    if (!isUtcDay && timezone === 'UTC') {
      continue;
    }
    const fromRuns = await mustReadRuns(db, request, range);
    if (isUtcDay) {
      for (const row of await sumDays(db, request, range, fromRuns ? runs : usageDays)) {
        (row.is_unsettled ? unsettled : settled).push(groupOf(row, await sumOfTexts(row.parts ?? '')));
      }
    }
    if (timezone !== 'UTC') {
      const rows = await sumDays(db, request, range, fromRuns ? runs : usageBuckets, timezone);
      local.push(...rows.map((row) => groupOf(row)).filter(isInPeriod));
    }
  }
  return {
    settled,
    unsettled,
    local: timezone === 'UTC' ? undefined : local,
    lateShifts,
    corrections: await sumCorrections(db, request),
  };
}

type RecordedRange = readonly [from: Date, to: Date];

/** A table that recorded usage is summed from. */
interface Source {
  readonly table: string;
  /** The timestamp column. */
  readonly time: string;
  readonly runs: string;
  readonly usd: string;
  readonly parts: string;
  readonly condition: string;
}

const rollup = {
  runs: 'sum(requests)::int8',
  usd: 'usd_nanos',
  condition: '',
};
const usageDays: Source = { ...rollup, parts: `string_agg(parts, '')`, table: 'usage_days', time: 'day' };
/** Kinds are compared by UTC day only. */
const usageBuckets: Source = { ...rollup, parts: `''`, table: 'usage_rollups', time: 'bucket' };
/** A run without a cost is in progress, and not in the rollups. */
const runs: Source = {
  table: 'runs',
  time: 'charged_at',
  runs: 'count(*)',
  usd: 'cost_nanos + adjusted_nanos',
  parts: `''`,
  condition: 'AND cost_nanos IS NOT NULL',
};

function sumDays(
  db: Queryable,
  request: RecordedRequest,
  range: RecordedRange,
  source: Source,
  timezone = 'UTC',
): Promise<GroupRow[]> {
  const project = projectSql(request, 5);
  return db.query<GroupRow>(
    `SELECT to_char(${source.time} AT TIME ZONE $4::text, 'YYYY-MM-DD') AS day, model, coalesce(provider, '') AS provider,
            ${project.sql} AS project, status = 'running' AS is_unsettled, ${source.runs} AS runs, ${tokenSums},
            sum(${source.usd})::text AS usd_nanos, ${source.parts} AS parts
       FROM ${source.table}
      WHERE org_id = $1 AND ${source.time} >= $2 AND ${source.time} < $3 ${source.condition}
      GROUP BY 1, 2, 3, 4, 5`,
    [request.orgId, ...range, timezone, ...project.params],
  );
}

/**
 * Returns true if projects are tags and the rollups of the day do not have all of their values (`usage-tags.ts`). Throws if the runs,
 * which have them, were deleted.
 */
async function mustReadRuns(
  db: Queryable,
  { orgId, projectDimension }: RecordedRequest,
  range: RecordedRange,
): Promise<boolean> {
  const tag = tagIn(projectDimension);
  if (tag === undefined) {
    return false;
  }
  const ofDay = 'FROM usage_days WHERE org_id = $1 AND day >= $2 AND day < $3';
  const [row] = await db.query<{ is_incomplete: boolean; has_runs: boolean }>(
    `SELECT EXISTS (SELECT 1 ${ofDay} AND tags ->> $4::text = $5)
              OR (SELECT count(DISTINCT name) >= $6 FROM (SELECT jsonb_object_keys(tags) AS name ${ofDay}) AS names) AS is_incomplete,
            NOT EXISTS (SELECT 1 FROM closed_balances
                         WHERE org_id = $1 AND source = 'runs' AND bucket >= $2 AND bucket < $3) AS has_runs`,
    [orgId, ...range, tag, otherValues, tagBounds.namesPerDay],
  );
  if (row?.is_incomplete === true && !row.has_runs) {
    const day = range[0].toISOString().slice(0, 10);
    throw invalidField(
      'project_dimension',
      'out_of_range',
      `The usage of ${day} has too many tags to be separated by ${projectDimension}, and runs of that day were deleted. ` +
        'Upload the statement without `project_dimension`.',
    );
  }
  return row?.is_incomplete === true;
}

/** Uses the index `runs_late`, whose condition must be in the query word for word. */
function sumLateRuns(db: Queryable, request: RecordedRequest, range: RecordedRange): Promise<GroupRow[]> {
  const project = projectSql(request);
  return db.query<GroupRow>(
    `SELECT to_char(charged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
            to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS other_day, model, coalesce(provider, '') AS provider,
            ${project.sql} AS project, count(*) AS runs, ${tokenSums},
            sum(cost_nanos + adjusted_nanos)::text AS usd_nanos
       FROM runs
      WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3 AND marks @> '{late}' AND cost_nanos IS NOT NULL
        AND (charged_at AT TIME ZONE 'UTC')::date <> (started_at AT TIME ZONE 'UTC')::date
      GROUP BY 1, 2, 3, 4, 5`,
    [request.orgId, ...range, ...project.params],
  );
}

interface CorrectionRow extends GroupRow {
  readonly cause: DifferenceCause;
  readonly kind: string | null;
  /** Callers may send runs with such an `external_id`, and any metadata. */
  readonly key_ids: unknown;
}

/** Reads the runs of a few instants, by the primary key. */
async function sumCorrections(db: Queryable, request: RecordedRequest): Promise<CorrectionGroup[]> {
  const times: Date[] = [];
  for (let at = Date.parse(request.periodStart); at < Date.parse(request.periodEnd); at += dayMs) {
    times.push(...correctionTimes(at));
  }
  const project = projectSql(request, 5);
  const rows = await db.query<CorrectionRow>(
    `SELECT to_char(charged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, coalesce(provider, '') AS provider,
            ${project.sql} AS project, metadata ->> 'cause' AS cause, metadata ->> 'kind' AS kind, metadata -> 'provider_key_ids' AS key_ids,
            count(*) AS runs, ${tokenSums}, sum(cost_nanos + adjusted_nanos)::text AS usd_nanos
       FROM runs
      WHERE org_id = $1 AND charged_at = ANY($2::timestamptz[]) AND starts_with(external_id, $3)
        AND metadata ->> 'cause' = ANY($4) AND cost_nanos IS NOT NULL
      GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    [request.orgId, times, correctionPrefix, differenceCauses, ...project.params],
  );
  return rows.map((row) => {
    const group = groupOf(row);
    const kind = tokenKinds.find((name) => name === row.kind);
    const usdByKind = kind === undefined ? noTokens : { ...noTokens, [kind]: group.sums.usd };
    return {
      ...group,
      sums: { ...group.sums, usdByKind },
      cause: row.cause,
      kind: kind ?? '',
      keyIds: textsIn(row.key_ids),
    };
  });
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

const tagDimension = /^tag:(.+)$/;

function tagIn(projectDimension: string | null): string | undefined {
  return tagDimension.exec(projectDimension ?? '')?.[1];
}

/** The expression of the project. The schema allows only names of columns and tags. */
function projectSql({ projectDimension }: RecordedRequest, parameter = 4): { sql: string; params: string[] } {
  if (projectDimension === null) {
    return { sql: "''", params: [] };
  }
  const tag = tagIn(projectDimension);
  return tag === undefined
    ? { sql: `coalesce(${projectDimension}, '')`, params: [] }
    : { sql: `coalesce(tags ->> $${parameter}::text, '')`, params: [tag] };
}

/** The kind of tokens that statements bill a kind of usage as. */
const billedKinds: Readonly<Partial<Record<PartCode, TokenKind>>> = {
  i: 'uncached_input',
  a: 'uncached_input',
  c: 'cached_input',
  w: 'cache_write',
  l: 'cache_write',
  o: 'output',
  r: 'output',
  s: 'output',
};

function usdByKindOf(parts: CostParts): ByTokenKind {
  const sums = { ...noTokens } as Record<TokenKind, bigint>;
  for (const { code, nanos } of parts) {
    const kind = billedKinds[code];
    if (kind !== undefined) {
      sums[kind] += nanos;
    }
  }
  return sums;
}

function groupOf(row: GroupRow, parts: CostParts = noParts): RecordedGroup {
  const { day, model, provider, project } = row;
  const cachedInput = BigInt(row.cached_input_tokens);
  const cacheWrite = BigInt(row.cache_write_tokens);
  return {
    day,
    model,
    provider,
    project,
    sums: {
      runs: row.runs,
      usd: BigInt(row.usd_nanos),
      usdByKind: usdByKindOf(parts),
      tokens: {
        uncached_input: BigInt(row.input_tokens) - cachedInput - cacheWrite,
        cached_input: cachedInput,
        cache_write: cacheWrite,
        output: BigInt(row.output_tokens),
      },
    },
  };
}

/** Adds up groups under the same key. */
export function sumBy(
  groups: readonly RecordedGroup[],
  keyOf: (group: RecordedGroup) => string,
): Map<string, LineSums> {
  const sums = new Map<string, LineSums>();
  for (const group of groups) {
    const key = keyOf(group);
    sums.set(key, addSums(sums.get(key) ?? noSums, group.sums));
  }
  return sums;
}
