-- phase: expand
-- readable-from: 0.1.0
-- Providers' statements of cost and usage, and their lines. Both tables lead with the org's id. Each statement may be run twice
-- without harm. Amounts of money are nanodollars.

CREATE TABLE IF NOT EXISTS statements (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  provider text NOT NULL,
  -- The reports that the file contained.
  sources text[] NOT NULL,
  -- UTC days; the end is exclusive.
  period_start date NOT NULL,
  period_end date NOT NULL,
  -- SHA-256 of the lines, whatever their order in the file.
  digest text NOT NULL,
  lines int4 NOT NULL,
  billed_nanos int8 NOT NULL,
  has_tokens bool NOT NULL,
  -- The most decimals of an amount in the file: amounts are rounded to them.
  decimals int4 NOT NULL,
  project_dimension text,
  gateway_key_ids text[],
  drift_threshold_nanos int8 NOT NULL,
  created_at timestamptz(3) NOT NULL,
  compared_at timestamptz(3),
  -- Billed less recorded; and the sum of the differences, each taken as positive.
  difference_nanos int8,
  drift_nanos int8,
  reconciled_at timestamptz(3),
  reconciled_runs int4 NOT NULL DEFAULT 0,
  reconciled_nanos int8 NOT NULL DEFAULT 0,
  CONSTRAINT statements_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT statements_digest UNIQUE (org_id, digest)
);
CREATE INDEX IF NOT EXISTS statements_uncompared ON statements (created_at) WHERE compared_at IS NULL;

-- Sums of the file's lines with the same day, model, project, key and kind. Empty text stands for "none".
CREATE TABLE IF NOT EXISTS statement_lines (
  org_id text NOT NULL,
  statement_id text NOT NULL,
  -- As YYYY-MM-DD, in UTC.
  day text NOT NULL,
  model text NOT NULL,
  project text NOT NULL,
  provider_key_id text NOT NULL,
  -- The kind of tokens that the amount is for, if the line names one.
  kind text NOT NULL,
  uncached_input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  usd_nanos int8 NOT NULL,
  CONSTRAINT statement_lines_pkey PRIMARY KEY (org_id, statement_id, day, model, project, provider_key_id, kind)
);
