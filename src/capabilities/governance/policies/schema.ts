import { type Static, Type } from 'typebox';
import { orgRoles } from '../../../contract/scopes.ts';
import { effects } from '../../../kernel/policy.ts';
import { label, metadata, scopeFields, tags, tokens } from '../../../ledger/scope.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  contact,
  id,
  nullable,
  partial,
  reason,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';

export const rulesPerOrgMax = 500;
export const expressionLengthMax = 2_000;
const priorityMax = 1_000_000_000;

const patternList = {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
};
const pattern = Type.String({ minLength: 1, maxLength: 200 });
const models = Type.Array(pattern, {
  ...patternList,
  description: 'Models that the rule matches; `*` stands for any characters. If left out: all models.',
});
const actions = Type.Array(pattern, {
  ...patternList,
  description:
    'Actions that the rule matches; `*` stands for any characters. If left out: all actions, and runs without an action.',
});
const expression = Type.String({
  minLength: 1,
  maxLength: expressionLengthMax,
  description: 'A CEL expression, such as `cost_usd > 5.0 && team == "research"`.',
});
const effect = choice(effects);
const priority = Type.Integer({
  minimum: -priorityMax,
  maximum: priorityMax,
  description: 'The lowest number is evaluated first; among equal numbers, the oldest rule.',
});
const owner = nullable(
  Type.String({
    ...contact,
    description:
      'Whom to ask about the rule, such as an e-mail address or a channel. Shown to those it denies.',
  }),
);
const enabled = Type.Boolean({ description: 'Default: true.' });

export const PolicyView = closed({
  id,
  version: Type.Integer({ description: 'Increases with every change.' }),
  effect,
  models: Type.Unsafe<string[] | null>({ ...models, type: ['array', 'null'] }),
  actions: Type.Unsafe<string[] | null>({ ...actions, type: ['array', 'null'] }),
  expression: nullable(expression),
  priority: Type.Integer(),
  reason: Type.String(),
  enabled: Type.Boolean(),
  owner,
  created_at: timestamp,
  updated_at: timestamp,
});
export type PolicyView = Static<typeof PolicyView>;

export const PolicyVersionView = closed({
  version: Type.Integer(),
  changed_at: timestamp,
  changed_by: Type.String({ description: 'The key that made the change.' }),
  deleted: Type.Boolean({ description: 'True for the last version of a deleted rule.' }),
  policy: PolicyView,
});
export type PolicyVersionView = Static<typeof PolicyVersionView>;

export const CreatePolicy = closed({
  effect,
  models: Type.Optional(models),
  actions: Type.Optional(actions),
  expression: Type.Optional(expression),
  priority,
  reason,
  enabled: Type.Optional(enabled),
  owner: Type.Optional(owner),
});
export type CreatePolicy = Static<typeof CreatePolicy>;

/** Schema of a change. Null removes a condition. */
export const PatchPolicy = partial({
  effect,
  models: Type.Unsafe<string[] | null>({ ...models, type: ['array', 'null'] }),
  actions: Type.Unsafe<string[] | null>({ ...actions, type: ['array', 'null'] }),
  expression: nullable(expression),
  priority,
  reason,
  enabled,
  owner,
});
export type PatchPolicy = Static<typeof PatchPolicy>;

export const policySorts = { priority: 'int8', created_at: 'timestamptz' } as const;
export const PolicyFilters = listParameters(policySorts, {
  effect: Type.Optional(effect),
  enabled: Type.Optional(Type.Boolean()),
  ...searchFilter('the reason or id'),
});
export type PolicyFilters = Static<typeof PolicyFilters>;

const { chain_id: _, ...labels } = scopeFields;

export const EvaluatePolicies = closed({
  model: label,
  ...labels,
  cost_usd: Type.Optional(usd),
  input_tokens: Type.Optional(tokens),
  output_tokens: Type.Optional(tokens),
  tags: Type.Optional(tags),
  metadata: Type.Optional(metadata),
  key_id: Type.Optional(Type.String({ maxLength: 100, description: 'Default: the key of the request.' })),
  role: Type.Optional(choice(orgRoles, 'Default: the role of the key of the request.')),
  at: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
  rules: Type.Optional(
    Type.Array(CreatePolicy, {
      maxItems: rulesPerOrgMax,
      description:
        'Draft rules to evaluate instead of the rules in force. They are identified as `rules[0]` and so on.',
    }),
  ),
});
export type EvaluatePolicies = Static<typeof EvaluatePolicies>;

export const verdicts = [...effects, 'error'] as const;
const verdict = choice(verdicts, '`error`: a rule failed; the request would be `policy_expression_error`.');
const ruleName = Type.String({ description: 'The id of the rule, or its position in the draft.' });

export const Evaluation = closed({
  verdict,
  rule_id: nullable(ruleName),
  reason: nullable(Type.String({ description: 'The reason of the deciding rule. Null: no rule matched.' })),
  attempted: nullable(Type.String()),
  considered: Type.Array(
    closed({
      rule_id: Type.String(),
      priority: Type.Integer(),
      effect,
      outcome: choice(['decided', 'passed_over', 'failed', 'not_reached', 'disabled']),
      explanation: Type.String(),
    }),
    { description: 'All rules, in the order of evaluation.' },
  ),
});
export type Evaluation = Static<typeof Evaluation>;

export const simulatedRunsMax = 1_000;

export const SimulatePolicies = closed({
  rules: Type.Array(CreatePolicy, {
    maxItems: rulesPerOrgMax,
    description: 'The complete draft: it replaces all rules in force.',
  }),
  runs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: simulatedRunsMax,
      description: 'Number of latest runs to replay. Default: 200.',
    }),
  ),
});
export type SimulatePolicies = Static<typeof SimulatePolicies>;

const said = closed({ verdict, rule_id: nullable(ruleName), reason: nullable(Type.String()) });
export const Simulation = closed({
  runs: Type.Integer({ description: 'Number of runs replayed.' }),
  unchanged: Type.Integer(),
  changed: Type.Integer(),
  draft: closed({
    allow: Type.Integer(),
    block: Type.Integer(),
    require_approval: Type.Integer(),
    error: Type.Integer(),
  }),
  changes: Type.Array(
    closed({
      run_id: Type.String(),
      model: Type.String(),
      action: nullable(Type.String()),
      charged_at: timestamp,
      now: said,
      draft: said,
    }),
    {
      description: 'Runs for which the draft and the rules in force have different verdicts; the latest 100.',
    },
  ),
});
export type Simulation = Static<typeof Simulation>;

export const versionSorts = { version: 'int8' } as const;
export const VersionFilters = listParameters(versionSorts, {});
