/** Applies a price list: new versions of prices that may change, and pending changes for those that change too much. */
import { invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change, WriteOutcome } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type Catalog,
  catalogPriceErrors,
  describeModels,
  insertListPrices,
  invalidForm,
  type ListPrices,
  loadListPrices,
  lockAllModels,
  type ModelPriceRow,
  modelNameForm,
  priceOf,
  sourceOf,
  viewModelPrice,
} from '../models/index.ts';
import { decidedChange, proposeChanges, proposes, viewPriceChange } from './changes.ts';
import { announcePending, type EventDependencies } from './events.ts';
import { type ListEntry, type PlannedModel, plannedStatuses, planUpdate, withPricedAliases } from './plan.ts';
import { lastRejectedChanges, type PriceChangeRow } from './queries.ts';
import type { CreatePriceUpdate, PriceUpdateView } from './schema.ts';

export interface UpdateDependencies extends EventDependencies {
  readonly ids: Ids;
}

/** Applies an update in the caller's transaction, so that an interrupted update changes nothing. A repeated one finds nothing to do. */
export async function updatePrices(
  tx: Transaction,
  deps: UpdateDependencies,
  now: Date,
  body: CreatePriceUpdate,
): Promise<WriteOutcome<PriceUpdateView>> {
  const catalog = body.catalog as unknown as Catalog;
  checkCatalog(catalog);
  if (body.dry_run !== true) {
    await lockAllModels(tx);
  }
  const effectiveFrom = body.effective_from === undefined ? null : new Date(body.effective_from);
  const prices = await loadListPrices(tx, effectiveFrom ?? now);
  const planned = await planCatalog(tx, catalog, prices, body);
  if (body.dry_run === true) {
    return { body: viewUpdate(body, prices, planned, new Map(), new Map()), changes: [] };
  }
  const rows = await insertListPrices(tx, deps.ids, now, prices, planned.flatMap(newPrice));
  const versions = new Map(rows.map((row) => [row.model, row]));
  await describeModels(tx, now, catalog.date, newNames(catalog, prices, versions));
  const { pending, created, superseded } = await proposeChanges(tx, deps.ids, now, effectiveFrom, planned);
  await announcePending(tx, deps, now, created.map(viewPriceChange));
  return {
    body: viewUpdate(body, prices, planned, versions, pending),
    changes: [
      ...planned.flatMap((one) => priceChange(one, prices, versions, now)),
      ...superseded.map(decidedChange),
      ...created.map((row) =>
        changeOf('price_change', { org_id: null, id: row.id }, { after: viewPriceChange(row) }),
      ),
    ],
  };
}

/** Checks rules that the schema cannot express. */
function checkCatalog({ models, sources }: Catalog): void {
  const fieldErrors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of models.entries()) {
    const { model, source } = entry;
    const field = `catalog.models[${index}]`;
    if (!modelNameForm.test(model)) {
      fieldErrors.push({ field: `${field}.model`, code: 'invalid_format', message: invalidForm });
    }
    if (seen.has(model)) {
      fieldErrors.push({
        field: `${field}.model`,
        code: 'invalid_value',
        message: `\`${model}\` is listed twice.`,
      });
    }
    seen.add(model);
    if (!Object.hasOwn(sources, source)) {
      fieldErrors.push({
        field: `${field}.source`,
        code: 'invalid_value',
        message: 'Must be a key of `sources`.',
      });
    }
    for (const message of catalogPriceErrors(priceOf(entry) ?? {})) {
      fieldErrors.push({ field, code: 'invalid_value', message: `Its price is not valid: ${message}` });
    }
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}

async function planCatalog(
  tx: Transaction,
  catalog: Catalog,
  prices: ListPrices,
  { apply_large_changes = false, keep_missing_rates = false }: CreatePriceUpdate,
): Promise<PlannedModel[]> {
  const listed = catalog.models.map((one) => ({
    model: one.model,
    provider: one.provider,
    price: priceOf(one),
    source: sourceOf(catalog, one),
    ...(one.aliases !== undefined && { aliases: one.aliases }),
  }));
  const entries = withPricedAliases(listed, prices);
  const rejected = new Map(
    (
      await lastRejectedChanges(
        tx,
        entries.map(({ model }) => model),
      )
    ).map((row) => [row.model, row]),
  );
  const wasRejected = (entry: ListEntry, current: ModelPriceRow) => {
    const row = rejected.get(entry.model);
    return row !== undefined && proposes(row, entry, current);
  };
  const options = {
    appliesLargeChanges: apply_large_changes,
    keepsMissingRates: keep_missing_rates,
    wasRejected,
  };
  return planUpdate(entries, prices, options);
}

function newPrice({ status, entry, current }: PlannedModel) {
  const { model, price, source } = entry;
  if ((status !== 'added' && status !== 'changed') || price === undefined) {
    return [];
  }
  // Keeps the stored provider. It is only displayed, and an operator may have written it differently.
  return [{ model, provider: current?.provider ?? entry.provider, price, source }];
}

/** Returns the names and capabilities in the list that are new. A name that already has a price keeps it. */
function newNames(
  { models }: Catalog,
  prices: ListPrices,
  versions: ReadonlyMap<string, ModelPriceRow>,
): Catalog['models'] {
  const isFree = (name: string) =>
    !versions.has(name) && prices.exact(name) === undefined && prices.resolved(name) === undefined;
  return models
    .filter(({ model }) => versions.has(model) || prices.exact(model) !== undefined)
    .map(({ aliases = [], patterns = [], ...one }) => ({
      ...one,
      aliases: aliases.filter(isFree),
      patterns: versions.has(one.model) && prices.exact(one.model) === undefined ? patterns : [],
    }));
}

function priceChange(
  { entry: { model }, current }: PlannedModel,
  prices: ListPrices,
  inserted: ReadonlyMap<string, ModelPriceRow>,
  now: Date,
): Change[] {
  const row = inserted.get(model);
  if (row === undefined) {
    return [];
  }
  const versions = prices.versionsOf(model);
  const views = {
    before: current && viewModelPrice(current, current.model === model ? versions : [current], now),
    after: viewModelPrice(row, [row, ...versions], now),
  };
  return [changeOf('model_price', { org_id: null, id: model }, views)];
}

function viewUpdate(
  { dry_run = false }: CreatePriceUpdate,
  prices: ListPrices,
  planned: readonly PlannedModel[],
  inserted: ReadonlyMap<string, ModelPriceRow>,
  pending: ReadonlyMap<string, PriceChangeRow>,
): PriceUpdateView {
  const count = (status: PlannedModel['status']) => planned.filter((one) => one.status === status).length;
  return {
    dry_run,
    effective_from: prices.at.toISOString(),
    counts: Object.fromEntries(
      plannedStatuses.map((status) => [status, count(status)]),
    ) as PriceUpdateView['counts'],
    models: planned
      .filter(({ status }) => status !== 'unchanged')
      .map(({ entry: { model, provider, source }, status, reason, current, rates }) => ({
        model,
        provider,
        status,
        reason,
        priced_as: current === undefined || current.model === model ? null : current.model,
        rates: [...rates],
        price_version: inserted.get(model)?.id ?? null,
        change_id: pending.get(model)?.id ?? null,
        source,
      })),
  };
}
