-- phase: expand
-- readable-from: 0.1.0
-- The rate of image input tokens that were read from a cache. Null: charged as other cached input.

ALTER TABLE model_prices ADD COLUMN IF NOT EXISTS cached_image_input_nanos_per_million int8;
ALTER TABLE org_prices ADD COLUMN IF NOT EXISTS cached_image_input_nanos_per_million int8;
ALTER TABLE unpriced_policies ADD COLUMN IF NOT EXISTS cached_image_input_nanos_per_million int8;
