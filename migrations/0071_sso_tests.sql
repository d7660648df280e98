-- phase: expand
-- readable-from: 0.1.0
-- Tests of single sign-on: an owner signs in with settings and sees what would happen. May be run twice without harm.
CREATE TABLE IF NOT EXISTS sso_tests (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  -- Of the token in its URL, which is also what the identity provider returns.
  digest text NOT NULL,
  kind text NOT NULL,
  -- `pending`, `started` in a browser, or `finished`.
  status text NOT NULL,
  -- The settings and, once started, the values that verify the answer; encrypted.
  sealed bytea NOT NULL,
  -- Of the cookie of the browser that started it.
  browser_digest text,
  -- What the identity provider said and what would follow; encrypted.
  result bytea,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT sso_tests_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS sso_tests_digest ON sso_tests (digest);
CREATE INDEX IF NOT EXISTS sso_tests_expiry ON sso_tests (expires_at);
