-- phase: expand
-- readable-from: 0.1.0
-- Capacity scenarios, and what the watch over limits that will run out remembers. Every table leads with the org's id. Each
-- statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS capacity_scenarios (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  name text NOT NULL,
  description text,
  -- What would be different, as it was given.
  changes jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT capacity_scenarios_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT capacity_scenarios_name UNIQUE (org_id, name)
);

-- When an org's limits were last forecast, and after which of them to go on.
CREATE TABLE IF NOT EXISTS forecast_checks (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  checked_at timestamptz(3) NOT NULL,
  after_group text NOT NULL
);

-- Of which windows of which limits it was told that they will run out.
CREATE TABLE IF NOT EXISTS forecast_notices (
  org_id text NOT NULL,
  counter_key text NOT NULL,
  told_at timestamptz(3) NOT NULL,
  CONSTRAINT forecast_notices_pkey PRIMARY KEY (org_id, counter_key)
);
CREATE INDEX IF NOT EXISTS forecast_notices_told ON forecast_notices (told_at);
