/**
 * Writes usage rollups: sums by dimension for each 15-minute bucket and for each day in UTC, and totals for each
 * bucket.
 */
import { createHash } from 'node:crypto';
import { count, type Histogram, mergeInto, stepOf, writeHistogram } from '../../kernel/latency-histogram.ts';
import { bucketMs, dayMs } from '../../kernel/rollup-parts.ts';
import { jsonText, type Queryable } from '../../platform/db/database.ts';
import type { Posted, Tags } from '../posting.ts';
import { TagLimiter } from './usage-tags.ts';

const rollupDimensions = [
  'key_id',
  'model',
  'provider',
  'workflow',
  'deployment',
  'department',
  'team',
  'customer_id',
  'status',
] as const;
const rollupMeasures = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
  'value_nanos',
  'latency_ms',
] as const;

type Rollup = { org_id: string; bucket: Date; digest: string; tags: Tags; histogram: Histogram } & Record<
  (typeof rollupDimensions)[number],
  string
> &
  Record<(typeof rollupMeasures)[number], bigint>;

export async function addToUsage(tx: Queryable, posted: readonly Posted[]): Promise<void> {
  const rollups = new Map<string, Rollup>();
  for (const one of posted) {
    if (one.charged !== null) {
      addTo(rollups, rollupOf(one));
    }
  }
  if (rollups.size === 0) {
    return;
  }
  const rows = [...rollups.values()].map(({ histogram, ...row }) => ({
    ...row,
    latencies: writeHistogram(histogram),
  }));
  await tx.query(addRollups, [jsonText(rows)]);
}

const tagLimiter = new TagLimiter();
const noTags: Tags = {};

const dimensions = rollupDimensions.join(', ');
const record = [
  'org_id text',
  'bucket timestamptz',
  'digest text',
  'tags jsonb',
  'latencies text',
  ...rollupDimensions.map((name) => `${name} text`),
  ...rollupMeasures.map((name) => `${name} int8`),
].join(', ');
const measures = rollupMeasures.join(', ');
const summed = rollupMeasures.map((name) => `sum(${name})::int8`).join(', ');
/** Above this size the pairs of a row are merged; below, concatenating the lists is faster. */
const latenciesBytesMax = 1_024;
const bothLatencies = 'there.latencies || excluded.latencies';
const added = [
  ...rollupMeasures.map((name) => `${name} = there.${name} + excluded.${name}`),
  `latencies = CASE WHEN octet_length(${bothLatencies}) > ${latenciesBytesMax}
     THEN gathered_latencies(${bothLatencies}) ELSE ${bothLatencies} END`,
].join(', ');

/** One statement, so that the three tables never differ. A batch may contain several buckets of one day. */
const addRollups = `
  WITH posted AS (
    SELECT org_id, bucket, digest, ${dimensions}, tags, ${measures}, decode(latencies, 'hex') AS latencies
      FROM jsonb_to_recordset($1::jsonb) AS r(${record})
  ), buckets AS (
    INSERT INTO usage_rollups AS there (org_id, bucket, digest, ${dimensions}, tags, ${measures}, latencies)
    SELECT org_id, bucket, digest, ${dimensions}, tags, ${measures}, latencies FROM posted
    ON CONFLICT (org_id, bucket, digest) DO UPDATE SET ${added}
  ), totals AS (
    INSERT INTO usage_totals AS there (org_id, bucket, failed, ${measures}, latencies)
    SELECT org_id, bucket, coalesce(sum(requests) FILTER (WHERE status = 'failed'), 0)::int8, ${summed},
           string_agg(latencies, ''::bytea)
      FROM posted GROUP BY org_id, bucket
    ON CONFLICT (org_id, bucket) DO UPDATE SET failed = there.failed + excluded.failed, ${added}
  )
  INSERT INTO usage_days AS there (org_id, day, digest, ${dimensions}, tags, ${measures}, latencies)
  SELECT org_id, date_trunc('day', bucket, 'UTC') AS day, digest, ${dimensions}, tags, ${summed},
         string_agg(latencies, ''::bytea)
    FROM posted GROUP BY org_id, day, digest, ${dimensions}, tags
  ON CONFLICT (org_id, day, digest) DO UPDATE SET ${added}`;

function rollupOf({ orgId, posting, scope, chargedAtMs }: Posted): Rollup {
  const dimensions = {
    key_id: scope.key_id,
    model: scope.model ?? '',
    provider: scope.provider ?? '',
    workflow: scope.workflow ?? '',
    deployment: scope.deployment ?? '',
    department: scope.department ?? '',
    team: scope.team ?? '',
    customer_id: scope.customer_id ?? '',
    status: posting.usage.status,
  };
  const { usage, amounts } = posting;
  const tags =
    usage.tags === null ? noTags : tagLimiter.keep(orgId, Math.floor(chargedAtMs / dayMs), usage.tags);
  const histogram: Histogram = new Map();
  if (usage.latencyMs !== null) {
    count(histogram, stepOf(Number(usage.latencyMs)), 1);
  }
  return {
    org_id: orgId,
    bucket: new Date(Math.floor(chargedAtMs / bucketMs) * bucketMs),
    // The digest of a row without tags is the same as before tags existed, so that existing rows are continued.
    digest: Object.values(dimensions).join('\u0001') + (tags === noTags ? '' : JSON.stringify(tags)),
    tags,
    histogram,
    ...dimensions,
    requests: amounts.requests,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    usd_nanos: amounts.usd,
    value_nanos: usage.valueNanos ?? 0n,
    latency_ms: usage.latencyMs ?? 0n,
  };
}

function addTo(rollups: Map<string, Rollup>, rollup: Rollup): void {
  const key = `${rollup.org_id} ${rollup.bucket.getTime()} ${rollup.digest}`;
  const existing = rollups.get(key);
  if (existing === undefined) {
    // Hashed, because the text may be too long for a row key.
    rollups.set(key, { ...rollup, digest: createHash('sha1').update(rollup.digest).digest('base64url') });
    return;
  }
  for (const name of rollupMeasures) {
    existing[name] += rollup[name];
  }
  mergeInto(existing.histogram, rollup.histogram);
}
