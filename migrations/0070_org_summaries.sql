-- phase: expand
-- readable-from: 0.1.0
-- Figures of each organization for the list of operators, refreshed by a job: a list of all organizations, sorted by spend, must not
-- sum up the usage of all of them. Everything in it can be computed again. May be run twice without harm.
CREATE TABLE IF NOT EXISTS org_summaries (
  org_id text PRIMARY KEY REFERENCES orgs (id),
  -- The calendar month of the sums, in the time zone of the organization.
  month_starts_at timestamptz(3) NOT NULL,
  month_ends_at timestamptz(3) NOT NULL,
  spend_nanos int8 NOT NULL,
  runs int8 NOT NULL,
  last_active_at timestamptz(3),
  -- What is left of the prepaid balance; null without one.
  balance_nanos int8,
  -- The limit of the whole organization that is used most, and how much of it.
  nearest_kind text,
  nearest_percent int8 NOT NULL,
  refreshed_at timestamptz(3) NOT NULL
);
