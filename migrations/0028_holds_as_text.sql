-- phase: contract
-- readable-from: 0.1.0
-- required-from: 0.1.0
-- Open holds, where PostgreSQL keeps them, are text: most of what a decision cost the database was to take a hold apart
-- that nobody looks into. What is looked for has columns of its own. Each statement may be run twice without harm.

-- The whole hold, as JSON.
ALTER TABLE holds ADD COLUMN IF NOT EXISTS record text;
ALTER TABLE holds ADD COLUMN IF NOT EXISTS admitted_at timestamptz(3);
ALTER TABLE holds ADD COLUMN IF NOT EXISTS chain_id text;
-- Held that until now, and is null from now on. It stays, since a migration before this one names it.
ALTER TABLE holds ALTER COLUMN body DROP NOT NULL;
UPDATE holds
   SET record = body::text, chain_id = body #>> '{scope,chain_id}',
       admitted_at = to_timestamp((body ->> 'admittedAtMs')::float8 / 1000), body = NULL
 WHERE body IS NOT NULL;
ALTER TABLE holds ALTER COLUMN record SET NOT NULL;
ALTER TABLE holds ALTER COLUMN admitted_at SET NOT NULL;
DROP INDEX IF EXISTS holds_chain;
CREATE INDEX IF NOT EXISTS holds_of_chain ON holds (org_id, chain_id) WHERE chain_id IS NOT NULL;
