-- phase: contract
-- readable-from: 0.1.0
-- required-from: 0.1.0
-- Keys that sign audit logs, one after the other. Each statement may be run twice without harm.

ALTER TABLE audit_signing_keys ADD COLUMN IF NOT EXISTS generation int4 NOT NULL DEFAULT 1;
-- Null: it is in use, and `sealed` is the private key. From then on `sealed` is the public one.
ALTER TABLE audit_signing_keys ADD COLUMN IF NOT EXISTS retired_at timestamptz(3);
ALTER TABLE audit_signing_keys DROP COLUMN IF EXISTS only_row;
CREATE UNIQUE INDEX IF NOT EXISTS audit_signing_keys_generation ON audit_signing_keys (generation);
CREATE UNIQUE INDEX IF NOT EXISTS audit_signing_keys_in_use ON audit_signing_keys ((retired_at IS NULL)) WHERE retired_at IS NULL;
