-- phase: expand
-- readable-from: 0.1.0
-- Policies and approvals. Every table leads with the org's id. Each statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS policies (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  -- Moves with every change; approvals belong to one version.
  version int8 NOT NULL,
  effect text NOT NULL CHECK (effect IN ('allow', 'block', 'require_approval')),
  -- Null: any.
  models text[],
  actions text[],
  expression text,
  priority int8 NOT NULL,
  reason text NOT NULL,
  enabled bool NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- The row stays, since approvals and versions name it.
  deleted_at timestamptz(3),
  CONSTRAINT policies_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS policies_priority ON policies (org_id, priority, id) WHERE deleted_at IS NULL;

-- Each rule as it was, for good.
CREATE TABLE IF NOT EXISTS policy_versions (
  org_id text NOT NULL,
  policy_id text NOT NULL,
  version int8 NOT NULL,
  changed_at timestamptz(3) NOT NULL,
  -- The key that made the change.
  changed_by text NOT NULL,
  -- The rule as its readers saw it.
  body jsonb NOT NULL,
  CONSTRAINT policy_versions_pkey PRIMARY KEY (org_id, policy_id, version)
);

CREATE TABLE IF NOT EXISTS approvals (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'used')),
  rule_id text NOT NULL,
  rule_version int8 NOT NULL,
  -- Why the rule asks.
  rule_reason text NOT NULL,
  key_id text NOT NULL,
  model text NOT NULL,
  -- Empty: none was named.
  action text NOT NULL,
  attempted text NOT NULL,
  requested_at timestamptz(3) NOT NULL,
  -- Until when someone may decide; once approved, until when it may be used.
  expires_at timestamptz(3) NOT NULL,
  decided_at timestamptz(3),
  decided_by text,
  decision_reason text,
  -- Null: as often as one likes, until it expires.
  uses int8,
  uses_left int8,
  uses_made int8 NOT NULL DEFAULT 0,
  ended_at timestamptz(3),
  -- Why it expired: its time was over, or its rule was changed.
  ended_because text,
  CONSTRAINT approvals_pkey PRIMARY KEY (org_id, id)
);
-- However many ask at once, they share one.
CREATE UNIQUE INDEX IF NOT EXISTS approvals_live ON approvals (org_id, rule_id, key_id, model, action)
  WHERE state IN ('pending', 'approved');
CREATE INDEX IF NOT EXISTS approvals_requested ON approvals (org_id, requested_at, id);
CREATE INDEX IF NOT EXISTS approvals_expiry ON approvals (expires_at) WHERE state IN ('pending', 'approved');

-- Which runs an approval has let pass.
CREATE TABLE IF NOT EXISTS approval_uses (
  org_id text NOT NULL,
  approval_id text NOT NULL,
  run_id text NOT NULL,
  used_at timestamptz(3) NOT NULL,
  CONSTRAINT approval_uses_pkey PRIMARY KEY (org_id, approval_id, run_id)
);
