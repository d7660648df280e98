/**
 * The event catalog: every kind of event that a subscription can receive, with what its `data` holds. Kinds are
 * append-only, and so are the fields of their data: whatever is promised here stays. Receivers ignore what they do not
 * know, so the objects stay open.
 */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';

interface EventKind {
  readonly meaning: string;
  readonly data: TObject;
  readonly example: object;
}

const text = Type.String();
const count = Type.Integer();
const timestamp = Type.String({ format: 'date-time' });
const usd = Type.String({ description: 'US dollars as a decimal string.' });
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const open = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: true });
const amount = Type.Union([Type.String(), Type.Integer()], {
  description: 'A decimal string where the unit is `usd`, an integer otherwise.',
});

const kind = <Data extends TObject>(meaning: string, data: Data, example: object): EventKind => ({
  meaning,
  data,
  example,
});

const limitInWindow = {
  limit_id: text,
  kind: Type.String({
    description:
      'What kind of limit it is: `budget`, `spend_cap`, `customer`, `credits`, `prepaid`, `plan_runs`, `plan_tokens`, ' +
      '`quota`, `rate`, `chain_cost`, `chain_depth` or `chain_tokens`.',
  }),
  match: Type.Record(Type.String(), Type.String(), {
    description: 'Whom the limit counts; empty: everyone.',
  }),
  unit: text,
  limit: amount,
  window_start: timestamp,
  window_end: nullable(timestamp),
};
const limitExample = {
  limit_id: 'bud_01hzy4t0000000000000000000',
  kind: 'budget',
  match: { workflow: 'support' },
  unit: 'usd',
  limit: '100',
  window_start: '2026-11-01T00:00:00.000Z',
  window_end: '2026-12-01T00:00:00.000Z',
};

const ThresholdReached = open({ ...limitInWindow, threshold_percent: count, settled: amount });
const Exhausted = open({
  ...limitInWindow,
  window_end: nullable(timestamp),
  used: amount,
  scope: open({
    customer_id: nullable(text),
    chain_id: nullable(text),
    key_id: text,
    model: nullable(text),
  }),
  code: Type.String({ description: 'The error code that the refused request was answered with.' }),
});

const Run = open({
  id: text,
  external_id: nullable(text),
  model: text,
  status: Type.String({ description: '`succeeded`, `failed` or `cancelled`.' }),
  workflow: nullable(text),
  deployment: nullable(text),
  department: nullable(text),
  team: nullable(text),
  customer_id: nullable(text),
  tags: Type.Record(Type.String(), Type.String()),
  chain_id: nullable(text),
  input_tokens: count,
  output_tokens: count,
  cost_usd: nullable(usd),
  decision_id: nullable(text),
  started_at: timestamp,
  finished_at: nullable(timestamp),
  marks: Type.Array(text),
});

const Key = open({
  id: text,
  name: text,
  role: text,
  scopes: Type.Array(text),
  hint: text,
  status: text,
  expires_at: nullable(timestamp),
  revoked_at: nullable(timestamp),
  rotated_from: nullable(text),
  created_at: timestamp,
});
const key = {
  id: 'key_01hzy4t0000000000000000000',
  name: 'gateway',
  role: 'member',
  scopes: ['edge:decide', 'runs:write'],
  hint: 'svc_live_4fG7',
  status: 'active',
  not_before: null,
  expires_at: '2026-12-01T00:00:00.000Z',
  revoked_at: null,
  rotated_from: null,
  created_at: '2026-11-01T00:00:00.000Z',
};

const Org = open({
  id: text,
  name: text,
  slug: text,
  status: text,
  suspension_reason: nullable(text),
  updated_at: timestamp,
});
const org = {
  id: 'org_01hzy4t0000000000000000000',
  name: 'Acme',
  slug: 'acme',
  timezone: 'UTC',
  home_region: null,
  status: 'active',
  suspension_reason: null,
  created_at: '2026-11-01T00:00:00.000Z',
  updated_at: '2026-11-15T12:00:00.000Z',
};

const spending = { id: text, period: text, limit_usd: usd, enforcement: text, updated_at: timestamp };
const Budget = open({ ...spending, name: text, scope_kind: text, scope_id: nullable(text) });
const CustomerLimit = open({ ...spending, customer_id: text });
const spendingExample = {
  period: 'month',
  limit_usd: '100',
  enforcement: 'block',
  alert_thresholds: [50, 80, 100],
  timezone: null,
  created_at: '2026-11-01T00:00:00.000Z',
  updated_at: '2026-11-15T12:00:00.000Z',
};
const budget = {
  id: 'bud_01hzy4t0000000000000000000',
  name: 'Support',
  scope_kind: 'workflow',
  scope_id: 'support',
  ...spendingExample,
};
const customerLimit = {
  id: 'clm_01hzy4t0000000000000000000',
  customer_id: 'customer-7',
  ...spendingExample,
};
const deleted = { deleted_at: '2026-11-15T12:00:00.000Z' };

const SpendCap = open({ id: text, cap_usd: usd, updated_at: timestamp });
const spendCap = {
  id: 'cap_01hzy4t0000000000000000000',
  cap_usd: '250',
  timezone: null,
  alert_thresholds: [50, 80, 100],
  created_at: '2026-11-01T00:00:00.000Z',
  updated_at: '2026-11-15T12:00:00.000Z',
};

const CreditPack = open({
  id: text,
  customer_id: text,
  amount_usd: usd,
  expires_at: nullable(timestamp),
  status: text,
});
const creditPack = {
  id: 'crp_01hzy4t0000000000000000000',
  customer_id: 'customer-7',
  name: null,
  amount_usd: '50',
  expires_at: '2027-01-01T00:00:00.000Z',
  status: 'live',
  created_at: '2026-11-01T00:00:00.000Z',
  updated_at: '2026-11-15T12:00:00.000Z',
};

const OrgPrice = open({ model: text });
const orgPrice = { model: 'gpt-4o', discount_percent: '5' };

const Subscription = open({
  id: text,
  url: text,
  events: Type.Array(text),
  status: text,
  disabled_reason: nullable(
    Type.String({ description: '`gone`: the receiver answered 410. `failing`: nothing arrived for 5 days.' }),
  ),
  disabled_at: nullable(timestamp),
});

const Blocked = open({
  rule_id: text,
  reason: text,
  attempted: Type.String({ description: 'The model or action as asked for.' }),
  key_id: text,
  model: text,
  action: nullable(text),
});
const Approval = open({
  id: text,
  state: text,
  rule_id: text,
  rule_version: count,
  reason: text,
  attempted: text,
  key_id: text,
  model: text,
  action: nullable(text),
  requested_at: timestamp,
  expires_at: timestamp,
  decided_at: nullable(timestamp),
  decided_by: nullable(text),
  decision_reason: nullable(text),
  uses: nullable(count),
  uses_left: nullable(count),
  ended_because: nullable(text),
});
const attempt = {
  rule_id: 'pol_01hzy4t0000000000000000000',
  reason: 'Large models need a reason.',
  attempted: 'gpt-4o',
  key_id: key.id,
  model: 'gpt-4o',
  action: null,
};
const approval = {
  id: 'apr_01hzy4t0000000000000000000',
  state: 'pending',
  rule_version: 1,
  ...attempt,
  requested_at: '2026-11-15T12:00:00.000Z',
  expires_at: '2026-11-22T12:00:00.000Z',
  decided_at: null,
  decided_by: null,
  decision_reason: null,
  uses: null,
  uses_left: null,
  uses_made: 0,
  ended_at: null,
  ended_because: null,
};
const decided = {
  decided_at: '2026-11-15T13:00:00.000Z',
  decided_by: 'key_01hzy4t0000000000000000001',
  decision_reason: 'For the release.',
};

export const eventCatalog = {
  'limit.threshold_reached': kind(
    'A limit reached one of its thresholds. Once per threshold and window.',
    ThresholdReached,
    { ...limitExample, threshold_percent: 80, settled: '80.25' },
  ),
  'limit.exhausted': kind(
    'A limit refused a request. Once per limit and window; a rate, which has none, at most once an hour.',
    Exhausted,
    {
      ...limitExample,
      used: '99.99',
      scope: { key_id: key.id, model: 'gpt-4o', customer_id: null, chain_id: null },
      code: 'budget_exceeded',
    },
  ),
  'run.finished': kind(
    'A run has ended and is booked. Not sent for history that is recorded past the gates.',
    Run,
    {
      id: 'run_01hzy4t0000000000000000000',
      external_id: 'call-1',
      model: 'gpt-4o',
      status: 'succeeded',
      workflow: 'support',
      deployment: null,
      department: null,
      team: null,
      customer_id: 'customer-7',
      tags: {},
      chain_id: null,
      input_tokens: 1200,
      output_tokens: 350,
      cost_usd: '0.0065',
      decision_id: 'dec_01hzy4t0000000000000000000',
      started_at: '2026-11-15T11:59:57.000Z',
      finished_at: '2026-11-15T12:00:00.000Z',
      marks: [],
    },
  ),
  'key.created': kind('A key was minted.', Key, key),
  'key.rotated': kind('A key was rotated: it ends, and a successor was created.', Key, {
    ...key,
    revoked_at: '2026-11-16T12:00:00.000Z',
  }),
  'key.revoked': kind('A key was revoked.', Key, {
    ...key,
    status: 'revoked',
    revoked_at: '2026-11-15T12:00:00.000Z',
  }),
  'key.expiring': kind(
    'A key expires soon. Told 7 days and 1 day before; not of a key that was made to last no longer than that.',
    open({ ...Key.properties, days_left: count }),
    { ...key, days_left: 7 },
  ),
  'org.created': kind('The organization was created.', Org, org),
  'org.updated': kind('The organization was changed.', Org, org),
  'org.suspended': kind('The organization was suspended: its keys are refused.', Org, {
    ...org,
    status: 'suspended',
    suspension_reason: 'unpaid',
  }),
  'org.reinstated': kind('The organization is no longer suspended.', Org, org),
  'org.ip_allow_list_updated': kind(
    'The list of addresses that may call was changed.',
    open({ cidrs: Type.Array(text) }),
    { cidrs: ['192.0.2.0/24'] },
  ),
  'org.residency_updated': kind(
    'The home region of the organization, or what becomes of requests elsewhere, was changed.',
    open({ home_region: nullable(text), mode: Type.String({ description: '`forward` or `strict`.' }) }),
    { home_region: 'eu', mode: 'strict' },
  ),
  'budget.created': kind('A budget was created.', Budget, budget),
  'budget.updated': kind('A budget was changed.', Budget, budget),
  'budget.deleted': kind('A budget was deleted.', Budget, { ...budget, ...deleted }),
  'spend_cap.updated': kind('The daily spend cap was set.', SpendCap, spendCap),
  'spend_cap.deleted': kind('The daily spend cap was deleted.', SpendCap, { ...spendCap, ...deleted }),
  'chain_budget.updated': kind(
    'The limits of chains were set.',
    open({ max_cost_usd: nullable(usd), max_depth: nullable(count), max_tokens: nullable(count) }),
    { max_cost_usd: '5', max_depth: 10, max_tokens: null },
  ),
  'customer_limit.created': kind('A customer limit was created.', CustomerLimit, customerLimit),
  'customer_limit.updated': kind('A customer limit was changed.', CustomerLimit, customerLimit),
  'customer_limit.deleted': kind('A customer limit was deleted.', CustomerLimit, {
    ...customerLimit,
    ...deleted,
  }),
  'credit_pack.created': kind('A credit pack was sold.', CreditPack, creditPack),
  'credit_pack.updated': kind('A credit pack was changed.', CreditPack, creditPack),
  'credit_pack.voided': kind('A credit pack was voided.', CreditPack, { ...creditPack, status: 'voided' }),
  'prepaid.updated': kind(
    'Paying in advance was turned on or off.',
    open({ enabled: Type.Boolean(), topped_up_usd: usd }),
    { id: 'ppd_01hzy4t0000000000000000000', enabled: true, topped_up_usd: '500' },
  ),
  'prepaid.topped_up': kind(
    'The prepaid balance was topped up.',
    open({ id: text, amount_usd: usd, reference: nullable(text), created_at: timestamp }),
    {
      id: 'top_01hzy4t0000000000000000000',
      amount_usd: '500',
      reference: 'invoice 17',
      created_at: '2026-11-15T12:00:00.000Z',
    },
  ),
  'plan.assigned': kind(
    'The organization got another plan, or none.',
    open({ plan_id: nullable(text), assigned_at: nullable(timestamp) }),
    { plan_id: 'pln_01hzy4t0000000000000000000', plan: null, assigned_at: '2026-11-15T12:00:00.000Z' },
  ),
  'rate_limits.updated': kind(
    'The rate limits of the organization were set.',
    open({ read_rpm: nullable(count), policies: Type.Array(open({ id: text, name: text })) }),
    { read_rpm: 600, policies: [] },
  ),
  'org_price.updated': kind('The organization got a price of its own for a model.', OrgPrice, orgPrice),
  'org_price.removed': kind(
    'The organization pays for a model what everyone pays, from now on.',
    OrgPrice,
    orgPrice,
  ),
  'policy.blocked': kind(
    'A policy blocked a run. At most once a minute for each rule and key.',
    Blocked,
    attempt,
  ),
  'approval.requested': kind('A run needs an approval, and waits for one.', Approval, approval),
  'approval.approved': kind('An approval was given.', Approval, {
    ...approval,
    ...decided,
    state: 'approved',
    uses: 1,
    uses_left: 1,
  }),
  'approval.denied': kind('An approval was denied.', Approval, { ...approval, ...decided, state: 'denied' }),
  'approval.expired': kind(
    'An approval is over before it was decided or used up: its time is, or its rule was changed.',
    Approval,
    { ...approval, state: 'expired', ended_at: '2026-11-22T12:00:00.000Z', ended_because: 'time' },
  ),
  'webhook.disabled': kind('A subscription was disabled by the service.', Subscription, {
    id: 'whk_01hzy4t0000000000000000000',
    url: 'https://receiver.example/hook',
    events: ['limit.*'],
    description: null,
    status: 'disabled',
    disabled_reason: 'failing',
    disabled_at: '2026-11-15T12:00:00.000Z',
    created_at: '2026-11-01T00:00:00.000Z',
    updated_at: '2026-11-15T12:00:00.000Z',
  }),
  'webhook.test': kind(
    'Asked for by `POST …/test`, and sent to that subscription alone, whatever it listens to.',
    open({ subscription_id: text, message: text }),
    { subscription_id: 'whk_01hzy4t0000000000000000000', message: 'This is a test.' },
  ),
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof eventCatalog;
export const eventTypes = Object.keys(eventCatalog) as EventType[];

export function eventKind(type: EventType): EventKind {
  return eventCatalog[type];
}

/** An event as it travels; the same in versions 1 and 2. */
export function eventSchema(type: EventType): TObject {
  return Type.Object({
    id: Type.String({ description: 'The same in every attempt to deliver it.' }),
    type: Type.Literal(type),
    created_at: timestamp,
    org_id: Type.String(),
    data: eventCatalog[type].data,
  });
}
