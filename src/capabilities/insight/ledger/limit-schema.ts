/** Schemas of limits with their usage. */
import { type Static, Type } from 'typebox';
import { scopeKinds, tagScope } from '../../../contract/scope-kinds.ts';
import { limitKinds, limitUnits } from '../../../kernel/limits.ts';
import type { ScopeKind } from '../../../kernel/scope-kinds.ts';
import { type Period, periods } from '../../../kernel/windows.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp, usd } from '../../../platform/http/routes/schemas.ts';
import { amount } from './schema.ts';

/** From this used share on, a limit is nearly exhausted. */
export const nearPercent = 80;
export const limitStates = ['ok', 'near', 'exhausted'] as const;
export type LimitState = (typeof limitStates)[number];
const stateMeaning = `\`near\`: at least ${nearPercent} % are settled or held. \`exhausted\`: all of it, or more.`;

export const limitSorts = { created_at: 'timestamptz' } as const;
export const LimitFilters = listParameters(limitSorts, {
  kind: Type.Optional(choice(limitKinds)),
  customer_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Limits of one customer; `*`: limits for each customer.',
    }),
  ),
  scope_kind: Type.Optional(
    Type.Unsafe<ScopeKind | 'customer'>({
      anyOf: [choice([...scopeKinds, 'customer']), tagScope],
      description: 'Limits of the whole organization (`org`), or those that match this field or tag.',
    }),
  ),
  scope_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Limits that match this value; `*`: each value.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Text in the name, the id, the owner or a value of the scope, in any case.',
    }),
  ),
  state: Type.Optional(
    choice(
      limitStates,
      `${stateMeaning} A page may then have fewer rows than \`limit\`, or none, although \`next_cursor\` continues.`,
    ),
  ),
});
export type LimitFilters = Static<typeof LimitFilters>;

const currentUsage = closed({
  settled: amount,
  held: amount,
  remaining: amount,
  raised_usd: nullable(
    Type.String({ ...usd, description: 'What active raises add to the limit. Null: it is not raised.' }),
  ),
  raised_until: nullable(
    Type.String({ format: 'date-time', description: 'When the first of the active raises ends.' }),
  ),
  window_start: nullable(Type.String({ format: 'date-time' })),
  window_end: nullable(Type.String({ format: 'date-time' })),
});
export type CurrentUsage = Static<typeof currentUsage>;

export const LimitUsageView = closed({
  id,
  kind: choice(limitKinds),
  name: nullable(Type.String()),
  unit: choice(limitUnits),
  match: Type.Record(Type.String(), Type.String(), {
    description: 'Fields that a run must match. `*`: each value separately.',
  }),
  enforcement: choice(['block', 'alert']),
  limit: Type.Unsafe<Static<typeof amount>>({
    ...amount,
    description: 'With active raises, which `standing` has apart.',
  }),
  standing: Type.Union([currentUsage, Type.Null()]),
  state: Type.Unsafe<LimitState | null>({
    type: ['string', 'null'],
    enum: [...limitStates, null],
    description: `${stateMeaning} Null: no single usage.`,
  }),
  period: Type.Unsafe<Period | null>({ type: ['string', 'null'], enum: [...periods, null] }),
  window_seconds: nullable(Type.Integer({ description: 'The length of the window of a quota or rate.' })),
  timezone: nullable(Type.String({ description: "Null: the org's time zone." })),
  alert_thresholds: Type.Array(Type.Integer()),
  owner: nullable(Type.String({ description: 'Whom to ask about the limit.' })),
  expires_at: nullable(Type.String({ format: 'date-time' })),
  created_at: timestamp,
});
export type LimitUsageView = Static<typeof LimitUsageView>;

/** The settled amounts as usage has them, which may be a moment older than those of the ledger. */
export const limitValueSorts = { settled: 'numeric' } as const;
export const LimitValuesQuery = listParameters(limitValueSorts, {});
export type LimitValuesQuery = Static<typeof LimitValuesQuery>;

export const LimitValueView = closed({
  values: Type.Record(Type.String(), Type.String(), {
    description: 'The value of each field that is `*` in the `match` of the limit.',
  }),
  standing: currentUsage,
  state: choice(limitStates, stateMeaning),
});
export type LimitValueView = Static<typeof LimitValueView>;

export const pastWindows = { fallback: 12, max: 60 };
export const LimitDetailQuery = closed({
  windows: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: pastWindows.max,
      default: pastWindows.fallback,
      description: 'Number of past windows.',
    }),
  ),
});

const instant = Type.String({ format: 'date-time' });

export const LimitDetail = closed({
  ...LimitUsageView.properties,
  windows: Type.Array(closed({ window_start: instant, window_end: instant, settled: amount }), {
    description:
      'Amounts settled in the windows before the current one, the latest first, also before the limit existed. Empty for limits ' +
      'without a window or with a wildcard.',
  }),
  alerts: Type.Array(
    closed({
      threshold: nullable(
        Type.Integer({ description: 'In percent. Null: the limit denied a request (`limit.exhausted`).' }),
      ),
      at: instant,
      window_start: nullable(instant),
      value: nullable(
        Type.String({ description: 'The value that it was about, if the limit has a wildcard.' }),
      ),
    }),
    {
      description:
        'Events of this limit, the latest first, up to 100; of the listed windows and the current one.',
    },
  ),
});
export type LimitDetail = Static<typeof LimitDetail>;
