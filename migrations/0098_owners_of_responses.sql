-- phase: expand
-- readable-from: 0.1.0
-- The key that a stored response was created with, and its member: only they may read, delete and continue it. Null for responses that
-- telemetry has reported. May be run twice without harm.
ALTER TABLE run_responses ADD COLUMN IF NOT EXISTS key_id text;
ALTER TABLE run_responses ADD COLUMN IF NOT EXISTS member_id text;
