-- phase: expand
-- readable-from: 0.1.0
-- Which Purser processes are alive on this database: each says so every other second.
-- Each statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS processes (
  id text PRIMARY KEY,
  -- By the database's clock, so that the processes' own need not agree.
  seen_at timestamptz(3) NOT NULL
);
