import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, reason, timestamp } from '../../../platform/http/routes/schemas.ts';
import { CatalogDocument, modelLengthMax } from '../models/index.ts';
import { type PlannedReason, plannedReasons, plannedStatuses } from './plan.ts';
import { largeChangePercent } from './rate-differences.ts';

export const changeStatuses = ['pending', 'approved', 'rejected', 'superseded'] as const;
export type ChangeStatus = (typeof changeStatuses)[number];

export const CreatePriceUpdate = closed({
  catalog: Type.Unsafe<Static<typeof CatalogDocument>>({
    ...CatalogDocument,
    description: 'Models with their prices, as in `catalog.json` of a release.',
  }),
  dry_run: Type.Optional(Type.Boolean({ description: 'True: nothing is changed. Default: false.' })),
  effective_from: Type.Optional(
    Type.String({
      ...timestamp,
      description: 'When the new prices take effect, RFC 3339 with offset. Default: now.',
    }),
  ),
  apply_large_changes: Type.Optional(
    Type.Boolean({
      description: `True: also applies changes of more than ${largeChangePercent} %. Default: false, they wait for an operator.`,
    }),
  ),
  keep_missing_rates: Type.Optional(
    Type.Boolean({
      description:
        'True: rates that the list does not have stay as they are, for lists that do not know every kind of rate. Default: false, ' +
        'they are removed.',
    }),
  ),
});
export type CreatePriceUpdate = Static<typeof CreatePriceUpdate>;

const rates = Type.Array(
  closed({
    rate: Type.String({ description: 'The field of the price.' }),
    before: nullable(Type.String({ description: 'Null: there was no such rate.' })),
    after: nullable(Type.String({ description: 'Null: there is no such rate.' })),
    change_percent: nullable(
      Type.Number({
        description:
          'Change of what is charged: without a rate for cached tokens, they are charged as input. Null: from zero, or ' +
          'nothing to compare with.',
      }),
    ),
  }),
  { description: 'The rates that differ.' },
);
const pricedAs = nullable(
  Type.String({
    description: 'The model whose price applied to this name before; null: its own, or none.',
  }),
);

export const PriceUpdateView = closed({
  dry_run: Type.Boolean(),
  effective_from: timestamp,
  counts: closed(
    Object.fromEntries(plannedStatuses.map((status) => [status, Type.Integer()])) as Record<
      (typeof plannedStatuses)[number],
      ReturnType<typeof Type.Integer>
    >,
  ),
  models: Type.Array(
    closed({
      model: Type.String(),
      provider: nullable(Type.String()),
      status: choice(
        plannedStatuses,
        `\`added\`: had no price. \`changed\`: has a new version. \`pending\`: changes by more than ${largeChangePercent} % and waits for ` +
          'an operator. `kept`: an operator decided otherwise. `skipped`: cannot be imported.',
      ),
      reason: Type.Unsafe<PlannedReason | null>({
        type: ['string', 'null'],
        enum: [...Object.keys(plannedReasons), null],
        description: Object.entries(plannedReasons)
          .map(([word, meaning]) => `\`${word}\`: ${meaning}`)
          .join(' '),
      }),
      priced_as: pricedAs,
      rates,
      price_version: nullable(Type.String({ description: 'The new version.' })),
      change_id: nullable(Type.String({ description: 'The pending change; null in a dry run.' })),
      source: Type.String(),
    }),
    { description: 'All models but unchanged ones.' },
  ),
});
export type PriceUpdateView = Static<typeof PriceUpdateView>;

export const PriceChangeView = closed({
  id,
  model: Type.String(),
  provider: nullable(Type.String()),
  status: choice(
    changeStatuses,
    '`superseded`: the price was set in another way, or a newer update has another price.',
  ),
  priced_as: pricedAs,
  current_price_version: Type.String({ description: 'The version that the change was compared with.' }),
  rates,
  effective_from: nullable(
    Type.String({ ...timestamp, description: 'Null: the new price takes effect when it is approved.' }),
  ),
  source: Type.String({ description: 'The price list, with its date.' }),
  created_at: timestamp,
  decided_at: nullable(timestamp),
  decided_by: nullable(Type.String()),
  decision_reason: nullable(Type.String()),
  price_version: nullable(Type.String({ description: 'The version that the approval created.' })),
});
export type PriceChangeView = Static<typeof PriceChangeView>;

export const DecidePriceChange = closed({ reason: Type.Optional(reason) });

export const priceChangeSorts = { created_at: 'timestamptz', model: 'text' } as const;
export const PriceChangeFilters = listParameters(priceChangeSorts, {
  status: Type.Optional(choice(changeStatuses)),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: modelLengthMax })),
});
export type PriceChangeFilters = Static<typeof PriceChangeFilters>;
