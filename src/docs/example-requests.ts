/**
 * Example values for the samples in the API reference, by operation. A text that starts with `$` is the name of an environment
 * variable. Operations without a query and a body are not listed. test/e2e/samples.test.ts runs every sample.
 */

export interface ExampleRequest {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

const approvalRule = {
  effect: 'require_approval',
  models: ['o1-*'],
  priority: 10,
  reason: 'Expensive model.',
};
const run = {
  model: 'gpt-4o',
  input_tokens: 1200,
  output_tokens: 310,
  workflow: 'support',
  customer_id: 'acme',
};
const exported = { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' };
const price = { provider: 'openai', input_usd_per_million: '2.5', output_usd_per_million: '10' };

const configuration = {
  budgets: [
    { name: 'Support', scope_kind: 'department', scope_id: 'support', period: 'month', limit_usd: '500' },
  ],
  spend_cap: { cap_usd: '200' },
};

export const exampleRequests: Readonly<Record<string, ExampleRequest>> = {
  'orgs.create': { body: { name: 'Acme', timezone: 'Europe/Berlin' } },
  'orgs.change': { body: { name: 'Acme Corporation' } },
  'orgs.suspend': { body: { reason: 'Invoice overdue.' } },
  'orgs.keys.mint': { body: { name: 'gateway', role: 'member', scopes: ['edge:decide', 'runs:write'] } },
  'orgs.prepaid.put': { body: { enabled: true } },
  'orgs.prepaid.top_up': { body: { amount_usd: '100', reference: 'invoice 17' } },
  'orgs.plan.put': { body: { plan_id: '$PLAN_ID' } },
  'orgs.rate_limits.put': {
    body: {
      read_rpm: 600,
      policies: [
        { name: 'Per minute', match: {}, unit: 'requests', limit: 300, window_seconds: 60, kind: 'rate' },
      ],
    },
  },
  'org.change': { body: { timezone: 'America/New_York' } },
  'org.ip_allow_list.put': { body: { cidrs: ['0.0.0.0/0'] } },
  'residency.put': { body: { home_region: 'eu', mode: 'strict' } },
  'support.grants.create': {
    body: { org_id: '$ORG_ID', scope: ['runs:read'], reason: 'Ticket 4711.', expires_at: '$EXPIRES_AT' },
  },
  'support_access.settings.put': { body: { allowed: true, approval_required: true } },
  'keys.mint': { body: { name: 'gateway', role: 'member', scopes: ['edge:decide', 'runs:write'] } },
  'keys.change': { body: { name: 'gateway, production', attribution: { team: 'support' } } },
  'keys.rotate': { body: { overlap_seconds: 3600 } },
  'key_rules.put': { body: { lifetime_days_max: 90, unused_days_max: 30 } },
  'operator_keys.mint': { body: { name: 'automation' } },
  'operator_keys.rotate': { body: { overlap_seconds: 3600 } },
  'members.invite': { body: { email: 'amy@example.com', name: 'Amy', role: 'member' } },
  'members.change': { body: { role: 'admin' } },
  'sso.put': {
    body: {
      kind: 'oidc',
      issuer: 'https://login.example.com',
      client_id: 'purser',
      allowed_email_domains: ['example.com'],
    },
  },
  'sso.tests.create': {
    body: { settings: { kind: 'oidc', issuer: 'https://login.example.com', client_id: 'purser' } },
  },
  'console_links.make': { body: { org_id: '$ORG_ID', role: 'viewer' } },
  'budgets.create': {
    body: {
      name: 'Support',
      scope_kind: 'workflow',
      scope_id: 'support',
      period: 'month',
      limit_usd: '500',
      owner: 'finance@example.com',
    },
  },
  'budgets.change': { body: { limit_usd: '750', alert_thresholds: [80, 100] } },
  'budgets.raises.create': {
    body: { amount_usd: '50', until: '$EXPIRES_AT', reason: 'The launch needs more.' },
  },
  'raise_requests.create': {
    body: {
      limit_id: '$BUDGET_ID',
      amount_usd: '20',
      until: '$EXPIRES_AT',
      reason: 'The migration is half done.',
    },
  },
  'raise_requests.approve': { body: { amount_usd: '10', reason: 'Half of it for now.' } },
  'raise_requests.deny': { body: { reason: 'Use the smaller model.' } },
  'spend_cap.put': { body: { cap_usd: '50' } },
  'spend_cap.raises.create': {
    body: { amount_usd: '20', until: '$EXPIRES_AT', reason: 'A backfill runs tonight.' },
  },
  'chain_budget.put': { body: { max_cost_usd: '5', max_depth: 10 } },
  'customer_limits.create': { body: { customer_id: 'initech', period: 'month', limit_usd: '20' } },
  'customer_limits.raises.create': {
    body: { amount_usd: '10', until: '$EXPIRES_AT', reason: 'Agreed with the customer.' },
  },
  'customer_limits.change': { body: { limit_usd: '30' } },
  'credit_packs.create': { body: { customer_id: 'acme', amount_usd: '25', name: 'Welcome' } },
  'credit_packs.change': { body: { name: 'Welcome credits' } },
  'plans.create': {
    body: { name: '$PLAN_NAME', monthly_runs: 100000, monthly_tokens: 50000000, overage_policy: 'block' },
  },
  'models.prices.put': { body: { ...price, aliases: [] } },
  'models.org_prices.put': { body: { discount_percent: '10' } },
  'models.resolve': { query: { model: 'gpt-4o' } },
  'price_updates.create': {
    body: {
      dry_run: true,
      catalog: {
        schema: 1,
        date: '2026-11-15',
        sources: { list: { name: 'Price list', url: 'https://prices.example.com' } },
        models: [
          {
            model: 'gpt-4o',
            provider: 'openai',
            source: 'list',
            as_of: '2026-11-15',
            rates: { input_usd_per_million: '2.5' },
          },
        ],
      },
    },
  },
  'price_changes.approve': { body: { reason: 'Checked against the list.' } },
  'price_changes.reject': { body: { reason: 'A typing error.' } },
  'unpriced_policy.put': { body: { on_unpriced: 'refuse' } },
  'runs.create': { body: run },
  'runs.create_bulk': { body: { runs: [run, { ...run, customer_id: 'initech' }] } },
  'runs.complete': { body: { input_tokens: 1200, output_tokens: 310 } },
  'runs.adjust': { body: { amount_usd: '-0.001', reason: 'Refund of the provider.' } },
  'policies.create': { body: approvalRule },
  'policies.change': { body: { enabled: false } },
  'policies.evaluate': { body: { model: 'o1-pro', workflow: 'support' } },
  'policies.simulate': { body: { rules: [approvalRule] } },
  'approvals.approve': { body: { uses: 3, reason: 'For the migration.' } },
  'approvals.deny': { body: { reason: 'Use a smaller model.' } },
  'safety_detectors.create': {
    body: { name: 'Project names', kind: 'words', words: ['bluebird'], action: 'block' },
  },
  'safety_detectors.change': { body: { action: 'flag' } },
  'safety_detectors.test': { body: { content: 'Write to amy@example.com.' } },
  'evals.create': { body: { suite: 'support-answers', model: 'gpt-4o', score: 0.92, samples: 200 } },
  'routing_policy.put': {
    body: {
      candidates: ['gpt-4o'],
      suite: 'support-answers',
      min_score: 0.9,
      max_age_days: 30,
      objective: 'cost',
    },
  },
  'routing.decide': { body: { input_tokens: 1200, max_output_tokens: 500, workflow: 'support' } },
  'statements.create': {
    body: {
      pages: [
        {
          object: 'page',
          has_more: false,
          data: [
            {
              object: 'bucket',
              start_time: 1762732800,
              end_time: 1762819200,
              results: [
                {
                  object: 'organization.costs.result',
                  amount: { value: 1, currency: 'usd' },
                  line_item: 'gpt-4o, input',
                  project_id: null,
                },
              ],
            },
          ],
        },
      ],
    },
  },
  'benchmark_participation.put': { body: { enabled: true, industry: 'software', size_band: '11-50' } },
  'benchmarks.create_cohort': { body: { name: 'Software', criteria: { industry: 'software' } } },
  'connections.create': {
    body: { name: 'openai', kind: 'openai', api_key: '$PROVIDER_KEY', models: ['gpt-4o'] },
  },
  'connections.change': { body: { priority: 2 } },
  'connections.rotate': { body: { api_key: '$PROVIDER_KEY', overlap_seconds: 3600 } },
  'gateway.put': { body: { default_max_output_tokens: 4096 } },
  'webhooks.create': {
    body: {
      url: 'https://receiver.example.com/purser',
      events: ['limit.threshold_reached', 'limit.exhausted'],
      create_secret: true,
    },
  },
  'webhooks.change': { body: { description: 'Alerts of the platform team' } },
  'webhooks.signing.rotate': { body: {} },
  'webhooks.redeliver': { body: { from: '2026-11-01T00:00:00Z' } },
  'email_subscriptions.create': {
    body: { recipients: ['finance@example.com'], events: ['limit.*', 'key.expiring'], digest: 'weekly' },
  },
  'email_subscriptions.change': { body: { description: 'Finance' } },
  'retention_policy.put': { body: { runs_days: 400, content_days: 30 } },
  'platform_retention.put': { body: { audit_days: 730 } },
  'audit.export': { query: exported },
  'platform_audit.export': { query: exported },
  'configuration.plan': { body: configuration },
  'configuration.apply': { body: configuration },
  'orgs.configuration.plan': { body: { org: { slug: 'acme', name: 'Acme' }, ...configuration } },
  'orgs.configuration.apply': { body: { org: { slug: 'acme', name: 'Acme' }, ...configuration } },
  'secrets.rotate': { body: {} },
  'forecasts.linear': { query: { deployment: 'support-bot', teams: '5' } },
  'forecasts.capacity': { query: { horizon_days: '14' } },
  'capacity_scenarios.create': { body: { name: 'No change', changes: {} } },
  'capacity_scenarios.change': { body: { name: 'Baseline' } },
  'usage.read': { query: { group_by: 'model' } },
  'usage.own': { query: { group_by: 'model' } },
  'usage.series': { query: { group_by: 'model', interval: 'day' } },
  'holds.extend': { body: { seconds: 300 } },
  'holds.increase': { body: { cost_usd: '0.05' } },
  'decisions.extend': { body: { seconds: 300 } },
  'decisions.increase': { body: { cost_usd: '0.05' } },
  'edge.decide': {
    body: { model: 'gpt-4o', input_tokens: 1200, max_output_tokens: 500, workflow: 'support' },
  },
};
