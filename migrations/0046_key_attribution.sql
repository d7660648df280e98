-- phase: expand
-- readable-from: 0.1.0
-- Attribution of keys: the values that their runs and decisions get. May be run twice without harm.

-- Values by field; tags as an object.
ALTER TABLE keys ADD COLUMN IF NOT EXISTS attribution jsonb NOT NULL DEFAULT '{}';
-- The fields whose value a caller cannot change.
ALTER TABLE keys ADD COLUMN IF NOT EXISTS attribution_locked text[] NOT NULL DEFAULT '{}';
