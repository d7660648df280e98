-- phase: expand
-- readable-from: 0.1.0
-- The rules of organizations for the lifetime of keys.

CREATE TABLE IF NOT EXISTS key_rules (
  org_id              text PRIMARY KEY,
  lifetime_days_max   int,
  unused_days_max     int,
  unused_days_set_at  timestamptz,
  updated_at          timestamptz NOT NULL
);
