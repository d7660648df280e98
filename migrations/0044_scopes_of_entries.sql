-- phase: backfill
-- readable-from: 0.1.0
-- Copies provider, team and tags of earlier runs into their ledger entries, so that new budgets by these fields count them.
-- Entries whose run was deleted by retention stay without them. The cursor is the primary key of the last entry.

WITH batch AS MATERIALIZED (
  SELECT org_id, charged_at, id, run_id FROM ledger_entries
   WHERE (org_id, charged_at, id) > (
           CASE WHEN $1::text = '' THEN '' ELSE $1::jsonb ->> 0 END,
           CASE WHEN $1::text = '' THEN '-infinity' ELSE ($1::jsonb ->> 1)::timestamptz END,
           CASE WHEN $1::text = '' THEN '' ELSE $1::jsonb ->> 2 END)
   ORDER BY org_id, charged_at, id LIMIT 500
), changed AS (
  UPDATE ledger_entries e SET provider = r.provider, team = r.team, tags = r.tags
    FROM batch b JOIN runs r ON r.org_id = b.org_id AND r.charged_at = b.charged_at AND r.id = b.run_id
   WHERE e.org_id = b.org_id AND e.charged_at = b.charged_at AND e.id = b.id
     AND e.provider IS NULL AND e.team IS NULL AND e.tags IS NULL
     AND (r.provider IS NOT NULL OR r.team IS NOT NULL OR r.tags IS NOT NULL)
)
SELECT (SELECT jsonb_build_array(org_id, charged_at, id)::text FROM batch
         ORDER BY org_id DESC, charged_at DESC, id DESC LIMIT 1) AS next_cursor
