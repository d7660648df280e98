-- phase: expand
-- readable-from: 0.1.0
-- How a run was served and what it used besides tokens, for its cost. Null: not stated. One-hour cache writes are included in
-- `cache_write_tokens`, which release 0.1.0 reads. May be run twice without harm.

ALTER TABLE runs
  ADD COLUMN IF NOT EXISTS service_tier text,
  ADD COLUMN IF NOT EXISTS region text,
  ADD COLUMN IF NOT EXISTS cache_write_1h_tokens int8,
  ADD COLUMN IF NOT EXISTS units jsonb;
