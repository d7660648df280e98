-- phase: expand
-- readable-from: 0.1.0
-- Subscriptions that people read: webhooks in the formats of Slack and Teams, and e-mail. Each statement may be run twice without
-- harm.

-- `json`, `slack`, `teams` or `email`. A subscription by e-mail has recipients, and a URL that no request is sent to.
ALTER TABLE webhook_subscriptions ADD COLUMN IF NOT EXISTS format text NOT NULL DEFAULT 'json';
ALTER TABLE webhook_subscriptions ADD COLUMN IF NOT EXISTS recipients text[];

-- The recipient of an e-mail: each gets a delivery of its own. Null: all of the subscription.
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS recipient text;

-- `http` or `mail`: a slow mail server must not delay webhooks.
ALTER TABLE webhook_lanes ADD COLUMN IF NOT EXISTS channel text NOT NULL DEFAULT 'http';

-- The alerts that a subscription has received. An alert is sent once per subscription, such as once per limit and window.
CREATE TABLE IF NOT EXISTS alert_messages (
  org_id text NOT NULL,
  subscription_id text NOT NULL,
  -- Digests: an alert may name a customer. `subject` tells the counters of one limit apart.
  alert text NOT NULL,
  subject text NOT NULL,
  event_id text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT alert_messages_pkey PRIMARY KEY (org_id, subscription_id, alert, subject)
);
CREATE INDEX IF NOT EXISTS alert_messages_created ON alert_messages (created_at);
