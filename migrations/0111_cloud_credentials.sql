-- phase: expand
-- readable-from: 0.1.0
-- Credentials of clouds, which a connection has instead of a key. An older version finds no key and does not use the connection.

ALTER TABLE connections ADD COLUMN IF NOT EXISTS region text;
-- What is shown of them; null: the connection has a key.
ALTER TABLE connections ADD COLUMN IF NOT EXISTS credentials jsonb;
-- Encrypted: all fields with their secrets.
ALTER TABLE connections ADD COLUMN IF NOT EXISTS encrypted_credentials bytea;
ALTER TABLE connections ADD COLUMN IF NOT EXISTS previous_credentials bytea;
