-- phase: expand
-- readable-from: 0.1.0
-- Runs sorted by cost, tokens and latency: without an index, a page would take a scan and a sort of all runs of the org. The
-- expressions are those of the list (src/capabilities/spend/runs/list-runs.ts); a run without a value sorts as -1.

CREATE INDEX IF NOT EXISTS runs_by_cost ON runs (org_id, (coalesce(cost_nanos, -1)), id);
CREATE INDEX IF NOT EXISTS runs_by_tokens ON runs (org_id, (input_tokens + output_tokens), id);
CREATE INDEX IF NOT EXISTS runs_by_latency ON runs (org_id, (coalesce(latency_ms, -1)), id);
