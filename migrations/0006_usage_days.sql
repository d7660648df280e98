-- phase: expand
-- readable-from: 0.1.0
-- Usage by day in UTC, beside that by quarter of an hour: a month of a busy org is thousands of rows instead of hundreds
-- of thousands. Each statement may be run twice without harm.
-- Amounts of money are nanodollars.

-- The columns of `usage_rollups`; `digest` is the same text for the same scope.
CREATE TABLE IF NOT EXISTS usage_days (
  org_id text NOT NULL,
  -- The instant that it begins.
  day timestamptz(3) NOT NULL,
  digest text NOT NULL,
  key_id text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  workflow text NOT NULL,
  deployment text NOT NULL,
  department text NOT NULL,
  team text NOT NULL,
  customer_id text NOT NULL,
  status text NOT NULL,
  requests int8 NOT NULL,
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  usd_nanos int8 NOT NULL,
  value_nanos int8 NOT NULL,
  latency_ms int8 NOT NULL,
  CONSTRAINT usage_days_pkey PRIMARY KEY (org_id, day, digest)
);

INSERT INTO usage_days (org_id, day, digest, key_id, model, provider, workflow, deployment, department, team, customer_id,
                        status, requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, usd_nanos,
                        value_nanos, latency_ms)
SELECT org_id, date_trunc('day', bucket, 'UTC'), digest, key_id, model, provider, workflow, deployment, department, team,
       customer_id, status, sum(requests), sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens),
       sum(output_tokens), sum(usd_nanos), sum(value_nanos), sum(latency_ms)
  FROM usage_rollups
 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
ON CONFLICT DO NOTHING;

-- What a customer has used over all time is summed from days, so that quarters need no way to it any more.
CREATE INDEX IF NOT EXISTS usage_days_customer ON usage_days (org_id, customer_id) WHERE customer_id <> '';
DROP INDEX IF EXISTS usage_rollups_customer;
