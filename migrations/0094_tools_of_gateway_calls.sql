-- phase: expand
-- readable-from: 0.1.0
-- Tools that a provider runs: how many calls of them are held for a request without a maximum, and what a call of one without a price may
-- cost. Null: a request that offers such a tool is refused.

ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS max_tool_calls int8 NOT NULL DEFAULT 10;
ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS unpriced_tool_call_nanos int8;
