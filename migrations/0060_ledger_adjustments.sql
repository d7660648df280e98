-- phase: expand
-- readable-from: 0.1.0
-- Corrections are few among the entries of the ledger. Exports list those of a time range separately.

CREATE INDEX IF NOT EXISTS ledger_entries_adjustments ON ledger_entries (org_id, charged_at) WHERE kind = 'adjustment';
