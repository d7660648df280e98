-- phase: expand
-- readable-from: 0.1.0
-- Whom to ask about a rule, such as an e-mail address or a channel. May be run twice without harm.
ALTER TABLE policies ADD COLUMN IF NOT EXISTS owner text;
