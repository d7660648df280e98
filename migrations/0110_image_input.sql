-- phase: expand
-- readable-from: 0.1.0
-- The rate of image input tokens, which some models charge more for than for text. Null: charged as input.

ALTER TABLE model_prices ADD COLUMN IF NOT EXISTS image_input_nanos_per_million int8;
ALTER TABLE org_prices ADD COLUMN IF NOT EXISTS image_input_nanos_per_million int8;
ALTER TABLE unpriced_policies ADD COLUMN IF NOT EXISTS image_input_nanos_per_million int8;
