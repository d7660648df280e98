-- phase: expand
-- readable-from: 0.1.0
-- People: who belongs to an org, and who is signed in. Each statement may be run twice without harm.

-- A person of an org. Invited until the first sign-in; removed for good, the row stays for what was done under its id.
CREATE TABLE IF NOT EXISTS members (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  name text NOT NULL,
  -- Lowercase. Null where an identity provider tells none.
  email text,
  role text NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  -- Who the person is at the org's identity provider; null until the first sign-in there.
  issuer text,
  subject text,
  -- The one link that signs this person in, as a digest; it can be used once.
  link_digest text,
  link_expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  joined_at timestamptz(3),
  last_sign_in_at timestamptz(3),
  removed_at timestamptz(3),
  CONSTRAINT members_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT members_identity_whole CHECK ((issuer IS NULL) = (subject IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS members_email_unique ON members (org_id, email) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS members_identity_unique
  ON members (org_id, issuer, subject) WHERE removed_at IS NULL;
CREATE INDEX IF NOT EXISTS members_identity ON members (org_id, issuer, subject);
CREATE UNIQUE INDEX IF NOT EXISTS members_link_unique ON members (link_digest);
CREATE INDEX IF NOT EXISTS members_created ON members (org_id, created_at, id);

-- Browsers that are signed in. tenant_id is the org's id, or 'platform' for operators.
CREATE TABLE IF NOT EXISTS sessions (
  tenant_id text NOT NULL,
  id text NOT NULL,
  digest text NOT NULL,
  method text NOT NULL CHECK (method IN ('key', 'link', 'invitation', 'oidc', 'saml')),
  -- Whose session it is. Role and scopes are those of the key or member at each request.
  key_id text,
  member_id text,
  -- Set for an operator who came into an org by a link: the role that the link was made for.
  role text CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  address text NOT NULL,
  user_agent text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  last_seen_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, id),
  CONSTRAINT sessions_of_one CHECK ((key_id IS NULL) <> (member_id IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS sessions_digest_unique ON sessions (digest);
CREATE INDEX IF NOT EXISTS sessions_created ON sessions (tenant_id, created_at, id);
CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);

-- Links that sign an operator in, once. tenant_id names where to.
CREATE TABLE IF NOT EXISTS console_links (
  digest text PRIMARY KEY,
  tenant_id text NOT NULL,
  key_id text NOT NULL,
  role text CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX IF NOT EXISTS console_links_expiry ON console_links (expires_at);
