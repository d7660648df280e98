-- phase: expand
-- readable-from: 0.1.0
-- The alerts that are deleted after their time (`deleteOldAlerts`), which otherwise takes a scan of all. The condition is the same there.

CREATE INDEX IF NOT EXISTS limit_alerts_age ON limit_alerts (at)
  WHERE strpos(counter_key, ':') > 0 OR counter_key !~ '(@0|#[0-9]+)$';
