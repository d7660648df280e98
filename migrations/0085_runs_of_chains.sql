-- phase: expand
-- readable-from: 0.1.0
-- The runs of a chain, and those that a run has started: without an index, a page of them would take a scan of all runs of the org. Runs
-- without a chain are not in it.

CREATE INDEX IF NOT EXISTS runs_of_chain ON runs (org_id, chain_id, charged_at, id) WHERE chain_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_of_parent ON runs (org_id, parent_run_id, charged_at, id) WHERE parent_run_id IS NOT NULL;
