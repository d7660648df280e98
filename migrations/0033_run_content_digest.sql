-- phase: expand
-- readable-from: 0.1.0
-- A digest of what the caller said about a run that has an `external_id`: the same again is that run, anything else a conflict.
-- Null where a run has no such id, or is from before this migration. May be run twice without harm.

ALTER TABLE run_identities ADD COLUMN IF NOT EXISTS content_digest text;
