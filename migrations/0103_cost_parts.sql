-- phase: expand
-- readable-from: 0.1.0
-- The cost of postings and usage by kind, see `src/kernel/cost-parts.ts`. What was posted before has no parts: it is unsplit, and so
-- is what earlier releases post during an upgrade.
-- `cache_savings_nanos` is by how much more cached tokens would have cost as other input.
ALTER TABLE ledger_entries ADD COLUMN IF NOT EXISTS parts text NOT NULL DEFAULT '';
ALTER TABLE usage_rollups ADD COLUMN IF NOT EXISTS parts text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS cache_savings_nanos int8 NOT NULL DEFAULT 0;
ALTER TABLE usage_days ADD COLUMN IF NOT EXISTS parts text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS cache_savings_nanos int8 NOT NULL DEFAULT 0;
ALTER TABLE usage_totals ADD COLUMN IF NOT EXISTS parts text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS cache_savings_nanos int8 NOT NULL DEFAULT 0;

-- The parts of a cost in nanodollars, and `-` for what they do not cover. A code may be returned several times.
CREATE OR REPLACE FUNCTION cost_parts(parts text, usd_nanos numeric)
RETURNS TABLE (code text, quantity numeric, nanos numeric) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  WITH stored AS (
    SELECT CASE WHEN part LIKE 'u:%' THEN split_part(part, ',', 1) ELSE left(part, 1) END AS code,
           CASE WHEN part LIKE 'u:%' THEN split_part(part, ',', 2) ELSE substr(split_part(part, ',', 1), 2) END::numeric AS quantity,
           split_part(part, ',', -1)::numeric AS nanos
      FROM unnest(string_to_array(rtrim(parts, ';'), ';')) AS part
  )
  SELECT code, quantity, nanos FROM stored
  UNION ALL
  SELECT '-', 0, rest FROM (SELECT usd_nanos - coalesce((SELECT sum(nanos) FROM stored), 0) AS rest) AS unsplit WHERE rest <> 0
$$;

-- The same parts, each code once. It reads them by itself, because a function of a worker of Citus finds no other function by its name.
CREATE OR REPLACE FUNCTION gathered_parts(parts text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(string_agg(code || CASE WHEN code LIKE 'u:%' THEN ',' ELSE '' END || quantity || ',' || nanos || ';', '' ORDER BY code), '')
    FROM (
      SELECT CASE WHEN part LIKE 'u:%' THEN split_part(part, ',', 1) ELSE left(part, 1) END AS code,
             sum(CASE WHEN part LIKE 'u:%' THEN split_part(part, ',', 2) ELSE substr(split_part(part, ',', 1), 2) END::numeric) AS quantity,
             sum(split_part(part, ',', -1)::numeric) AS nanos
        FROM unnest(string_to_array(rtrim(parts, ';'), ';')) AS part
       GROUP BY 1
    ) AS sums
   WHERE quantity <> 0 OR nanos <> 0
$$;
