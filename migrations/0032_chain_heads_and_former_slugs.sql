-- phase: expand
-- readable-from: 0.1.0
-- The end of each audit chain, authenticated with a key that is not in the database, and slugs that orgs gave up. Each statement may
-- be run twice without harm.

-- HMAC of tenant, seq and hash, see `src/capabilities/compliance/audit/chain-heads.ts`. Null: not authenticated.
ALTER TABLE audit_chains ADD COLUMN IF NOT EXISTS mac bytea;

-- Holds a row once the ends from before were authenticated, which happens at the first start.
CREATE TABLE IF NOT EXISTS audit_heads_adopted (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row)
);

-- Slugs that orgs gave up, each held for its former org. Not a column that is named like an org's id: a removed org's stay.
CREATE TABLE IF NOT EXISTS former_slugs (
  slug text PRIMARY KEY,
  former_org text NOT NULL,
  given_up_at timestamptz(3) NOT NULL
);
CREATE INDEX IF NOT EXISTS former_slugs_org ON former_slugs (former_org);
