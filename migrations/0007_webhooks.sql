-- phase: expand
-- readable-from: 0.1.0
-- Webhook subscriptions, their deliveries, and the way from the outbox to them. Each statement may be run twice without harm.
-- Secrets are encrypted, see `src/platform/secrets/secrets.ts`.

-- Something known, encrypted with the key that encrypts all secrets: shows at the start whether the key is still the same.
CREATE TABLE IF NOT EXISTS secrets_key_check (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  sealed bytea NOT NULL
);

-- The secret that signs for subscriptions without one of their own. An org without a row gets one when it is first needed.
CREATE TABLE IF NOT EXISTS webhook_org_secrets (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  secret bytea NOT NULL,
  created_at timestamptz(3) NOT NULL
);

CREATE TABLE IF NOT EXISTS webhook_subscriptions (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  description text,
  status text NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
  disabled_reason text,
  disabled_at timestamptz(3),
  -- Its own secret; null while the org's signs.
  secret bytea,
  secret_created_at timestamptz(3),
  -- The secret before, which signs too until then.
  previous_secret bytea,
  previous_until timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- The row stays as long as its deliveries do.
  deleted_at timestamptz(3),
  CONSTRAINT webhook_subscriptions_pkey PRIMARY KEY (org_id, id)
);
CREATE INDEX IF NOT EXISTS webhook_subscriptions_created ON webhook_subscriptions (org_id, created_at, id)
  WHERE deleted_at IS NULL;

-- The deliveries of one subscription are one lane. One process at a time works on a lane, under a lease that it renews.
-- Whoever adds work, or finds none left, does so holding the row's lock, so that no work is forgotten.
CREATE TABLE IF NOT EXISTS webhook_lanes (
  org_id text NOT NULL,
  subscription_id text NOT NULL,
  -- When there is something to do; null: nothing.
  next_due_at timestamptz(3),
  owner text,
  leased_until timestamptz(3),
  -- Since when nothing has arrived; null: the last attempt did.
  failing_since timestamptz(3),
  CONSTRAINT webhook_lanes_pkey PRIMARY KEY (org_id, subscription_id)
);
CREATE INDEX IF NOT EXISTS webhook_lanes_due ON webhook_lanes (next_due_at) WHERE next_due_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS webhook_deliveries (
  org_id text NOT NULL,
  subscription_id text NOT NULL,
  id text NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  -- Why it failed without an attempt, or for good.
  failure text,
  due_at timestamptz(3) NOT NULL,
  -- Since it was last put in line: selects the next delay.
  attempt_count int4 NOT NULL DEFAULT 0,
  -- The latest attempts, oldest first.
  attempts jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (org_id, subscription_id, id)
);
CREATE INDEX IF NOT EXISTS webhook_deliveries_waiting ON webhook_deliveries (org_id, subscription_id, due_at, id)
  WHERE state = 'waiting';

-- Null: not given to its subscriptions yet.
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS fanned_out_at timestamptz(3);
CREATE INDEX IF NOT EXISTS outbox_fanned_out ON outbox (fanned_out_at);

-- The last notice, in days before the end, that told of a key's expiry.
ALTER TABLE keys ADD COLUMN IF NOT EXISTS expiry_notice_days int4;
CREATE INDEX IF NOT EXISTS keys_expiry ON keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
