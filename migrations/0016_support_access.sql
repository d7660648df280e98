-- phase: expand
-- readable-from: 0.1.0
-- Support access: grants, sessions under them, and a log of everything that was done with them. Each statement may be run
-- twice without harm.

-- An org without a row allows support access, without approval of its own.
CREATE TABLE IF NOT EXISTS support_settings (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  allowed bool NOT NULL,
  approval_required bool NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

-- What is granted never changes; only what became of it is added.
CREATE TABLE IF NOT EXISTS support_grants (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  scope text[] NOT NULL,
  reason text NOT NULL,
  -- The operator's key.
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  needs_approval bool NOT NULL,
  approved bool,
  decided_at timestamptz(3),
  decided_by text,
  revoked_at timestamptz(3),
  revoked_by text,
  CONSTRAINT support_grants_pkey PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS support_grants_id ON support_grants (id);
CREATE INDEX IF NOT EXISTS support_grants_org_created ON support_grants (org_id, created_at, id);
CREATE INDEX IF NOT EXISTS support_grants_created ON support_grants (created_at, id);

CREATE TABLE IF NOT EXISTS support_sessions (
  org_id text NOT NULL,
  id text NOT NULL,
  grant_id text NOT NULL,
  digest text NOT NULL,
  -- The key of the operator who opened it.
  operator_key_id text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT support_sessions_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT support_sessions_grant FOREIGN KEY (org_id, grant_id) REFERENCES support_grants (org_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS support_sessions_digest_unique ON support_sessions (digest);
CREATE INDEX IF NOT EXISTS support_sessions_of_grant ON support_sessions (org_id, grant_id);

CREATE TABLE IF NOT EXISTS support_access_log (
  org_id text NOT NULL,
  id text NOT NULL,
  at timestamptz(3) NOT NULL,
  kind text NOT NULL,
  grant_id text NOT NULL,
  session_id text,
  -- The key that did it: an operator's, or for decisions of the org one of its own.
  actor_id text NOT NULL,
  method text,
  path text,
  operation text,
  outcome text CHECK (outcome IN ('allowed', 'denied')),
  code text,
  address text,
  trace_id text,
  CONSTRAINT support_access_log_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS support_access_log_at ON support_access_log (org_id, at, id);
CREATE INDEX IF NOT EXISTS support_access_log_grant ON support_access_log (org_id, grant_id, at, id);
