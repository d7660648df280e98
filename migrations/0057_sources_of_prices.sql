-- phase: expand
-- readable-from: 0.1.0
-- Whether price updates may replace a version, and the price list that its rates come from. Release 0.1.0 sets neither:
-- a version without `follows_updates` follows updates if the catalogue inserted it, which `created_at` tells.
-- May be run twice without harm.

ALTER TABLE model_prices
  ADD COLUMN IF NOT EXISTS follows_updates bool,
  ADD COLUMN IF NOT EXISTS source text;
