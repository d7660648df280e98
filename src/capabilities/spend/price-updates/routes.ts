import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { bodyLimits, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { catalogValuesMax } from '../models/index.ts';
import { approveChange, rejectChange, requirePriceChange, viewPriceChange } from './changes.ts';
import { listPriceChanges } from './queries.ts';
import { largeChangePercent } from './rate-differences.ts';
import {
  CreatePriceUpdate,
  DecidePriceChange,
  PriceChangeFilters,
  PriceChangeView,
  PriceUpdateView,
} from './schema.ts';
import { type UpdateDependencies, updatePrices } from './updates.ts';

export interface PriceUpdateDependencies extends UpdateDependencies {
  readonly db: Database;
}

const operator = { kind: 'operator' } as const;

export function priceUpdateRoutes(deps: PriceUpdateDependencies): Route[] {
  const { db, ids } = deps;
  return [
    write({
      id: 'price_updates.create',
      method: 'POST',
      path: '/v1/admin/price-updates',
      summary: 'Update model prices from a price list',
      description:
        'Creates versions of prices that differ, and prices of new models; all of them or none. Prices that an operator set are ' +
        `kept. A price of which a rate changes by more than ${largeChangePercent} %, or from or to zero, is not changed: the change waits ` +
        'for an operator, and `price.change_pending` is sent. The same list again changes nothing. ' +
        '`purser prices update` converts public price lists and calls this route.',
      access: operator,
      body: CreatePriceUpdate,
      bodyLimitBytes: bodyLimits.configured,
      bodyValuesMax: catalogValuesMax,
      response: PriceUpdateView,
      handler: ({ body, now }, tx) => updatePrices(tx, deps, now, body),
    }),
    read({
      id: 'price_changes.list',
      path: '/v1/admin/price-changes',
      summary: 'List price changes that waited for an operator',
      access: operator,
      query: PriceChangeFilters,
      response: page(PriceChangeView),
      handler: ({ query }) => viewPage(listPriceChanges(db, query), viewPriceChange),
    }),
    read({
      id: 'price_changes.read',
      path: '/v1/admin/price-changes/{change_id}',
      summary: 'Get a price change',
      access: operator,
      response: PriceChangeView,
      handler: async ({ params }) => viewPriceChange(await requirePriceChange(db, params.change_id)),
    }),
    write({
      id: 'price_changes.approve',
      method: 'POST',
      path: '/v1/admin/price-changes/{change_id}/approve',
      summary: 'Approve a price change',
      description:
        'Creates the version, in force from now on, or from the `effective_from` of the change if that is later. Returns ' +
        '`conflict` if the change is not pending, or if the price has changed since.',
      access: operator,
      body: DecidePriceChange,
      bodyOptional: true,
      response: PriceChangeView,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const deciding = { changeId: params.change_id, by: caller.keyId, reason: body.reason ?? null };
        const { row, changes } = await approveChange(tx, ids, now, deciding);
        return { body: viewPriceChange(row), changes };
      },
    }),
    write({
      id: 'price_changes.reject',
      method: 'POST',
      path: '/v1/admin/price-changes/{change_id}/reject',
      summary: 'Reject a price change',
      description:
        'The price stays as it is. The same change is not proposed again while the current version is in force.',
      access: operator,
      body: DecidePriceChange,
      bodyOptional: true,
      response: PriceChangeView,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const deciding = { changeId: params.change_id, by: caller.keyId, reason: body.reason ?? null };
        const { row, changes } = await rejectChange(tx, now, deciding);
        return { body: viewPriceChange(row), changes };
      },
    }),
  ];
}
