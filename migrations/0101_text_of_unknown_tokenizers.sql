-- phase: expand
-- readable-from: 0.1.0
-- Whether the text of models whose tokenizer the gateway does not have is held at an estimate or at its bytes.

ALTER TABLE gateway_settings ADD COLUMN IF NOT EXISTS unknown_tokenizer text NOT NULL DEFAULT 'estimate';
