-- phase: expand
-- readable-from: 0.1.0
-- Where an org is at home, and what is known of orgs that are at home elsewhere. Each statement may be run twice without harm.

-- What becomes of a request that arrives outside the org's home region.
ALTER TABLE orgs ADD COLUMN IF NOT EXISTS residency_mode text NOT NULL DEFAULT 'forward'
  CHECK (residency_mode IN ('forward', 'strict'));

-- When something last changed that other regions are told: home, mode, standing, keys. Null: never had a home region.
ALTER TABLE orgs ADD COLUMN IF NOT EXISTS directory_changed_at timestamptz;
UPDATE orgs SET directory_changed_at = now() WHERE home_region IS NOT NULL AND directory_changed_at IS NULL;
CREATE INDEX IF NOT EXISTS orgs_directory_changed ON orgs (directory_changed_at, id) WHERE directory_changed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS orgs_home_region ON orgs (home_region, id) WHERE home_region IS NOT NULL;

-- The directory: what this region was told of orgs that are at home in others. It says where to send, never who may enter.
CREATE TABLE IF NOT EXISTS directory_orgs (
  org_id text PRIMARY KEY,
  home_region text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('forward', 'strict')),
  suspended bool NOT NULL,
  -- The home region's `directory_changed_at`: what is older does not overwrite what is newer.
  changed_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS directory_orgs_home ON directory_orgs (home_region, org_id);

CREATE TABLE IF NOT EXISTS directory_keys (
  org_id text NOT NULL REFERENCES directory_orgs (org_id) ON DELETE CASCADE,
  key_id text NOT NULL,
  digest text NOT NULL,
  revoked bool NOT NULL,
  ends_at timestamptz(3),
  not_before timestamptz(3),
  expires_at timestamptz(3),
  CONSTRAINT directory_keys_pkey PRIMARY KEY (org_id, key_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS directory_keys_digest_unique ON directory_keys (digest);

-- How far each peer's directory was read. Whoever moves `attempted_at` on is the one process that reads it this time.
CREATE TABLE IF NOT EXISTS directory_peers (
  region text PRIMARY KEY,
  attempted_at timestamptz NOT NULL,
  -- The latest change that was read; null: nothing yet.
  through timestamptz,
  -- When everything was last read, from the first org to the last.
  whole_at timestamptz
);
