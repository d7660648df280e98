-- phase: expand
-- readable-from: 0.1.0
-- Prepaid balances, plans, and the way from a customer to what it has used. Each statement may be run twice without harm.
-- Amounts of money are nanodollars.

-- Whether an org pays from a prepaid balance. How much there is, is the sum of its top-ups.
CREATE TABLE IF NOT EXISTS prepaid_accounts (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  enabled bool NOT NULL
);

CREATE TABLE IF NOT EXISTS prepaid_top_ups (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  amount_nanos int8 NOT NULL CHECK (amount_nanos > 0),
  reference text,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT prepaid_top_ups_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS prepaid_top_ups_created ON prepaid_top_ups (org_id, created_at, id);

-- What operators offer; no org owns it. Null: not limited.
CREATE TABLE IF NOT EXISTS plans (
  id text PRIMARY KEY,
  name text NOT NULL,
  monthly_runs int8,
  monthly_tokens int8,
  overage_policy text NOT NULL CHECK (overage_policy IN ('block', 'allow')),
  created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS plans_name_unique ON plans (name);
CREATE INDEX IF NOT EXISTS plans_created ON plans (created_at, id);

CREATE TABLE IF NOT EXISTS org_plans (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  plan_id text NOT NULL REFERENCES plans (id),
  assigned_at timestamptz(3) NOT NULL
);

CREATE INDEX IF NOT EXISTS usage_rollups_customer ON usage_rollups (org_id, customer_id) WHERE customer_id <> '';
