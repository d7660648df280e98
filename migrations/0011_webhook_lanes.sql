-- phase: expand
-- readable-from: 0.1.0
-- What is remembered of a subscription's receiver. Each statement may be run twice without harm.

-- When the receiver was last slow or silent; null: it is not. Slow lanes are taken apart from the others, the one that has
-- waited longest first.
ALTER TABLE webhook_lanes ADD COLUMN IF NOT EXISTS slow_at timestamptz(3);
CREATE INDEX IF NOT EXISTS webhook_lanes_due_quick ON webhook_lanes (next_due_at)
  WHERE next_due_at IS NOT NULL AND slow_at IS NULL;

-- When an attempt last failed, to the hour: after a long silence failing begins anew.
ALTER TABLE webhook_lanes ADD COLUMN IF NOT EXISTS last_failed_at timestamptz(3);
