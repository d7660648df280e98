-- phase: expand
-- readable-from: 0.1.0
-- Two versions side by side: the version of each process, and the progress of backfills. Each statement may be run twice
-- without harm.

-- Null: a build before 0.1.0.
ALTER TABLE processes ADD COLUMN IF NOT EXISTS build text;

-- A row per backfill that has begun and is not finished.
CREATE TABLE IF NOT EXISTS schema_backfills (
  version int4 PRIMARY KEY,
  -- Passed to the next batch.
  cursor text NOT NULL,
  batches int8 NOT NULL DEFAULT 1,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
