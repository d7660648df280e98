-- phase: expand
-- readable-from: 0.1.0
-- The project of a charge, such as an application of a team or a project at the provider. In the order in which postings lock the tables.
-- Each statement may be run twice without harm.

ALTER TABLE runs ADD COLUMN IF NOT EXISTS project text;
ALTER TABLE ledger_entries ADD COLUMN IF NOT EXISTS project text;
-- Empty text stands for "none", as in the other columns.
ALTER TABLE usage_rollups ADD COLUMN IF NOT EXISTS project text NOT NULL DEFAULT '';
ALTER TABLE usage_days ADD COLUMN IF NOT EXISTS project text NOT NULL DEFAULT '';
