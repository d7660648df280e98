-- phase: expand
-- readable-from: 0.1.0
-- The process that works on a request with an idempotency key, so that the key can be taken over once that process is dead.
-- NULL: unknown, as in rows of earlier builds; such a key is taken over by its age alone.
-- Each statement may be run twice without harm.

ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS process_id text;

-- The process that expires the holds of an org, and until when it may do so without renewing this.
ALTER TABLE ledger_orgs ADD COLUMN IF NOT EXISTS expiry_process_id text;
ALTER TABLE ledger_orgs ADD COLUMN IF NOT EXISTS expiry_until timestamptz(3);
