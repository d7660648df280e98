-- phase: expand
-- readable-from: 0.1.0
-- Usage by tag, how long runs took, and sums of everything by quarter of an hour. Each statement may be run twice
-- without harm. What was booked before is carried over; its tags are not, since the rows do not tell runs apart.

-- Only those tags that are kept apart, see `src/ledger/usage/usage-tags.ts`.
ALTER TABLE usage_rollups ADD COLUMN IF NOT EXISTS tags jsonb NOT NULL DEFAULT '{}';
ALTER TABLE usage_days ADD COLUMN IF NOT EXISTS tags jsonb NOT NULL DEFAULT '{}';
-- Pairs of four bytes, see `src/kernel/latency-histogram.ts`.
ALTER TABLE usage_rollups ADD COLUMN IF NOT EXISTS latencies bytea NOT NULL DEFAULT '';
ALTER TABLE usage_days ADD COLUMN IF NOT EXISTS latencies bytea NOT NULL DEFAULT '';

-- The same pairs, each step once.
CREATE OR REPLACE FUNCTION gathered_latencies(pairs bytea) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(string_agg(decode(lpad(to_hex((step::int8 << 24) | least(times, 16777215)), 8, '0'), 'hex'), ''::bytea ORDER BY step), ''::bytea)
    FROM (
      SELECT get_byte(pairs, at) AS step,
             sum(get_byte(pairs, at + 1)::int8 * 65536 + get_byte(pairs, at + 2) * 256 + get_byte(pairs, at + 3))::int8 AS times
        FROM generate_series(0, octet_length(pairs) - 4, 4) AS at
       GROUP BY 1
    ) AS steps
$$;

-- Nothing is known about these tables' sizes yet on an engine that nobody analyzes: row by row it would take for ever.
SET LOCAL enable_nestloop = off;
WITH told AS (
  SELECT org_id, bucket, key_id, model, provider, workflow, deployment, department, team, customer_id, status,
         string_agg(decode(lpad(to_hex((step << 24) | least(times, 16777215)), 8, '0'), 'hex'), ''::bytea ORDER BY step) AS latencies
    FROM (
      SELECT org_id, date_bin('15 minutes', charged_at, '2000-01-01T00:00:00Z') AS bucket, key_id, model,
             coalesce(provider, '') AS provider, coalesce(workflow, '') AS workflow, coalesce(deployment, '') AS deployment,
             coalesce(department, '') AS department, coalesce(team, '') AS team, coalesce(customer_id, '') AS customer_id,
             status, CASE WHEN latency_ms <= 1 THEN 0 ELSE least(255, ceil(ln(latency_ms::float8) / ln(1.1::float8)))::int8 END AS step,
             count(*) AS times
        FROM runs WHERE cost_nanos IS NOT NULL AND latency_ms IS NOT NULL
       GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    ) AS steps
   GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
)
UPDATE usage_rollups u SET latencies = told.latencies
  FROM told
 WHERE u.latencies = '' AND u.tags = '{}'
   AND (u.org_id, u.bucket, u.key_id, u.model, u.provider, u.workflow, u.deployment, u.department, u.team, u.customer_id, u.status)
     = (told.org_id, told.bucket, told.key_id, told.model, told.provider, told.workflow, told.deployment, told.department,
        told.team, told.customer_id, told.status);

UPDATE usage_days d SET latencies = gathered_latencies(q.latencies)
  FROM (
    SELECT org_id, date_trunc('day', bucket, 'UTC') AS day, digest, string_agg(latencies, ''::bytea) AS latencies
      FROM usage_rollups WHERE latencies <> '' GROUP BY 1, 2, 3
  ) AS q
 WHERE d.latencies = '' AND d.org_id = q.org_id AND d.day = q.day AND d.digest = q.digest;

SET LOCAL enable_nestloop = on;

-- Everything of a quarter of an hour, whatever it was about: what only time is asked of costs no more in a busy org.
CREATE TABLE IF NOT EXISTS usage_totals (
  org_id text NOT NULL,
  bucket timestamptz(3) NOT NULL,
  requests int8 NOT NULL,
  failed int8 NOT NULL,
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  usd_nanos int8 NOT NULL,
  value_nanos int8 NOT NULL,
  latency_ms int8 NOT NULL,
  latencies bytea NOT NULL,
  CONSTRAINT usage_totals_pkey PRIMARY KEY (org_id, bucket)
);
INSERT INTO usage_totals (org_id, bucket, requests, failed, input_tokens, cached_input_tokens, cache_write_tokens,
                          output_tokens, usd_nanos, value_nanos, latency_ms, latencies)
SELECT org_id, bucket, sum(requests), coalesce(sum(requests) FILTER (WHERE status = 'failed'), 0), sum(input_tokens),
       sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(usd_nanos), sum(value_nanos),
       sum(latency_ms), gathered_latencies(string_agg(latencies, ''::bytea))
  FROM usage_rollups
 GROUP BY 1, 2
ON CONFLICT DO NOTHING;
