-- phase: expand
-- readable-from: 0.1.0
-- Sign-in links that wait to be sent to members by e-mail. A row is deleted once it is sent or its link is no longer usable. May be run
-- twice without harm.
CREATE TABLE IF NOT EXISTS member_mails (
  org_id text NOT NULL,
  id text NOT NULL,
  member_id text NOT NULL,
  -- The link, which signs the member in; encrypted.
  sealed bytea NOT NULL,
  -- Of the link: a replaced or used link is not sent.
  link_digest text NOT NULL,
  attempt_count int4 NOT NULL DEFAULT 0,
  due_at timestamptz(3) NOT NULL,
  leased_until timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT member_mails_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS member_mails_due ON member_mails (due_at);
