-- phase: expand
-- readable-from: 0.1.0
-- The model that served a run, if it was reported. Null: not reported, or the same as that of the decision. May be run twice without harm.

ALTER TABLE runs ADD COLUMN IF NOT EXISTS served_model text;
