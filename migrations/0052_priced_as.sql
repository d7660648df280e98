-- phase: expand
-- readable-from: 0.1.0
-- The model whose price a run was priced with. Null: no price was used, or the run was posted by release 0.1.0.
-- May be run twice without harm.

ALTER TABLE runs ADD COLUMN IF NOT EXISTS priced_as text;
