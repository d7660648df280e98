-- phase: expand
-- readable-from: 0.1.0
-- The weekly digests that were emitted: once per organization and week, whichever process is first. May be run twice without harm.
CREATE TABLE IF NOT EXISTS weekly_digests (
  org_id text NOT NULL REFERENCES orgs (id),
  -- The Monday on which it is due, in the time zone of the organization.
  due_on date NOT NULL,
  event_id text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT weekly_digests_pkey PRIMARY KEY (org_id, due_on)
);
