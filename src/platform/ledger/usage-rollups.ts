/** Writes usage: sums by what runs were about, of each quarter of an hour and of each day in UTC. */
import { createHash } from 'node:crypto';
import { jsonText, type Queryable } from '../db/database.ts';
import type { Booked } from './booking.ts';
import { bucketMs } from './counters.ts';

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

type Rollup = { org_id: string; bucket: Date; digest: string } & Record<
  (typeof rollupDimensions)[number],
  string
> &
  Record<(typeof rollupMeasures)[number], bigint>;

export async function addToUsage(tx: Queryable, booked: readonly Booked[]): Promise<void> {
  const rollups = new Map<string, Rollup>();
  for (const one of booked) {
    if (one.charged !== null) {
      addTo(rollups, rollupOf(one));
    }
  }
  if (rollups.size === 0) {
    return;
  }
  await tx.query(addRollups, [jsonText([...rollups.values()])]);
}

const dimensions = rollupDimensions.join(', ');
const record = [
  'org_id text',
  'bucket timestamptz',
  'digest text',
  ...rollupDimensions.map((name) => `${name} text`),
  ...rollupMeasures.map((name) => `${name} int8`),
].join(', ');
const added = rollupMeasures.map((name) => `${name} = there.${name} + excluded.${name}`).join(', ');

/** Both in one statement, so that one is never without the other. Of a day, a batch may have several quarters. */
const addRollups = `
  WITH booked AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(${record})),
  quarters AS (
    INSERT INTO usage_rollups AS there (org_id, bucket, digest, ${dimensions}, ${rollupMeasures.join(', ')})
    SELECT org_id, bucket, digest, ${dimensions}, ${rollupMeasures.join(', ')} FROM booked
    ON CONFLICT (org_id, bucket, digest) DO UPDATE SET ${added}
  )
  INSERT INTO usage_days AS there (org_id, day, digest, ${dimensions}, ${rollupMeasures.join(', ')})
  SELECT org_id, date_trunc('day', bucket, 'UTC') AS day, digest, ${dimensions},
         ${rollupMeasures.map((name) => `sum(${name})::int8`).join(', ')}
    FROM booked GROUP BY org_id, day, digest, ${dimensions}
  ON CONFLICT (org_id, day, digest) DO UPDATE SET ${added}`;

function rollupOf({ orgId, booking, scope, chargedAtMs }: Booked): Rollup {
  const dimensions = {
    key_id: scope.key_id,
    model: scope.model ?? '',
    provider: scope.provider ?? '',
    workflow: scope.workflow ?? '',
    deployment: scope.deployment ?? '',
    department: scope.department ?? '',
    team: scope.team ?? '',
    customer_id: scope.customer_id ?? '',
    status: booking.usage.status,
  };
  const { usage, amounts } = booking;
  return {
    org_id: orgId,
    bucket: new Date(Math.floor(chargedAtMs / bucketMs) * bucketMs),
    digest: Object.values(dimensions).join('\u0001'),
    ...dimensions,
    requests: amounts.requests,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    usd_nanos: amounts.usd,
    value_nanos: usage.valueNanos,
    latency_ms: usage.latencyMs,
  };
}

function addTo(rollups: Map<string, Rollup>, rollup: Rollup): void {
  const key = `${rollup.org_id} ${rollup.bucket.getTime()} ${rollup.digest}`;
  const there = rollups.get(key);
  if (there === undefined) {
    // The text itself may be long; the row's key must not be.
    rollups.set(key, { ...rollup, digest: createHash('sha1').update(rollup.digest).digest('base64url') });
    return;
  }
  for (const name of rollupMeasures) {
    there[name] += rollup[name];
  }
}
