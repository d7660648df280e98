-- phase: expand
-- readable-from: 0.1.0
-- How much the calls of a key through the gateway hold. Null: the setting of the org.

ALTER TABLE keys ADD COLUMN IF NOT EXISTS hold text;
