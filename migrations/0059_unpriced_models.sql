-- phase: expand
-- readable-from: 0.1.0
-- What happens to calls of models without a price, per org, and which models are used without one. May be run twice without harm.

-- The highest version of an org is in force. Earlier ones stay: holds and runs reference their ids.
CREATE TABLE IF NOT EXISTS unpriced_policies (
  org_id text NOT NULL REFERENCES orgs (id),
  version int4 NOT NULL,
  id text NOT NULL,
  on_unpriced text NOT NULL CHECK (on_unpriced IN ('refuse', 'hold_default', 'record')),
  input_nanos_per_million int8,
  cached_input_nanos_per_million int8,
  cache_write_nanos_per_million int8,
  output_nanos_per_million int8,
  audio_input_nanos_per_million int8,
  audio_output_nanos_per_million int8,
  image_nanos_each int8,
  request_nanos_each int8,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT unpriced_policies_pkey PRIMARY KEY (org_id, version),
  CONSTRAINT unpriced_policies_id UNIQUE (org_id, id),
  CONSTRAINT unpriced_policies_rates CHECK
    ((on_unpriced = 'hold_default') = (input_nanos_per_million IS NOT NULL AND output_nanos_per_million IS NOT NULL))
);

-- One row per model that an org has used without a price.
CREATE TABLE IF NOT EXISTS unpriced_models (
  org_id text NOT NULL,
  model text NOT NULL,
  runs int8 NOT NULL,
  repriced_runs int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  first_used_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3) NOT NULL,
  CONSTRAINT unpriced_models_pkey PRIMARY KEY (org_id, model)
);
-- For operators, who list the models of all orgs.
CREATE INDEX IF NOT EXISTS unpriced_models_model ON unpriced_models (model);
