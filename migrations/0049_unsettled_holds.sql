-- phase: expand
-- readable-from: 0.1.0
-- Whether the held amount of a hold that expires without a settlement is released or posted. May be run twice without harm.

ALTER TABLE orgs ADD COLUMN IF NOT EXISTS on_unsettled text NOT NULL DEFAULT 'release'
  CONSTRAINT orgs_on_unsettled_check CHECK (on_unsettled IN ('release', 'post_held'));
