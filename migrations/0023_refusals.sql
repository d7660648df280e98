-- phase: expand
-- readable-from: 0.1.0
-- What was refused lately, and why. Each statement may be run twice without harm.

-- One row for each reason and asker in about a second, however often it was refused. Only an org's latest are kept.
CREATE TABLE IF NOT EXISTS refusals (
  org_id text NOT NULL,
  id text NOT NULL,
  code text NOT NULL,
  message text NOT NULL,
  -- The operation's id, such as runs.create.
  operation text NOT NULL,
  key_id text NOT NULL,
  model text,
  action text,
  workflow text,
  customer_id text,
  details jsonb NOT NULL,
  count int8 NOT NULL,
  first_at timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  CONSTRAINT refusals_pkey PRIMARY KEY (org_id, id)
);

CREATE INDEX IF NOT EXISTS refusals_by_time ON refusals (org_id, last_at, id);
