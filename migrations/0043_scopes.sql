-- phase: expand
-- readable-from: 0.1.0
-- More fields that limits match and that usage is grouped by: the member and the tags of a charge, and its team and provider in
-- the ledger. In the order in which postings lock the tables. Each statement may be run twice without harm.

ALTER TABLE runs ADD COLUMN IF NOT EXISTS member_id text;
ALTER TABLE ledger_entries
  ADD COLUMN IF NOT EXISTS provider text,
  ADD COLUMN IF NOT EXISTS team text,
  ADD COLUMN IF NOT EXISTS member_id text,
  ADD COLUMN IF NOT EXISTS tags jsonb;
-- Empty text stands for "none", as in the other columns.
ALTER TABLE usage_rollups ADD COLUMN IF NOT EXISTS member_id text NOT NULL DEFAULT '';
ALTER TABLE usage_days ADD COLUMN IF NOT EXISTS member_id text NOT NULL DEFAULT '';
