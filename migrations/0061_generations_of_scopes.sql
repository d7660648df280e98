-- phase: expand
-- readable-from: 0.1.0
-- The generation of scopes that a key was created with: a key that has every scope of its generation has those of later ones too.
-- Rows of older builds have the default, which is the generation of 0.1.0. May be run twice without harm.

ALTER TABLE keys ADD COLUMN IF NOT EXISTS scopes_generation int4 NOT NULL DEFAULT 0;
