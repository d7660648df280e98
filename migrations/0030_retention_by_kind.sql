-- phase: contract
-- readable-from: 0.1.0
-- required-from: 0.1.0
-- Retention: a kind that cannot be deleted does not hold up the others of its org, and operators say how long their own log
-- is kept. Each statement may be run twice without harm.

-- The kinds that failed, and when each is tried again.
ALTER TABLE retention_policies ADD COLUMN IF NOT EXISTS put_off jsonb NOT NULL DEFAULT '{}';

-- The operators' policy belongs to no org.
ALTER TABLE retention_policies DROP CONSTRAINT IF EXISTS retention_policies_org_id_fkey;
