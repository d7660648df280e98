-- phase: expand
-- readable-from: 0.1.0
-- The books: limits, counters, holds and their ends, ledger entries, usage, runs.
-- Every table leads with the org's id. Each statement may be run twice without harm.
-- Amounts of money are nanodollars.

-- One row an org: whoever holds its lock decides for the org.
CREATE TABLE IF NOT EXISTS ledger_orgs (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  -- Moves with every change of a limit or of the org's time zone.
  limits_version int8 NOT NULL DEFAULT 0,
  -- The clock of the org's books, which never runs backwards.
  last_at timestamptz(3) NOT NULL DEFAULT '1970-01-01T00:00:00Z'
);
INSERT INTO ledger_orgs (org_id) SELECT id FROM orgs ON CONFLICT DO NOTHING;

-- Every kind of limit: budgets, caps, packs, plans, quotas, rates.
CREATE TABLE IF NOT EXISTS limits (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  kind text NOT NULL,
  name text,
  unit text NOT NULL CHECK (unit IN ('usd', 'tokens', 'requests')),
  match jsonb NOT NULL,
  period text,
  window_seconds int4,
  timezone text,
  capacity int8 NOT NULL,
  burst int8,
  enforcement text NOT NULL CHECK (enforcement IN ('block', 'alert')),
  alert_thresholds int4[] NOT NULL,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Deleted or voided. The row stays, since ledger entries and holds name it.
  ended_at timestamptz(3),
  CONSTRAINT limits_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS limits_kind ON limits (org_id, kind, created_at, id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS limits_one_of_a_kind ON limits (org_id, kind)
  WHERE ended_at IS NULL AND kind IN ('spend_cap', 'prepaid', 'plan_runs', 'plan_tokens', 'chain_cost', 'chain_depth', 'chain_tokens');
CREATE UNIQUE INDEX IF NOT EXISTS limits_customer_period ON limits (org_id, (match ->> 'customer_id'), period)
  WHERE ended_at IS NULL AND kind = 'customer';

CREATE TABLE IF NOT EXISTS org_rate_limits (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  read_rpm int4
);

-- What is settled and held of a limit in a window. A cache of the entries and the open holds: a missing row is made.
CREATE TABLE IF NOT EXISTS counters (
  org_id text NOT NULL,
  key text NOT NULL,
  limit_id text NOT NULL,
  window_end timestamptz(3) NOT NULL,
  settled int8 NOT NULL,
  held int8 NOT NULL,
  -- The highest threshold, in percent, whose event is out.
  alerted int4 NOT NULL DEFAULT 0,
  CONSTRAINT counters_pkey PRIMARY KEY (org_id, key)
);

-- Open holds, where PostgreSQL keeps them. `body` is the whole hold.
CREATE TABLE IF NOT EXISTS holds (
  org_id text NOT NULL,
  id text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  idempotency_digest text,
  body jsonb NOT NULL,
  CONSTRAINT holds_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS holds_expiry ON holds (expires_at);
CREATE INDEX IF NOT EXISTS holds_chain ON holds (org_id, (body #>> '{scope,chain_id}'))
  WHERE body #>> '{scope,chain_id}' IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS holds_idempotency ON holds (org_id, idempotency_digest)
  WHERE idempotency_digest IS NOT NULL;

-- A hold ends once. Whoever inserts the row has ended it.
CREATE TABLE IF NOT EXISTS hold_ends (
  org_id text NOT NULL,
  hold_id text NOT NULL,
  ended_as text NOT NULL CHECK (ended_as IN ('settled', 'voided', 'expired')),
  ended_at timestamptz(3) NOT NULL,
  -- The run that settled it, also when it came late.
  run_id text,
  body jsonb NOT NULL,
  CONSTRAINT hold_ends_pkey PRIMARY KEY (org_id, hold_id)
);
CREATE INDEX IF NOT EXISTS hold_ends_age ON hold_ends (ended_at);

-- Which runs there are, for good: also after their details were deleted.
CREATE TABLE IF NOT EXISTS run_identities (
  org_id text NOT NULL,
  run_id text NOT NULL,
  external_id text,
  charged_at timestamptz(3) NOT NULL,
  CONSTRAINT run_identities_pkey PRIMARY KEY (org_id, run_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS run_identities_external ON run_identities (org_id, external_id)
  WHERE external_id IS NOT NULL;

-- Money that was spent, or corrected. Entries are never changed.
CREATE TABLE IF NOT EXISTS ledger_entries (
  org_id text NOT NULL,
  charged_at timestamptz(3) NOT NULL,
  id text NOT NULL,
  run_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('charge', 'record', 'adjustment')),
  booked_at timestamptz(3) NOT NULL,
  usd_nanos int8 NOT NULL,
  tokens int8 NOT NULL,
  requests int8 NOT NULL,
  key_id text NOT NULL,
  model text,
  workflow text,
  deployment text,
  department text,
  customer_id text,
  chain_id text,
  prepaid_nanos int8 NOT NULL,
  uncovered_nanos int8 NOT NULL,
  -- [[pack id, nanodollars], …]
  packs jsonb,
  -- Beyond the hold, after its end, or without an answer from the hold store.
  marks text[] NOT NULL,
  -- Why it was corrected.
  note text,
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (org_id, charged_at, id)
) PARTITION BY RANGE (charged_at);
CREATE TABLE IF NOT EXISTS ledger_entries_rest PARTITION OF ledger_entries DEFAULT;
CREATE INDEX IF NOT EXISTS ledger_entries_chain ON ledger_entries (org_id, chain_id) WHERE chain_id IS NOT NULL;

-- Sums by quarter of an hour in UTC, which every time zone's days are made of. Empty text stands for "none".
CREATE TABLE IF NOT EXISTS usage_rollups (
  org_id text NOT NULL,
  bucket timestamptz(3) NOT NULL,
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
  CONSTRAINT usage_rollups_pkey PRIMARY KEY (org_id, bucket, digest)
);

-- What was spent of limits that have no window: prepaid balances and credit packs.
CREATE TABLE IF NOT EXISTS limit_tallies (
  org_id text NOT NULL,
  limit_id text NOT NULL,
  settled int8 NOT NULL,
  CONSTRAINT limit_tallies_pkey PRIMARY KEY (org_id, limit_id)
);

CREATE TABLE IF NOT EXISTS runs (
  org_id text NOT NULL,
  charged_at timestamptz(3) NOT NULL,
  id text NOT NULL,
  external_id text,
  status text NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'cancelled')),
  key_id text NOT NULL,
  model text NOT NULL,
  provider text,
  action text,
  workflow text,
  deployment text,
  department text,
  team text,
  customer_id text,
  tags jsonb,
  chain_id text,
  parent_run_id text,
  depth int4 NOT NULL,
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  -- Null while it runs.
  cost_nanos int8,
  adjusted_nanos int8 NOT NULL DEFAULT 0,
  uncovered_nanos int8 NOT NULL DEFAULT 0,
  value_nanos int8,
  latency_ms int8,
  price_version text,
  started_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  content text,
  metadata jsonb,
  decision_id text,
  marks text[] NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT runs_pkey PRIMARY KEY (org_id, charged_at, id)
) PARTITION BY RANGE (charged_at);
CREATE TABLE IF NOT EXISTS runs_rest PARTITION OF runs DEFAULT;

-- One event per threshold and window.
CREATE TABLE IF NOT EXISTS limit_alerts (
  org_id text NOT NULL,
  counter_key text NOT NULL,
  threshold int4 NOT NULL,
  at timestamptz(3) NOT NULL,
  CONSTRAINT limit_alerts_pkey PRIMARY KEY (org_id, counter_key, threshold)
);

-- Ties the embedded engine's holds to this database, see `src/ledger/embedded/hold-log.ts`.
CREATE TABLE IF NOT EXISTS hold_log_generation (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  generation text NOT NULL
);
