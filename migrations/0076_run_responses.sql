-- phase: expand
-- readable-from: 0.1.0
-- The provider's ids of responses that runs were recorded for, so that telemetry about the same call is not recorded again. Kept for
-- 30 days. May be run twice without harm.
CREATE TABLE IF NOT EXISTS run_responses (
  org_id text NOT NULL REFERENCES orgs (id),
  response_id text NOT NULL,
  run_id text NOT NULL,
  recorded_at timestamptz(3) NOT NULL,
  CONSTRAINT run_responses_pkey PRIMARY KEY (org_id, response_id)
);
CREATE INDEX IF NOT EXISTS run_responses_recorded ON run_responses (recorded_at);
