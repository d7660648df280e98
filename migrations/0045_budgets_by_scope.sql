-- phase: contract
-- readable-from: 0.2.0
-- Allows budgets by team, provider, member and tag. Release 0.1.0 would apply such a budget to the whole organization, so it
-- cannot read a database that may have one. Each statement may be run twice without harm.

-- Entries that 0.1.0 has written since the backfill.
UPDATE ledger_entries e SET provider = r.provider, team = r.team, tags = r.tags
  FROM runs r
 WHERE r.org_id = e.org_id AND r.charged_at = e.charged_at AND r.id = e.run_id
   AND e.booked_at >= (SELECT applied_at - interval '1 hour' FROM schema_migrations WHERE version = 43)
   AND e.provider IS NULL AND e.team IS NULL AND e.tags IS NULL
   AND (r.provider IS NOT NULL OR r.team IS NOT NULL OR r.tags IS NOT NULL);

-- A counter of a tag is created from the entries with this tag.
CREATE INDEX IF NOT EXISTS ledger_entries_tags ON ledger_entries USING gin (tags jsonb_path_ops) WHERE tags IS NOT NULL;
