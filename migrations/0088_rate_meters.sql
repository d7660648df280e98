-- phase: expand
-- readable-from: 0.1.0
-- The meters of request rates, where processes share them without Redis. A missing row is an untouched meter. `key` is a digest: it may
-- contain the id of a customer. Rows are deleted once their meter has recovered. Pages keep room for new versions of their rows, because
-- every allowed request writes one.

CREATE TABLE IF NOT EXISTS rate_meters (
  org_id text NOT NULL,
  key text NOT NULL,
  -- Null until the first request is allowed.
  state text,
  -- The time from which the meter equals an untouched one.
  untouched_at timestamptz(3) NOT NULL DEFAULT '1970-01-01T00:00:00Z',
  CONSTRAINT rate_meters_pkey PRIMARY KEY (org_id, key)
) WITH (fillfactor = 50);
