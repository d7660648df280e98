-- phase: expand
-- readable-from: 0.1.0
-- The audit log: refused attempts, parts that can be erased, signed checkpoints. Each statement may be run twice without harm.

-- How it went, and the error code where it was refused.
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS outcome text NOT NULL DEFAULT 'success'
  CHECK (outcome IN ('success', 'denied', 'failure'));
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS code text;
-- What else there is to say, such as the grant that a support session was under.
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS detail jsonb;
-- The hash covers `commitment`, and that covers the salt and what may be about a person: target, before, after, detail and
-- address. Without the salt nobody can tell what was committed to. Null: from before, the hash covers everything.
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS salt text;
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS commitment text;
-- The entry that lists what this one looks like since a person was erased from it.
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS redacted_by int8;

CREATE INDEX IF NOT EXISTS audit_log_at ON audit_log (tenant_id, at, seq);
CREATE INDEX IF NOT EXISTS audit_log_actor ON audit_log (tenant_id, actor_id, seq);
CREATE INDEX IF NOT EXISTS audit_log_action ON audit_log (tenant_id, action, seq);
CREATE INDEX IF NOT EXISTS audit_log_target ON audit_log (tenant_id, target_id, seq);
CREATE INDEX IF NOT EXISTS audit_log_trace ON audit_log (tenant_id, trace_id, seq) WHERE trace_id IS NOT NULL;

-- The time of the last entry: a chain's clock never runs backwards, so that its order is that of time too.
ALTER TABLE audit_chains ADD COLUMN IF NOT EXISTS at timestamptz(3) NOT NULL DEFAULT '1970-01-01T00:00:00Z';

-- What signs checkpoints. The private key is encrypted, see `src/platform/secrets/secrets.ts`.
CREATE TABLE IF NOT EXISTS audit_signing_keys (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL
);

-- The end of a chain at some time, signed.
CREATE TABLE IF NOT EXISTS audit_checkpoints (
  tenant_id text NOT NULL,
  seq int8 NOT NULL,
  id text NOT NULL,
  hash text NOT NULL,
  at timestamptz(3) NOT NULL,
  token text NOT NULL,
  CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (tenant_id, seq)
);

-- The last entry that retention has removed, signed: the chain goes on from there.
CREATE TABLE IF NOT EXISTS audit_anchors (
  tenant_id text PRIMARY KEY,
  seq int8 NOT NULL,
  hash text NOT NULL,
  token text NOT NULL
);
