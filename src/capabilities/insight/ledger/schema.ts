import { type Static, Type } from 'typebox';
import { forEachName, labelDimensions } from '../../../contract/run-dimensions.ts';
import { limitKinds, limitUnits } from '../../../kernel/limits.ts';
import { holdSecondsMax } from '../../../ledger/holds/hold-request.ts';
import { tokensMax } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp, usd } from '../../../platform/http/routes/schemas.ts';

const text = nullable(Type.String());
/** A decimal string for money, an integer for everything else. */
export const amount = Type.Unsafe<string | number>({ type: ['string', 'integer'] });

export const HoldView = closed({
  decision_id: id,
  run_id: nullable(Type.String({ description: 'Id of the run, if known.' })),
  surface: choice(['edge', 'run'], 'Whether it was admitted by a decision or as a run in progress.'),
  held_usd: Type.String(),
  tokens: Type.Integer(),
  key_id: Type.String(),
  model: text,
  ...forEachName(labelDimensions, text),
  tags: Type.Record(Type.String(), Type.String()),
  admitted_at: timestamp,
  expires_at: timestamp,
  limits: Type.Array(closed({ limit_id: id, amount }), {
    description: "Amount held of each limit, in the limit's unit; includes credit packs.",
  }),
});
export type HoldView = Static<typeof HoldView>;

export const holdSorts = { admitted_at: 'timestamptz' } as const;
export const HoldFilters = listParameters(holdSorts, {});
export type HoldFilters = Static<typeof HoldFilters>;

export const ExtendHold = closed({
  seconds: Type.Integer({
    minimum: 1,
    maximum: holdSecondsMax,
    description:
      'From now on. A hold never ends later than a day after its admission, nor earlier than before.',
  }),
});

/** Either `output_tokens`, or `cost_usd` with or without `tokens`. */
export const IncreaseHold = closed({
  output_tokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: tokensMax,
      description:
        'Number of additional output tokens. Their highest cost is computed from the price at the admission of the hold.',
    }),
  ),
  cost_usd: Type.Optional(
    Type.Unsafe<string>({
      ...usd,
      description: 'Additional amount, instead of `output_tokens`. Required if the hold has no price.',
    }),
  ),
  tokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: tokensMax,
      description: 'Additional tokens for token limits. Only with `cost_usd`; default 0.',
    }),
  ),
});
export type IncreaseHold = Static<typeof IncreaseHold>;

const instantOrNull = nullable(
  Type.String({ format: 'date-time', description: 'Null: the limit has no window.' }),
);

const CounterRow = closed({
  key: Type.String(),
  limit_id: id,
  kind: choice(limitKinds),
  unit: choice(limitUnits),
  window_start: instantOrNull,
  window_end: instantOrNull,
  settled: amount,
  settled_by_entries: Type.Unsafe<string | number | null>({
    type: ['string', 'integer', 'null'],
    description: 'Null: the limit has ended or was changed, so this counter is no longer in use.',
  }),
  held: amount,
  held_by_holds: amount,
  growth: Type.Unsafe<string | number>({
    type: ['string', 'integer'],
    description: 'What new calls leave free for calls in progress (`reserve_for_running`).',
  }),
  growth_by_holds: amount,
  drift: amount,
});
export type CounterRow = Static<typeof CounterRow>;

const sum = Type.String({ description: 'A decimal string.' });

export const ReconciliationView = closed({
  balanced: Type.Boolean({ description: 'Whether money, tokens and requests all agree.' }),
  drift_usd: Type.String({ description: 'Sum of the absolute differences in money.' }),
  checked_at: timestamp,
  totals: closed({
    cost_usd: closed({ entries: sum, runs: sum, usage: sum }),
    tokens: closed({ entries: sum, runs: sum, usage: sum }),
    runs: closed({ entries: sum, runs: sum, usage: sum }),
    uncovered_usd: closed({ entries: sum, runs: sum }),
    credits_usd: closed({ entries: sum, tallies: sum }),
    prepaid_usd: closed({ entries: sum, tallies: sum }),
  }),
  counters_checked: Type.Integer(),
  counters: Type.Array(CounterRow, {
    description: 'Counters that differ come first; if there are very many, only the first are listed.',
  }),
});
export type ReconciliationView = Static<typeof ReconciliationView>;
