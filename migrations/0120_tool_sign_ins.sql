-- phase: expand
-- readable-from: 0.1.0
-- Sign-ins of coding tools for members, their tokens, and the codes of devices that wait for approval.

CREATE TABLE IF NOT EXISTS tool_sign_ins (
  org_id     text NOT NULL,
  id         text PRIMARY KEY,
  member_id  text NOT NULL,
  session_id text NOT NULL,
  method     text NOT NULL,
  client_id  text NOT NULL,
  address    text NOT NULL,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL,
  renewed_at timestamptz,
  expires_at timestamptz NOT NULL,
  ended_at   timestamptz,
  end_reason text
);
CREATE INDEX IF NOT EXISTS tool_sign_ins_member ON tool_sign_ins (org_id, member_id, created_at);
CREATE INDEX IF NOT EXISTS tool_sign_ins_session ON tool_sign_ins (org_id, session_id);
CREATE INDEX IF NOT EXISTS tool_sign_ins_created ON tool_sign_ins (org_id, created_at, id);
CREATE INDEX IF NOT EXISTS tool_sign_ins_expires ON tool_sign_ins (expires_at);

CREATE TABLE IF NOT EXISTS tool_tokens (
  digest     text PRIMARY KEY,
  org_id     text NOT NULL,
  sign_in_id text NOT NULL,
  kind       text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX IF NOT EXISTS tool_tokens_sign_in ON tool_tokens (org_id, sign_in_id);
CREATE INDEX IF NOT EXISTS tool_tokens_expires ON tool_tokens (expires_at);

CREATE TABLE IF NOT EXISTS device_codes (
  digest           text PRIMARY KEY,
  org_id           text NOT NULL,
  id               text NOT NULL,
  user_code_digest text NOT NULL,
  client_id        text NOT NULL,
  address          text NOT NULL,
  user_agent       text NOT NULL,
  interval_seconds int NOT NULL,
  created_at       timestamptz NOT NULL,
  expires_at       timestamptz NOT NULL,
  polled_at        timestamptz,
  decided_at       timestamptz,
  sign_in_id       text,
  redeemed_at      timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS device_codes_user_code ON device_codes (org_id, user_code_digest);
CREATE INDEX IF NOT EXISTS device_codes_expires ON device_codes (expires_at);
