-- phase: expand
-- readable-from: 0.1.0
-- Sends calls through the gateway that are not streamed as they are, or as streams that are put together for the client.

ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS plain_calls text NOT NULL DEFAULT 'as_sent';
