-- phase: expand
-- readable-from: 0.1.0
-- When a key was last used, to about a minute. May be run twice without harm.
ALTER TABLE keys ADD COLUMN IF NOT EXISTS last_used_at timestamptz(3);
