/** Custom prices of the organization, and what happens to models without a price. */
import { allOrgVersions, rateFields, shownAt, viewOrgPrice } from '../../spend/models/index.ts';
import { findUnpricedPolicy, viewUnpricedPolicy } from '../../spend/unpriced-models/index.ts';
import { groupBy } from './group-by.ts';
import { type FileFields, type ListSection, pick, type SingleSection } from './section.ts';

const noRates = Object.fromEntries(rateFields.map((field) => [field, null]));
const priceDefaults = { discount_percent: null, ...noRates, modifiers: [], units: {} };

/** `effective_from` states when a new version begins. The route finds out if the same price is in force at that time already. */
export const prices: ListSection = {
  shape: 'list',
  name: 'prices',
  label: 'price',
  key: ['model'],
  readRoute: 'models.org_prices.list',
  defaults: priceDefaults,
  async load({ db, orgId, now }) {
    const byModel = groupBy(await allOrgVersions(db, orgId), ({ model }) => model);
    return [...byModel].flatMap(([model, versions]) => {
      const shown = shownAt(versions, now.getTime());
      const fields =
        shown && pick(viewOrgPrice(shown, versions, now), ['model', ...Object.keys(priceDefaults)]);
      const scheduled = shown !== undefined && shown.effective_from > now;
      return fields === undefined
        ? []
        : [
            {
              id: model,
              fields: { ...fields, ...(scheduled && { effective_from: shown.effective_from.toISOString() }) },
            },
          ];
    });
  },
  complete: (item) => ({
    ...priceDefaults,
    ...item,
    modifiers: item.modifiers ?? [],
    units: item.units ?? {},
    ...(typeof item.effective_from === 'string' && {
      effective_from: new Date(item.effective_from).toISOString(),
    }),
  }),
  create: (item) => putPrice(item),
  change: (_resource, _changed, wanted) => putPrice(wanted),
  remove: ({ id }) => ({ route: 'models.org_prices.remove', params: { model: id } }),
};

function putPrice({ model, ...body }: FileFields) {
  return { route: 'models.org_prices.put', params: { model: String(model) }, body };
}

export const unpricedModels: SingleSection = {
  shape: 'single',
  name: 'unpriced_models',
  label: 'policy on models without a price',
  readRoute: 'unpriced_policy.read',
  defaults: { on_unpriced: 'refuse', ...noRates },
  async load({ db, orgId }) {
    const view = viewUnpricedPolicy(await findUnpricedPolicy(db, orgId));
    return [{ id: orgId, fields: pick(view, ['on_unpriced', ...rateFields]) }];
  },
  change: (_resource, _changed, body) => ({ route: 'unpriced_policy.put', body }),
};
