-- phase: expand
-- readable-from: 0.1.0
-- The member or key that created a key: the key must not decide on approvals that this member requests. Unknown for keys that were
-- created before. May be run twice without harm.
ALTER TABLE keys ADD COLUMN IF NOT EXISTS created_by text;
