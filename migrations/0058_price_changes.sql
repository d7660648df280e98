-- phase: expand
-- readable-from: 0.1.0
-- Changes of list prices that wait for an operator, and those that were decided. Each statement may be run twice without
-- harm.

CREATE TABLE IF NOT EXISTS price_changes (
  id text NOT NULL,
  model text NOT NULL,
  provider text,
  -- pending, approved, rejected or superseded
  status text NOT NULL,
  -- The price as the API takes it, and the one that it was compared with.
  price jsonb NOT NULL,
  current_price jsonb NOT NULL,
  -- The version that the price was compared with, and the model it belongs to: another one if the name was resolved.
  current_version text NOT NULL,
  current_model text NOT NULL,
  -- Null: the time of the approval.
  effective_from timestamptz(3),
  source text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  decided_at timestamptz(3),
  decided_by text,
  decision_reason text,
  -- The version that the approval created.
  price_version text,
  CONSTRAINT price_changes_pkey PRIMARY KEY (id)
);
-- A model has at most one pending change.
CREATE UNIQUE INDEX IF NOT EXISTS price_changes_pending ON price_changes (model) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS price_changes_model ON price_changes (model, created_at);
CREATE INDEX IF NOT EXISTS price_changes_created ON price_changes (created_at, id);
