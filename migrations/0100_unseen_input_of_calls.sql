-- phase: expand
-- readable-from: 0.1.0
-- Whether calls with input that cannot be seen are held or refused.

ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS unseen_input text NOT NULL DEFAULT 'hold';
