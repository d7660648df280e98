-- phase: expand
-- readable-from: 0.1.0
-- Names that the catalogue of a release gives a model. They apply while the operator has set none.
-- May be run twice without harm.

ALTER TABLE model_names
  ADD COLUMN IF NOT EXISTS catalog_aliases text[],
  ADD COLUMN IF NOT EXISTS catalog_patterns text[],
  ADD COLUMN IF NOT EXISTS catalog_date text NOT NULL DEFAULT '';
