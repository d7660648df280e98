-- phase: expand
-- readable-from: 0.1.0
-- Who made a correction: {"kind": …, "id": …}. Null: the service, or an entry that is not a correction. May be run twice without harm.

ALTER TABLE ledger_entries ADD COLUMN IF NOT EXISTS actor jsonb;
