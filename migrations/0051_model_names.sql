-- phase: expand
-- readable-from: 0.1.0
-- Other names by which callers may name a model that has a price. Null: never set. May be run twice without harm.

CREATE TABLE IF NOT EXISTS model_names (
  model text NOT NULL,
  aliases text[],
  patterns text[],
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT model_names_pkey PRIMARY KEY (model)
);
