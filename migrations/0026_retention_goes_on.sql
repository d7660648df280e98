-- phase: expand
-- readable-from: 0.1.0
-- Retention: an org that cannot be deleted from does not hold up the others, and the log of support access goes in time. Each
-- statement may be run twice without harm.

-- Since when deleting has failed. Null: it has not, or it has come to its end since.
ALTER TABLE retention_policies ADD COLUMN IF NOT EXISTS failing_since timestamptz(3);

ALTER TABLE retention_runs ADD COLUMN IF NOT EXISTS support_access int8 NOT NULL DEFAULT 0;
