-- phase: expand
-- readable-from: 0.1.0
-- Connections to model providers, and how the gateway treats the calls of an org. Both tables lead with the org's id. Each
-- statement may be run twice without harm.

CREATE TABLE IF NOT EXISTS connections (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  base_url text NOT NULL,
  -- Encrypted. Null if the key comes from the environment variable `api_key_env`.
  api_key bytea,
  -- The last characters of the key; null if it is too short to show any.
  api_key_last_four text,
  api_key_env text,
  api_key_set_at timestamptz(3) NOT NULL,
  -- Encrypted. The key before the last rotation, which may be used until then.
  previous_api_key bytea,
  previous_until timestamptz(3),
  -- Null: every model.
  models text[],
  priority int8 NOT NULL,
  weight int8 NOT NULL,
  timeouts jsonb NOT NULL,
  headers jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT connections_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT connections_name UNIQUE (org_id, name)
);

CREATE TABLE IF NOT EXISTS gateway_settings (
  org_id text NOT NULL REFERENCES orgs (id),
  default_max_output_tokens int8 NOT NULL,
  min_output_tokens int8 NOT NULL,
  -- Null: the context of the model.
  unseen_input_tokens int8,
  hold text NOT NULL,
  on_limit text NOT NULL,
  on_abort text NOT NULL,
  customer_from_body bool NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT gateway_settings_pkey PRIMARY KEY (org_id)
);
