-- phase: expand
-- readable-from: 0.1.0
-- What models can do, how they were judged, and how an org chooses among them. Each statement may be run twice without harm.

-- What holds for everyone, beside a model's price. Null: not known.
CREATE TABLE IF NOT EXISTS model_facts (
  model text NOT NULL,
  context_tokens int8,
  max_output_tokens int8,
  regions text[],
  capabilities text[],
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT model_facts_pkey PRIMARY KEY (model)
);

CREATE TABLE IF NOT EXISTS evals (
  org_id text NOT NULL REFERENCES orgs (id),
  id text NOT NULL,
  suite text NOT NULL,
  model text NOT NULL,
  -- A score of 1 is a million: whole numbers compare the same everywhere.
  score_millionths int8 NOT NULL CHECK (score_millionths BETWEEN 0 AND 1000000),
  samples int8 NOT NULL CHECK (samples > 0),
  ran_at timestamptz(3) NOT NULL,
  source text,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT evals_pkey PRIMARY KEY (org_id, id)
);
-- The newest result of a suite and model is the first one.
CREATE INDEX IF NOT EXISTS evals_newest ON evals (org_id, suite, model, ran_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS evals_ran ON evals (org_id, ran_at, id);

CREATE TABLE IF NOT EXISTS routing_policies (
  org_id text NOT NULL REFERENCES orgs (id),
  candidates text[] NOT NULL,
  fallbacks text[] NOT NULL,
  suite text NOT NULL,
  min_score_millionths int8 NOT NULL,
  min_samples int8 NOT NULL,
  max_age_days int8 NOT NULL,
  objective text NOT NULL CHECK (objective IN ('cost', 'latency', 'quality')),
  -- How much cost, latency and quality count against each other, in this order. Null: the objective alone.
  weights int8[],
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT routing_policies_pkey PRIMARY KEY (org_id)
);
