-- phase: expand
-- readable-from: 0.1.0
-- Nonces of the requests that other regions forwarded here, so that each signed request is accepted once, by whichever
-- process of this region. A row is deleted when its request would be rejected as too old.
CREATE TABLE IF NOT EXISTS region_nonces (
  nonce text PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX IF NOT EXISTS region_nonces_expiry ON region_nonces (expires_at);
