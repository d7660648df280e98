-- phase: expand
-- readable-from: 0.1.0
-- Late runs and corrections are few. Comparisons with statements and exports read those of a time range, which would otherwise take
-- a scan of all of its runs and entries.

CREATE INDEX IF NOT EXISTS runs_late ON runs (org_id, charged_at) WHERE marks @> '{late}';
CREATE INDEX IF NOT EXISTS ledger_entries_adjustments ON ledger_entries (org_id, charged_at) WHERE kind = 'adjustment';
