-- phase: expand
-- readable-from: 0.1.0
-- Addresses that want no alerts of an organization any more, whatever subscription names them. May be run twice without harm.
CREATE TABLE IF NOT EXISTS unsubscribed_recipients (
  org_id text NOT NULL,
  address text NOT NULL,
  unsubscribed_at timestamptz(3) NOT NULL,
  CONSTRAINT unsubscribed_recipients_pkey PRIMARY KEY (org_id, address)
);
