-- phase: expand
-- readable-from: 0.1.0
-- Signing in with an org's own identity provider. Each statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS sso_connections (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  kind text NOT NULL CHECK (kind IN ('oidc', 'saml')),
  -- The OIDC issuer, or the entity id of the SAML identity provider.
  issuer text NOT NULL,
  client_id text,
  client_secret bytea,
  scope text,
  idp_sso_url text,
  idp_certificate text,
  groups_attribute text NOT NULL,
  -- A list of {group, role}.
  role_mapping jsonb NOT NULL,
  default_role text CHECK (default_role IN ('viewer', 'member', 'admin', 'owner')),
  allowed_email_domains text[] NOT NULL,
  just_in_time bool NOT NULL,
  required bool NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

-- Sign-ins under way. The digest is that of what comes back: OIDC's state, SAML's request id, then a ticket.
CREATE TABLE IF NOT EXISTS sso_attempts (
  digest text PRIMARY KEY,
  org_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('oidc', 'saml', 'ticket')),
  issuer text NOT NULL,
  -- Nonce and code verifier, encrypted; null for SAML.
  sealed bytea,
  -- Of the cookie of the browser that began.
  browser_digest text NOT NULL,
  return_to text NOT NULL,
  -- Set for a ticket: who the assertion was about.
  member_id text,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX IF NOT EXISTS sso_attempts_expiry ON sso_attempts (expires_at);

-- Assertions that were used, until they would be refused for their age.
CREATE TABLE IF NOT EXISTS saml_assertions (
  org_id text NOT NULL,
  digest text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT saml_assertions_pkey PRIMARY KEY (org_id, digest)
);
CREATE INDEX IF NOT EXISTS saml_assertions_expiry ON saml_assertions (expires_at);
