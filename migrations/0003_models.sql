-- phase: expand
-- readable-from: 0.1.0
-- What models cost: for everyone, and for single orgs. Each statement may be run twice without harm.
-- Rates are nanodollars; null where a model has no such unit.
-- A version holds from its start until it ends or another one starts. One that ends at its start never holds: it was
-- replaced by another of the same start, or removed before it began. It stays, since runs may name it.

CREATE TABLE IF NOT EXISTS model_prices (
  model text NOT NULL,
  id text NOT NULL,
  provider text,
  input_nanos_per_million int8 NOT NULL,
  cached_input_nanos_per_million int8,
  cache_write_nanos_per_million int8,
  output_nanos_per_million int8,
  audio_input_nanos_per_million int8,
  audio_output_nanos_per_million int8,
  image_nanos_each int8,
  request_nanos_each int8,
  effective_from timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT model_prices_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX IF NOT EXISTS model_prices_start_unique ON model_prices (model, effective_from)
  WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS model_prices_model ON model_prices (model, effective_from);

-- Either rates of its own or a discount on the model's price.
CREATE TABLE IF NOT EXISTS org_prices (
  org_id text NOT NULL REFERENCES orgs (id),
  model text NOT NULL,
  id text NOT NULL,
  discount_basis_points int4 CHECK (discount_basis_points BETWEEN 0 AND 10000),
  input_nanos_per_million int8,
  cached_input_nanos_per_million int8,
  cache_write_nanos_per_million int8,
  output_nanos_per_million int8,
  audio_input_nanos_per_million int8,
  audio_output_nanos_per_million int8,
  image_nanos_each int8,
  request_nanos_each int8,
  effective_from timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT org_prices_pkey PRIMARY KEY (org_id, id),
  CONSTRAINT org_prices_rates_or_discount CHECK ((discount_basis_points IS NULL) = (input_nanos_per_million IS NOT NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS org_prices_start_unique ON org_prices (org_id, model, effective_from)
  WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS org_prices_model ON org_prices (org_id, model, effective_from);
