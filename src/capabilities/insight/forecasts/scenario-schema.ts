import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { teamsSearchedMax } from '../../../kernel/forecast/returns-curve.ts';
import { label } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  closed,
  id,
  name,
  nullable,
  partial,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';

export const scenariosPerOrgMax = 100;
const partsMax = 20;
const countMax = 1_000_000_000_000;

/** The pattern also matches days that do not exist; they are rejected when a scenario is created. */
const day = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  [formatMessage]: 'Must be a date, such as 2027-01-15.',
  examples: ['2027-01-15'],
  description: 'As `YYYY-MM-DD`.',
});
const change = Type.Number({ minimum: -100, maximum: 1_000 });
const share = Type.Number({ minimum: 0, maximum: 1_000, description: '100 means no change.' });

export const ScenarioChanges = closed({
  growth_percent_per_month: Type.Optional(
    Type.Number({ ...change, description: 'Additional volume, growing by this much each month.' }),
  ),
  teams: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: teamsSearchedMax,
      description:
        'Number of teams instead of the observed one: scales volume in proportion, and value by the curve.',
    }),
  ),
  model_mix: Type.Optional(
    Type.Array(
      closed({ from_model: label, to_model: label, percent: Type.Number({ minimum: 0, maximum: 100 }) }),
      {
        maxItems: partsMax,
        description:
          "Shares of a model's tokens that move to another model, at its price. Applied in this order.",
      },
    ),
  ),
  price_changes: Type.Optional(
    Type.Array(
      closed({
        model: Type.Optional(Type.String({ ...label, description: 'Default: every model.' })),
        percent: change,
        from: Type.Optional(day),
      }),
      { maxItems: partsMax },
    ),
  ),
  seasonality: Type.Optional(
    closed({
      weekday_percents: Type.Optional(
        Type.Array(share, {
          minItems: 7,
          maxItems: 7,
          description: 'Factors of the forecast volume, from Monday on.',
        }),
      ),
      periods: Type.Optional(
        Type.Array(closed({ from: day, to: day, percent: share }), {
          maxItems: partsMax,
          description: 'Both days are included.',
        }),
      ),
    }),
  ),
  new_deployment: Type.Optional(
    closed({
      name: label,
      daily_cost_usd: usd,
      daily_runs: Type.Optional(Type.Number({ minimum: 0, maximum: countMax })),
      daily_tokens: Type.Optional(Type.Number({ minimum: 0, maximum: countMax })),
      starts_on: Type.Optional(day),
      ramp_days: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 365,
          description: 'Days until the full volume is reached. Default: 0.',
        }),
      ),
    }),
  ),
});
export type ScenarioChanges = Static<typeof ScenarioChanges>;

const description = Type.String({ maxLength: 1_000 });
const changes = Type.Object(ScenarioChanges.properties, {
  additionalProperties: false,
  description: 'Changes to the forecast. Replaced as a whole.',
});

export const ScenarioView = closed({
  id,
  name: Type.String(),
  description: nullable(description),
  changes: ScenarioChanges,
  created_at: timestamp,
  updated_at: timestamp,
});
export type ScenarioView = Static<typeof ScenarioView>;

export const CreateScenario = closed({ name, description: Type.Optional(description), changes });
export type CreateScenario = Static<typeof CreateScenario>;

export const PatchScenario = partial({ name, description: nullable(description), changes });
export type PatchScenario = Static<typeof PatchScenario>;

export const scenarioSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const ScenarioFilters = listParameters(scenarioSorts, { name: Type.Optional(label) });
export type ScenarioFilters = Static<typeof ScenarioFilters>;
