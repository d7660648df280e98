-- phase: expand
-- readable-from: 0.1.0
-- A message stays for an hour after it was sent, without its link, so that the messages to an address can be bounded. May be run twice
-- without harm.
ALTER TABLE member_mails ADD COLUMN IF NOT EXISTS sent_at timestamptz(3);
