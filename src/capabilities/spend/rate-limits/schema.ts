import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { limitUnits } from '../../../kernel/limits.ts';
import { countMax, scopeValueOrWildcard, viewedTimes } from '../../../ledger/limits/limit-fields.ts';
import { routeClasses } from '../../../ledger/limits/request-rates.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  name,
  nullable,
  page,
  usdPattern,
} from '../../../platform/http/routes/schemas.ts';

const policiesMax = 100;
const windowSecondsMax = 31_536_000;
const readRpmMax = 1_000_000_000;

const policyKinds = ['rate', 'quota'] as const;

const amount = {
  format: 'usd',
  pattern: usdPattern,
  [formatMessage]: 'Must be an amount in US dollars, such as 2.50, or a whole number, depending on the unit.',
  minimum: 1,
  maximum: countMax,
  description: 'A decimal string for usd, otherwise an integer; greater than 0.',
};
/** A string or an integer, depending on the unit. */
const limit = Type.Unsafe<string | number>({ ...amount, type: ['string', 'integer'] });
const burst = Type.Unsafe<string | number | null>({
  ...amount,
  type: ['string', 'integer', 'null'],
  description: 'Maximum amount at once, for `rate` only. Null: same as the limit.',
});

const value = Type.String({
  ...scopeValueOrWildcard,
  description: 'A value, or `*` to count each value separately.',
});
const match = closed({
  key_id: Type.Optional(value),
  model: Type.Optional(value),
  customer_id: Type.Optional(value),
  route_class: Type.Optional(
    choice(routeClasses, 'Counts all requests to these routes. Only for kind `rate` and unit `requests`.'),
  ),
});

const policy = {
  name,
  unit: choice(
    limitUnits,
    '`concurrent` limits the requests in flight: the open holds of decisions and running runs. A place is free again when ' +
      'the hold is settled, voided or expired. Only for kind `rate`, of one key, of each key or of the organization.',
  ),
  limit,
  kind: choice(
    policyKinds,
    '`rate` allows an even flow and denies more with 429 `rate_limited`; `quota` counts in fixed windows ' +
      'and denies more with `quota_exhausted` until the window ends.',
  ),
};

export const RatePolicyView = closed({
  id,
  ...policy,
  window_seconds: Type.Integer({
    minimum: 0,
    maximum: windowSecondsMax,
    description: '0 for the unit `concurrent`, which has no window.',
  }),
  match,
  burst,
  ...viewedTimes,
});
export type RatePolicyView = Static<typeof RatePolicyView>;

const PutPolicy = closed({
  ...policy,
  window_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: windowSecondsMax,
      description: 'Required, at least 1. For the unit `concurrent`, which has no window, left out or 0.',
    }),
  ),
  match: Type.Optional(match),
  burst: Type.Optional(burst),
});
export type PutPolicy = Static<typeof PutPolicy>;

const readRpm = nullable(
  Type.Integer({
    minimum: 1,
    maximum: readRpmMax,
    description:
      'Maximum number of reads per minute of the organization. Null: the default of the deployment.',
  }),
);

export const RateLimitsView = closed({ read_rpm: readRpm, policies: Type.Array(RatePolicyView) });
export type RateLimitsView = Static<typeof RateLimitsView>;

/** The view for the org itself. Its read limit is the one in force, which may be the default of the deployment. */
export const OwnPoliciesView = closed({
  ...page(RatePolicyView).properties,
  read_rpm: nullable(
    Type.Integer({
      minimum: 1,
      description:
        'Maximum number of reads per minute of all keys together: the limit of the organization, or the default of the deployment. Null: no limit.',
    }),
  ),
});

export const PutRateLimits = closed({
  read_rpm: Type.Optional(readRpm),
  policies: Type.Optional(Type.Array(PutPolicy, { maxItems: policiesMax })),
});
export type PutRateLimits = Static<typeof PutRateLimits>;

export const policySorts = { created_at: 'timestamptz', name: 'text' } as const;
export const RatePolicyFilters = listParameters(policySorts, {
  kind: Type.Optional(choice(policyKinds)),
  unit: Type.Optional(choice(limitUnits)),
});
export type RatePolicyFilters = Static<typeof RatePolicyFilters>;
