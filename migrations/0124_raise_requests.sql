-- phase: expand
-- readable-from: 0.1.0
-- Requests for temporary raises of limits. A pending request lapses at `until`. Approving one creates the raise that names it.

CREATE TABLE IF NOT EXISTS raise_requests (
  org_id text NOT NULL,
  id text NOT NULL,
  limit_id text NOT NULL,
  -- The value of the limit's wildcard. Null for a limit without a wildcard.
  value text,
  amount int8 NOT NULL,
  until timestamptz NOT NULL,
  reason text NOT NULL,
  state text NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  raise_id text,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS raise_requests_latest ON raise_requests (org_id, requested_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS raise_requests_of_limit ON raise_requests (org_id, limit_id, state);
ALTER TABLE limit_raises ADD COLUMN IF NOT EXISTS request_id text;
