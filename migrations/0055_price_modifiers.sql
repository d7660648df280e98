-- phase: expand
-- readable-from: 0.1.0
-- Rates of a price for service tiers, regions, long inputs and one-hour cache writes, and prices of units. Release 0.1.0 ignores
-- them and charges the flat rates. Null: none. May be run twice without harm.

ALTER TABLE model_prices
  ADD COLUMN IF NOT EXISTS modifiers jsonb,
  ADD COLUMN IF NOT EXISTS units jsonb;
ALTER TABLE org_prices
  ADD COLUMN IF NOT EXISTS modifiers jsonb,
  ADD COLUMN IF NOT EXISTS units jsonb;
