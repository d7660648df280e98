/** The schemas of a configuration: those of the routes that create each resource, with the names of the file. */
import { type Static, type TObject, type TProperties, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { bodyLimits } from '../../../platform/http/routes/route.ts';
import { choice, closed, id, nullable } from '../../../platform/http/routes/schemas.ts';
import { MintKey } from '../../access/keys/index.ts';
import { InviteMember } from '../../access/members/index.ts';
import { PatchOrg, PutIpAllowList } from '../../access/orgs/index.ts';
import { PutSso } from '../../access/sso/index.ts';
import { PutRetentionPolicy } from '../../compliance/retention/index.ts';
import { CreatePolicy, rulesPerOrgMax } from '../../governance/policies/index.ts';
import { PutRoutingPolicy } from '../../governance/routing/index.ts';
import { CreateDetector } from '../../governance/safety/index.ts';
import { CreateBudget } from '../../spend/budgets/index.ts';
import { PutChainBudget } from '../../spend/chains/index.ts';
import { CreateCustomerLimit } from '../../spend/customers/index.ts';
import { modelLengthMax, PutOrgPrice } from '../../spend/models/index.ts';
import { PutRateLimits } from '../../spend/rate-limits/index.ts';
import { PutSpendCap } from '../../spend/spend-caps/index.ts';
import { PutUnpricedPolicy } from '../../spend/unpriced-models/index.ts';
import { CreateConnection, connectionsPerOrgMax, PutGateway } from '../connections/index.ts';
import { CreateEmailSubscription, emailSubscriptionsPerOrgMax } from '../email-subscriptions/index.ts';
import { CreateSubscription, subscriptionsPerOrgMax } from '../webhooks/index.ts';

/**
 * Most resources have maxima of their own. An organization can have any number of limits, keys, members and prices; these are several times
 * as many as the service is designed for, so that an export can be applied.
 */
const limitsMax = 50_000;
const othersMax = 10_000;
const detectorsMax = 100;

const itemId = Type.Optional(
  Type.String({
    ...id,
    description:
      'Matches the resource with this id. Only needed to rename it, or if several have the same name.',
  }),
);

function list<Properties extends TProperties>(
  { properties }: TObject<Properties>,
  maxItems: number,
  description: string,
) {
  return Type.Optional(Type.Array(closed({ id: itemId, ...properties }), { maxItems, description }));
}

/** Null states that there is none: `prune` deletes it. */
function removable<Schema extends TObject>(schema: Schema, description: string) {
  return Type.Optional(nullable({ ...schema, description } as Schema & { type: 'object' }));
}

const { create_secret: _, ...subscription } = CreateSubscription.properties;
const { force: __, ...allowList } = PutIpAllowList.properties;

export const configurationVersion = 1;

export const Configuration = closed({
  version: Type.Optional(
    Type.Integer({
      minimum: configurationVersion,
      maximum: configurationVersion,
      description: 'Version of the format. Default: 1.',
    }),
  ),
  org: Type.Optional(PatchOrg),
  budgets: list(CreateBudget, limitsMax, 'Identified by `name`.'),
  spend_cap: removable(PutSpendCap, 'The daily spend cap.'),
  chain_budget: Type.Optional(PutChainBudget),
  customer_limits: list(CreateCustomerLimit, limitsMax, 'Identified by `customer_id` and `period`.'),
  rate_limits: Type.Optional(PutRateLimits),
  prices: list(
    closed({
      model: Type.String({ minLength: 1, maxLength: modelLengthMax }),
      ...PutOrgPrice.properties,
    }),
    othersMax,
    'Custom prices, identified by `model`. Only operators can change them.',
  ),
  unpriced_models: Type.Optional(PutUnpricedPolicy),
  policies: list(CreatePolicy, rulesPerOrgMax, 'Rules on models and actions, identified by `reason`.'),
  safety_detectors: list(
    closed({
      ...CreateDetector.properties,
      kind: choice(
        ['built_in', 'regex', 'words'],
        '`built_in` for a detector of Purser, such as `credit_card`. `regex` requires `pattern`; `words` requires `words`.',
      ),
    }),
    detectorsMax,
    'Identified by `name`.',
  ),
  routing_policy: removable(PutRoutingPolicy, 'The routing policy.'),
  connections: list(
    CreateConnection,
    connectionsPerOrgMax,
    'Connections to providers, identified by `name`.',
  ),
  gateway: Type.Optional(PutGateway),
  webhooks: list(closed(subscription), subscriptionsPerOrgMax, 'Identified by `url`.'),
  email_subscriptions: list(
    CreateEmailSubscription,
    emailSubscriptionsPerOrgMax,
    'Alerts by e-mail, identified by `recipients`.',
  ),
  retention_policy: Type.Optional(PutRetentionPolicy),
  sso: removable(PutSso, 'Single sign-on.'),
  members: list(InviteMember, othersMax, 'Identified by `email`. A new member is invited.'),
  keys: list(
    MintKey,
    othersMax,
    'Identified by `name`. Role and scopes cannot be changed; `not_before` and `expires_at` apply to a new key.',
  ),
  ip_allow_list: Type.Optional(closed(allowList)),
});
export type Configuration = Static<typeof Configuration>;

/** A file of this size has tens of thousands of resources. */
export const configurationBytesMax = bodyLimits.content;
/** Number of values in a file of that size in which every field of its budgets is written. */
export const configurationValuesMax = 500_000;

export const ApplyOptions = closed({
  prune: Type.Optional(
    Type.Boolean({
      description:
        'Deletes resources that the configuration does not list, in the sections that it has. Default: false.',
    }),
  ),
  force: Type.Optional(
    Type.Boolean({
      description:
        "Ends limits that have open holds too, and accepts an IP allow-list without the caller's address. Default: false.",
    }),
  ),
});

const PlanDigest = Type.String({
  pattern: '^[0-9a-f]{64}$',
  [formatMessage]: 'Must be the `plan_digest` of a plan.',
  maxLength: 64,
});

export const ApplyPlanOptions = closed({
  ...ApplyOptions.properties,
  plan_digest: Type.Optional({
    ...PlanDigest,
    description:
      '64 hexadecimal digits: the `plan_digest` of a plan. If the application would make other changes, it is rejected with 409.',
  }),
});
export type ApplyPlanOptions = Static<typeof ApplyPlanOptions>;

const sectionName = Type.String({ description: 'Such as `budgets`.' });
const anyValue = (description: string) => Type.Unsafe<unknown>({ description });

const PlannedChange = closed({
  action: choice(['create', 'update', 'delete']),
  section: sectionName,
  label: Type.String({ description: 'What it is, such as `budget`.' }),
  name: Type.String({ description: 'The name of the resource; empty if there is only one of its kind.' }),
  id: nullable(Type.String({ description: 'Null in a plan, if the resource does not exist yet.' })),
  fields: Type.Array(
    closed({
      field: Type.String(),
      before: anyValue('Null: not set. Secrets are not shown.'),
      after: anyValue('Null: not set. Secrets are not shown.'),
    }),
  ),
});
export type PlannedChange = Static<typeof PlannedChange>;

const planned = {
  org_id: nullable(Type.String({ description: 'Null in a plan, if the organization does not exist yet.' })),
  changes: Type.Array(PlannedChange, { description: 'In the order of their application.' }),
  unchanged: Type.Integer({ description: 'Number of resources in the configuration that need no change.' }),
  not_in_file: Type.Array(closed({ section: sectionName, name: Type.String(), id: Type.String() }), {
    description: 'Resources that `prune` would delete. At most 1,000.',
  }),
};
export const notInFileMax = 1_000;

export const ConfigurationPlan = closed({
  ...planned,
  plan_digest: { ...PlanDigest, description: 'Identifies these changes, to apply exactly them.' },
});
export type ConfigurationPlan = Static<typeof ConfigurationPlan>;

const CreatedSecret = closed({
  section: sectionName,
  name: Type.String(),
  id: Type.String(),
  secret: Type.String({
    description:
      'The key, the secret of the webhook, or the sign-in link of the member. It is shown only once.',
  }),
});
export type CreatedSecret = Static<typeof CreatedSecret>;

export const AppliedConfiguration = closed({ ...planned, secrets: Type.Array(CreatedSecret) });
export type AppliedConfiguration = Static<typeof AppliedConfiguration>;

export const ExportedConfiguration = closed({
  org_id: Type.String(),
  configuration: Type.Unsafe<Configuration>({
    type: 'object',
    description: 'In the form of the request that applies it.',
  }),
  omitted: Type.Array(closed({ section: sectionName, required: Type.String() }), {
    description: 'Sections that the caller cannot read, with the missing scope or role.',
  }),
});
export type ExportedConfiguration = Static<typeof ExportedConfiguration>;
