-- phase: expand
-- readable-from: 0.1.0
-- What the gateway has learned from the usage of settled calls: how many fell into which bucket, such as how many outputs of a key
-- had up to 64 tokens. No content of calls. May be run twice without harm.
CREATE TABLE IF NOT EXISTS gateway_learned_counts (
  org_id text NOT NULL REFERENCES orgs (id),
  -- What is counted: `ratio {family} {class of text}` or `output {key id} {model}`.
  name text NOT NULL,
  counts int4[] NOT NULL,
  -- Once more calls were counted, all counts are halved.
  samples_max int4 NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT gateway_learned_counts_pkey PRIMARY KEY (org_id, name)
);
