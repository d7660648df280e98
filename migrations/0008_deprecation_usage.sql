-- phase: expand
-- readable-from: 0.1.0
-- Who still calls routes on a deprecation path. Each statement may be run twice without harm.

-- tenant_id is the org's id, or 'platform' for operators.
CREATE TABLE IF NOT EXISTS deprecated_route_calls (
  tenant_id text NOT NULL,
  key_id text NOT NULL,
  -- The template, never a concrete path.
  route text NOT NULL,
  calls int8 NOT NULL,
  first_called_at timestamptz(3) NOT NULL,
  last_called_at timestamptz(3) NOT NULL,
  CONSTRAINT deprecated_route_calls_pkey PRIMARY KEY (tenant_id, key_id, route)
);
