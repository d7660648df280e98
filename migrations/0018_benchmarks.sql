-- phase: expand
-- readable-from: 0.1.0
-- Benchmarks: who takes part, which cohorts are asked for, and the figures of a week. Each statement may be run twice
-- without harm.

CREATE TABLE IF NOT EXISTS benchmark_participants (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  enabled bool NOT NULL,
  industry text,
  size_band text,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE IF NOT EXISTS benchmark_cohorts (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  name text NOT NULL,
  industry text,
  size_band text,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT benchmark_cohorts_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS benchmark_cohorts_age ON benchmark_cohorts (org_id, created_at, id);

-- Whoever locks the row puts orgs into blocks.
CREATE TABLE IF NOT EXISTS benchmark_weeks (
  week timestamptz(3) PRIMARY KEY
);

-- The orgs of a week's release. A block stands or falls together, see `src/capabilities/insight/benchmarks/blocks.ts`.
CREATE TABLE IF NOT EXISTS benchmark_members (
  org_id text NOT NULL,
  week timestamptz(3) NOT NULL,
  block text NOT NULL,
  -- What all of the block have in common; null: they are not all alike in it.
  industry text,
  size_band text,
  -- Null: it has left.
  figures jsonb,
  CONSTRAINT benchmark_members_pkey PRIMARY KEY (org_id, week)
);
CREATE INDEX IF NOT EXISTS benchmark_members_week ON benchmark_members (week);
