-- phase: expand
-- readable-from: 0.1.0
-- What is left of a removed org is its id, so that its keys stay gone for good; a job deletes the rest.
-- Each statement may be run twice without harm.

ALTER TABLE orgs ADD COLUMN IF NOT EXISTS removed_at timestamptz(3);
ALTER TABLE orgs ADD COLUMN IF NOT EXISTS emptied_at timestamptz(3);
CREATE INDEX IF NOT EXISTS orgs_to_empty ON orgs (removed_at) WHERE removed_at IS NOT NULL AND emptied_at IS NULL;
