-- phase: expand
-- readable-from: 0.1.0
-- Organizations, keys, idempotency, audit and outbox. Every table that grows leads with the org's id.
-- Each statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS orgs (
  id text PRIMARY KEY,
  name text NOT NULL,
  slug text NOT NULL,
  timezone text NOT NULL,
  home_region text,
  status text NOT NULL CHECK (status IN ('active', 'suspended')),
  suspension_reason text,
  ip_allow_list text[] NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS orgs_slug_unique ON orgs (slug);
CREATE INDEX IF NOT EXISTS orgs_created ON orgs (created_at, id);
CREATE INDEX IF NOT EXISTS orgs_name ON orgs (name, id);

-- A key without an org is an operator's.
CREATE TABLE IF NOT EXISTS keys (
  org_id text REFERENCES orgs (id),
  id text NOT NULL,
  digest text NOT NULL,
  hint text NOT NULL,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'owner', 'operator')),
  scopes text[] NOT NULL,
  not_before timestamptz(3),
  expires_at timestamptz(3),
  -- Set: gone, whatever any process's clock says.
  revoked_at timestamptz(3),
  -- The end of the overlap with a successor.
  ends_at timestamptz(3),
  rotated_from text,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT keys_pkey PRIMARY KEY (id),
  CONSTRAINT keys_operator_without_org CHECK ((role = 'operator') = (org_id IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS keys_digest_unique ON keys (digest);
CREATE INDEX IF NOT EXISTS keys_org_created ON keys (org_id, created_at, id);
CREATE INDEX IF NOT EXISTS keys_org_name ON keys (org_id, name, id);

-- tenant_id is the org's id, or 'platform' for operators.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  tenant_id text NOT NULL,
  key_digest text NOT NULL,
  fingerprint text NOT NULL,
  owner text NOT NULL,
  reserved_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  status int4,
  body bytea,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, key_digest)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_expiry ON idempotency_keys (expires_at);

CREATE TABLE IF NOT EXISTS audit_chains (
  tenant_id text PRIMARY KEY,
  seq int8 NOT NULL,
  hash text NOT NULL
);

CREATE TABLE IF NOT EXISTS audit_log (
  tenant_id text NOT NULL,
  seq int8 NOT NULL,
  id text NOT NULL,
  at timestamptz(3) NOT NULL,
  actor_kind text NOT NULL,
  actor_id text NOT NULL,
  action text NOT NULL,
  target_kind text NOT NULL,
  target_id text NOT NULL,
  before jsonb,
  after jsonb,
  address text,
  trace_id text,
  previous_hash text NOT NULL,
  hash text NOT NULL,
  CONSTRAINT audit_log_pkey PRIMARY KEY (tenant_id, seq)
);

CREATE TABLE IF NOT EXISTS outbox (
  tenant_id text NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  data jsonb NOT NULL,
  CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, id)
);
