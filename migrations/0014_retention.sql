-- phase: expand
-- readable-from: 0.1.0
-- How long things are kept, what is left of what was deleted, and customers who were erased. Each statement may be run twice
-- without harm. Amounts of money are nanodollars.

-- An org without a row keeps runs and audit entries for good, no content, and deliveries for a month.
CREATE TABLE IF NOT EXISTS retention_policies (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  -- Null: for good.
  runs_days int4,
  content_days int4 NOT NULL,
  audit_days int4,
  deliveries_days int4 NOT NULL,
  idempotency_days int4 NOT NULL,
  legal_hold bool NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  next_run_at timestamptz(3) NOT NULL
);
CREATE INDEX IF NOT EXISTS retention_policies_due ON retention_policies (next_run_at) WHERE NOT legal_hold;

-- What was deleted, and when. One that has not finished is gone on with.
CREATE TABLE IF NOT EXISTS retention_runs (
  org_id text NOT NULL,
  id text NOT NULL,
  started_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  runs int8 NOT NULL DEFAULT 0,
  contents int8 NOT NULL DEFAULT 0,
  ledger_entries int8 NOT NULL DEFAULT 0,
  audit_entries int8 NOT NULL DEFAULT 0,
  deliveries int8 NOT NULL DEFAULT 0,
  events int8 NOT NULL DEFAULT 0,
  CONSTRAINT retention_runs_pkey PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS retention_runs_open ON retention_runs (org_id) WHERE finished_at IS NULL;

-- Closing balances: what deleted runs and ledger entries add up to, by quarter of an hour. The books are held against
-- themselves with these, so that a deletion is no difference and a difference is not hidden by a deletion.
CREATE TABLE IF NOT EXISTS closed_balances (
  org_id text NOT NULL,
  source text NOT NULL CHECK (source IN ('runs', 'entries')),
  bucket timestamptz(3) NOT NULL,
  usd_nanos int8 NOT NULL,
  tokens int8 NOT NULL,
  requests int8 NOT NULL,
  uncovered_nanos int8 NOT NULL,
  CONSTRAINT closed_balances_pkey PRIMARY KEY (org_id, source, bucket)
);

-- What deleted entries have taken of packs, by their id, and of the prepaid balance, whose id is empty.
CREATE TABLE IF NOT EXISTS closed_payments (
  org_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('credits', 'prepaid')),
  id text NOT NULL,
  nanos int8 NOT NULL,
  CONSTRAINT closed_payments_pkey PRIMARY KEY (org_id, kind, id)
);

-- What deleted entries have used of chains, which have no window that could be over.
CREATE TABLE IF NOT EXISTS closed_chains (
  org_id text NOT NULL,
  chain_id text NOT NULL,
  usd_nanos int8 NOT NULL,
  tokens int8 NOT NULL,
  requests int8 NOT NULL,
  CONSTRAINT closed_chains_pkey PRIMARY KEY (org_id, chain_id)
);

-- Content that is kept is encrypted, see `src/capabilities/compliance/retention/contents.ts`.
CREATE INDEX IF NOT EXISTS runs_content ON runs (org_id, charged_at, id) WHERE content IS NOT NULL;

-- Customers who were erased, or are being erased. The id is encrypted, and gone when it is done.
CREATE TABLE IF NOT EXISTS customer_erasures (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  pseudonym text NOT NULL,
  customer bytea,
  -- How far it is: the step, and the last row that was looked at.
  step text NOT NULL,
  cursor jsonb,
  requested_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  changed int8 NOT NULL DEFAULT 0,
  CONSTRAINT customer_erasures_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS customer_erasures_open ON customer_erasures (requested_at) WHERE finished_at IS NULL;

-- Whom the stored answer tells of, as a keyed digest, so that it can be erased although nobody here can read it.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS customer_digest text;
