-- phase: expand
-- readable-from: 0.1.0
-- The customers of deleted entries whose ids are part of the chain's id, so that an erasure finds the chain.
-- May be run twice without harm.

ALTER TABLE closed_chains ADD COLUMN IF NOT EXISTS customer_ids text[] NOT NULL DEFAULT '{}';
