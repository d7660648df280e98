/**
 * Writes usage rollups: sums by the dimensions of runs for each 15-minute bucket and for each day in UTC, and totals for each
 * bucket.
 */
import { usageDimensions } from '../../contract/run-dimensions.ts';
import { addParts, type PartSums, partsOfSums, writeParts } from '../../kernel/cost-parts.ts';
import { count, type Histogram, stepOf, writeHistogram } from '../../kernel/latency-histogram.ts';
import type { Tags } from '../../kernel/limits.ts';
import { bucketMs, dayMs } from '../../kernel/rollup-parts.ts';
import { jsonText, type TransactionStatements } from '../../platform/db/database.ts';
import type { Posted } from '../posting.ts';
import {
  type UsageDimensions,
  type UsageMeasure,
  usageDigest,
  usageIdentity,
  usageMeasures,
} from './usage-columns.ts';
import { TagLimiter } from './usage-tags.ts';

/** The increment of one usage row. */
type Rollup = {
  org_id: string;
  bucket: Date;
  digest: string;
  tags: Tags;
  histogram: Histogram;
  partSums: PartSums;
} & UsageDimensions &
  Record<UsageMeasure, bigint>;

export async function addToUsage(tx: TransactionStatements, posted: readonly Posted[]): Promise<void> {
  const rollups = new Map<string, Rollup>();
  let last: { readonly one: Posted; readonly rollup: Rollup } | undefined;
  for (const one of posted) {
    if (one.charged !== null) {
      if (last === undefined || !isCountedWith(one, last.one)) {
        last = { one, rollup: rollupOf(one, rollups) };
      }
      addTo(last.rollup, one);
    }
  }
  if (rollups.size === 0) {
    return;
  }
  const rows = [...rollups.values()].map(({ histogram, partSums, ...row }) => ({
    ...row,
    latencies: writeHistogram(histogram),
    parts: writeParts(partsOfSums(partSums)),
    total_parts: '',
  }));
  addTotalParts(rows, rollups.values());
  for (const statement of tx.isDistributed ? addRollupsOneByOne : [addRollups]) {
    await tx.query(statement, [jsonText(rows)]);
  }
}

/** Sums the parts of each bucket into the first of its rows, so that the database need not read them. */
function addTotalParts(rows: readonly { total_parts: string }[], rollups: Iterable<Rollup>): void {
  const totals = new Map<string, { readonly row: number; readonly sums: PartSums }>();
  let row = 0;
  for (const { org_id, bucket, partSums } of rollups) {
    const name = `${org_id} ${bucket.getTime()}`;
    const total = totals.get(name) ?? { row, sums: new Map() };
    totals.set(name, total);
    addParts(total.sums, partsOfSums(partSums));
    row += 1;
  }
  for (const { row, sums } of totals.values()) {
    (rows[row] as { total_parts: string }).total_parts = writeParts(partsOfSums(sums));
  }
}

const tagLimiter = new TagLimiter();
const noTags: Tags = {};

const dimensions = usageDimensions.join(', ');
const record = [
  'org_id text',
  'bucket timestamptz',
  'digest text',
  'tags jsonb',
  'latencies text',
  'parts text',
  'total_parts text',
  ...usageDimensions.map((name) => `${name} text`),
  ...usageMeasures.map((name) => `${name} int8`),
].join(', ');
const measures = usageMeasures.join(', ');
const summed = usageMeasures.map((name) => `sum(${name})::int8`).join(', ');
/**
 * Maximum length of a list. A longer list is merged into one item per step or kind; to shorter ones items are appended, which is
 * cheaper to write.
 */
const latenciesBytesMax = 1_024;
const partsBytesMax = 256;
const boundedList = (gather: string, list: string, bytesMax: number) =>
  `CASE WHEN octet_length(${list}) > ${bytesMax} THEN ${gather}(${list}) ELSE ${list} END`;
const added = [
  ...usageMeasures.map((name) => `${name} = there.${name} + excluded.${name}`),
  `latencies = ${boundedList('gathered_latencies', 'there.latencies || excluded.latencies', latenciesBytesMax)}`,
  `parts = ${boundedList('gathered_parts', 'there.parts || excluded.parts', partsBytesMax)}`,
].join(', ');

const posted = `
  SELECT org_id, bucket, digest, ${dimensions}, tags, ${measures}, decode(latencies, 'hex') AS latencies, parts, total_parts
    FROM jsonb_to_recordset($1::jsonb) AS r(${record})`;

/** The inserts into the three tables, from rows shaped like `posted`. A batch may contain several buckets of one day. */
const insertBuckets = (from: string) => `
  INSERT INTO usage_rollups AS there (org_id, bucket, digest, ${dimensions}, tags, ${measures}, latencies, parts)
  SELECT org_id, bucket, digest, ${dimensions}, tags, ${measures}, latencies, parts FROM ${from}
  ON CONFLICT (org_id, bucket, digest) DO UPDATE SET ${added}`;
const insertTotals = (from: string) => `
  INSERT INTO usage_totals AS there (org_id, bucket, failed, ${measures}, latencies, parts)
  SELECT org_id, bucket, coalesce(sum(requests) FILTER (WHERE status = 'failed'), 0)::int8, ${summed},
         string_agg(latencies, ''::bytea), string_agg(total_parts, '')
    FROM ${from} GROUP BY org_id, bucket
  ON CONFLICT (org_id, bucket) DO UPDATE SET failed = there.failed + excluded.failed, ${added}`;
const insertDays = (from: string) => `
  INSERT INTO usage_days AS there (org_id, day, digest, ${dimensions}, tags, ${measures}, latencies, parts)
  SELECT org_id, date_trunc('day', bucket, 'UTC') AS day, digest, ${dimensions}, tags, ${summed},
         string_agg(latencies, ''::bytea), string_agg(parts, '')
    FROM ${from} GROUP BY org_id, day, digest, ${dimensions}, tags
  ON CONFLICT (org_id, day, digest) DO UPDATE SET ${added}`;

const addRollups = `WITH posted AS (${posted}), buckets AS (${insertBuckets('posted')}), totals AS (${insertTotals('posted')})
  ${insertDays('posted')}`;
/** Separate inserts for a distributed database, where one statement with all three would need all workers. */
const addRollupsOneByOne = [insertBuckets, insertTotals, insertDays].map((insert) =>
  insert(`(${posted}) AS posted`),
);

/**
 * Returns true if two postings certainly belong to the same row, as most postings of a batch do. If it returns false, the row must
 * be looked up.
 */
function isCountedWith(one: Posted, other: Posted): boolean {
  return (
    one.scope === other.scope &&
    one.orgId === other.orgId &&
    one.chargedAtMs === other.chargedAtMs &&
    one.posting.usage.status === other.posting.usage.status
  );
}

/** Returns the row of a posting. Creates it if the batch has none yet. */
function rollupOf({ orgId, posting, scope, chargedAtMs }: Posted, rollups: Map<string, Rollup>): Rollup {
  const dimensions: UsageDimensions = {
    key_id: scope.key_id,
    model: scope.model ?? '',
    provider: scope.provider ?? '',
    workflow: scope.workflow ?? '',
    deployment: scope.deployment ?? '',
    department: scope.department ?? '',
    team: scope.team ?? '',
    customer_id: scope.customer_id ?? '',
    status: posting.usage.status,
    member_id: scope.member_id ?? '',
    project: scope.project ?? '',
  };
  const tags =
    scope.tags === null ? noTags : tagLimiter.keep(orgId, Math.floor(chargedAtMs / dayMs), scope.tags);
  const bucketAtMs = Math.floor(chargedAtMs / bucketMs) * bucketMs;
  const identity = usageIdentity(dimensions, tags === noTags ? null : tags);
  const key = `${orgId} ${bucketAtMs} ${identity}`;
  const existing = rollups.get(key);
  if (existing !== undefined) {
    return existing;
  }
  const created: Rollup = {
    ...dimensions,
    org_id: orgId,
    bucket: new Date(bucketAtMs),
    digest: usageDigest(identity),
    tags,
    histogram: new Map(),
    partSums: new Map(),
    requests: 0n,
    input_tokens: 0n,
    cached_input_tokens: 0n,
    cache_write_tokens: 0n,
    output_tokens: 0n,
    usd_nanos: 0n,
    value_nanos: 0n,
    latency_ms: 0n,
    cache_savings_nanos: 0n,
  };
  rollups.set(key, created);
  return created;
}

function addTo(rollup: Rollup, { posting: { usage, amounts, parts, cacheSavings } }: Posted): void {
  rollup.requests += amounts.requests;
  rollup.input_tokens += usage.inputTokens;
  rollup.cached_input_tokens += usage.cachedInputTokens;
  rollup.cache_write_tokens += usage.cacheWriteTokens;
  rollup.output_tokens += usage.outputTokens;
  rollup.usd_nanos += amounts.usd;
  rollup.cache_savings_nanos += cacheSavings;
  addParts(rollup.partSums, parts);
  if (usage.valueNanos !== null) {
    rollup.value_nanos += usage.valueNanos;
  }
  if (usage.latencyMs !== null) {
    rollup.latency_ms += usage.latencyMs;
    count(rollup.histogram, stepOf(Number(usage.latencyMs)), 1);
  }
}
