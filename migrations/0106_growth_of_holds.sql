-- phase: expand
-- readable-from: 0.1.0
-- What the holds of a counter are expected to be increased by soon, and how much of it new calls through the gateway leave free, in
-- seconds. Null: the setting of the org. May be run twice without harm.

ALTER TABLE counters ADD COLUMN IF NOT EXISTS growth int8 NOT NULL DEFAULT 0;
ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS reserve_for_running int4 NOT NULL DEFAULT 5;
ALTER TABLE keys ADD COLUMN IF NOT EXISTS reserve_for_running int4;
