-- phase: expand
-- readable-from: 0.1.0
-- Content safety: the detectors of each org, and which of them marked a run. Each statement may be run twice without harm.

-- A built-in detector has a row once someone has changed it; its id says which one it is.
CREATE TABLE IF NOT EXISTS safety_detectors (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('built_in', 'regex', 'words')),
  pattern text,
  words text[],
  threshold int4 NOT NULL CHECK (threshold > 0),
  action text NOT NULL CHECK (action IN ('block', 'flag')),
  enabled bool NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT safety_detectors_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT safety_detectors_name UNIQUE (org_id, name)
);

-- The names of the detectors that flagged the run, as they were then; null: none.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS flagged_by text[];
CREATE INDEX IF NOT EXISTS runs_flagged ON runs (org_id, charged_at, id) WHERE flagged_by IS NOT NULL;

-- The gates of an org besides its limits, for the edge to say that it did not ask them.
ALTER TABLE ledger_orgs ADD COLUMN IF NOT EXISTS other_gates text[] NOT NULL DEFAULT '{}';

-- Content is kept only where a retention policy says so, and there is none yet.
UPDATE runs SET content = NULL WHERE content IS NOT NULL;
