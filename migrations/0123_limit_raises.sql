-- phase: expand
-- readable-from: 0.1.0
-- Temporary raises of limits. A raise ends by itself at `until`; `ended_at` records that, or its earlier end. Earlier releases do not
-- read this table and enforce the limits without their raises.

CREATE TABLE IF NOT EXISTS limit_raises (
  org_id text NOT NULL,
  id text NOT NULL,
  limit_id text NOT NULL,
  -- The value of the limit's wildcard that is raised. Null: each value, or a limit without a wildcard.
  value text,
  amount int8 NOT NULL,
  until timestamptz NOT NULL,
  reason text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL,
  ended_at timestamptz,
  -- Null: it ended by itself, or with its limit.
  ended_by text,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS limit_raises_of_limit ON limit_raises (org_id, limit_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS limit_raises_live ON limit_raises (org_id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS limit_raises_due ON limit_raises (until) WHERE ended_at IS NULL;
