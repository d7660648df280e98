-- phase: expand
-- readable-from: 0.1.0
-- Rotation of the key that encrypts stored secrets, see `src/platform/secrets`. Each statement may be run twice without harm.

-- Keys that have encrypted something. A process starts only if it has all of them. `sealed` is a known text under the key.
CREATE TABLE IF NOT EXISTS secrets_keys (
  id text PRIMARY KEY,
  sealed bytea NOT NULL
);

-- The key of digests that cannot be computed again, such as those of runs: it stays the same in a rotation. Encrypted under the
-- current key. No row: it is the key that `secrets_key_check` was encrypted with.
CREATE TABLE IF NOT EXISTS secrets_digest_key (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  sealed bytea NOT NULL
);

-- Ids of the keys that a process has; the first one encrypts. Null: the process runs a version without rotation.
ALTER TABLE processes ADD COLUMN IF NOT EXISTS secrets_keys text[];
