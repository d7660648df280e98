-- phase: expand
-- readable-from: 0.1.0
-- The requests behind a recorded denial, and the limit that denied. Each statement may be run twice without harm.

-- The trace ids of the denied requests, up to a maximum; null in entries of 0.1.0.
ALTER TABLE refusals ADD COLUMN IF NOT EXISTS trace_ids text[];
-- Null: not denied by one limit, or an entry of 0.1.0.
ALTER TABLE refusals ADD COLUMN IF NOT EXISTS limit_id text;
