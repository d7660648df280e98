-- The end of each audit chain, authenticated with a key that is not in the database. Each statement may be run twice without harm.

-- HMAC of tenant, seq and hash, see `src/capabilities/audit/chain-heads.ts`. Null: not authenticated.
ALTER TABLE audit_chains ADD COLUMN IF NOT EXISTS mac bytea;

-- Holds a row once the ends from before were authenticated, which happens at the first start.
CREATE TABLE IF NOT EXISTS audit_heads_adopted (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row)
);
