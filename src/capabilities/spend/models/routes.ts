import { found } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Change, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { type Latency, modelPage, type UnpricedPolicy, viewResolution } from './listing.ts';
import {
  type ModelCapabilitiesCache,
  noCapabilities,
  putModelCapabilities,
  viewCapabilities,
} from './model-capabilities.ts';
import { putModelNames, viewNames } from './model-names.ts';
import { putModelPrice, shownVersionsMax, viewModelPrice } from './models.ts';
import { allModelNames, findModelNames } from './name-queries.ts';
import { putOrgPrice, removeOrgPrice, viewOrgPrice } from './org-prices.ts';
import type { Prices } from './prices.ts';
import { listModelPrices, listOrgPrices, modelVersions, orgVersions } from './queries.ts';
import {
  ModelFilters,
  ModelPriceFilters,
  ModelPriceView,
  ModelResolution,
  ModelView,
  OrgPriceFilters,
  OrgPriceVersion,
  OrgPriceView,
  PricedModel,
  PutModelPrice,
  PutOrgPrice,
  ResolveQuery,
} from './schema.ts';
import { shownAt, type Version } from './versions.ts';

export interface ModelDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly prices: Prices;
  readonly capabilities: ModelCapabilitiesCache;
  /** Returns the latency of the org's runs by model. */
  latenciesOf(orgId: string): Promise<ReadonlyMap<string, Latency>>;
  /** Returns the org's policy for models without a price. */
  unpricedPolicy(orgId: string): UnpricedPolicy | Promise<UnpricedPolicy>;
  /** Supersedes a pending change of the model's list price. Returns the changes to record. */
  supersedePending(tx: Transaction, model: string, now: Date): Promise<readonly Change[]>;
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'routing:read', role: 'viewer' } as const;

export function modelRoutes(deps: ModelDependencies): Route[] {
  return [...modelPriceRoutes(deps), ...orgPriceRoutes(deps), modelListRoute(deps), resolveRoute(deps)];
}

function modelListRoute({ db, prices, capabilities, latenciesOf }: ModelDependencies): Route {
  return read({
    id: 'models.list',
    path: '/v1/models',
    summary: 'List models with your current prices and their capabilities',
    access: reader,
    query: ModelFilters,
    response: page(ModelView),
    async handler({ query, caller, now }) {
      const known = {
        capabilities: await capabilities.all(),
        latencies: await latenciesOf(caller.tenantId),
        names: new Map((await allModelNames(db)).map((row) => [row.model, row])),
      };
      return modelPage(await prices.list(caller.tenantId, now.getTime()), known, query);
    },
  });
}

function resolveRoute({ prices, unpricedPolicy }: ModelDependencies): Route {
  return read({
    id: 'models.resolve',
    path: '/v1/models/resolve',
    summary: 'Explain which price applies to a model name',
    description:
      'Returns the price that applies to runs of this model now, and the steps that were tried to find it. ' +
      '`priced_as` is null if no price was found; `on_unpriced` then says what happens to calls, and the rates are those they are ' +
      'charged at.',
    access: reader,
    query: ResolveQuery,
    response: ModelResolution,
    async handler({ query, caller, now }) {
      const resolution = await prices.resolve(caller.tenantId, query.model, now.getTime(), query);
      return viewResolution(query.model, resolution, await unpricedPolicy(caller.tenantId));
    },
  });
}

function modelPriceRoutes({ db, ids, capabilities, supersedePending }: ModelDependencies): Route[] {
  return [
    write({
      id: 'models.prices.put',
      method: 'PUT',
      path: '/v1/admin/models/{model}',
      summary: 'Set the price, the capabilities and other names of a model',
      description:
        'Creates and returns a version of the price, in force from `effective_from` until the next version. Earlier runs ' +
        'keep the version they were priced with. If the same price is already in force at that time, it is returned. ' +
        'Capabilities and other names apply at once and have no versions; those that are left out stay unchanged. ' +
        'Slashes in the name are percent-encoded.',
      access: operator,
      body: PutModelPrice,
      bodyLimitBytes: bodyLimits.lists,
      response: PricedModel,
      unversionedFields: ['status'],
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const put = await putModelPrice(tx, ids, now, params.model, body);
        const known = await putModelCapabilities(tx, now, params.model, body);
        const names = await putModelNames(tx, now, params.model, body);
        const { before, after, versionsBefore, versions } = put;
        const view = {
          ...viewModelPrice(after, versions, now),
          ...viewCapabilities(known.after),
          ...names.after,
        };
        const viewBefore = before && {
          ...viewModelPrice(before, versionsBefore, now),
          ...viewCapabilities(known.before),
          ...names.before,
        };
        const price = { org_id: null, id: params.model };
        const change = changeOf('model_price', price, { before: viewBefore, after: view });
        const superseded = put.changed ? await supersedePending(tx, params.model, now) : [];
        const hasChanged = put.changed || known.changed || names.changed;
        return { body: view, changes: [...(hasChanged ? [change] : []), ...superseded] };
      },
    }),
    read({
      id: 'models.prices.read',
      path: '/v1/admin/models/{model}',
      summary: 'Read the price and the capabilities of a model',
      description: 'Returns the version in force, or the next version if none is in force.',
      access: operator,
      response: ModelPriceView,
      async handler({ params, now }) {
        const versions = await modelVersions(db, params.model);
        const known = (await capabilities.all()).get(params.model) ?? noCapabilities;
        return {
          ...withVersions(versions, now, viewModelPrice),
          ...viewCapabilities(known),
          ...viewNames(await findModelNames(db, params.model)),
        };
      },
    }),
    read({
      id: 'models.prices.list',
      path: '/v1/admin/models',
      summary: 'List model prices',
      description: 'Returns for each model the version in force, or the next version if none is in force.',
      access: operator,
      query: ModelPriceFilters,
      response: page(PricedModel),
      async handler({ query, now }) {
        const { data, next_cursor } = await listModelPrices(db, query, now);
        const known = await capabilities.all();
        const names = new Map((await allModelNames(db)).map((row) => [row.model, row]));
        return {
          data: data.map((row) => ({
            ...viewModelPrice(row, [row], now),
            ...viewCapabilities(known.get(row.model) ?? noCapabilities),
            ...viewNames(names.get(row.model)),
          })),
          next_cursor,
        };
      },
    }),
  ];
}

function orgPriceRoutes({ db, ids }: ModelDependencies): Route[] {
  return [
    write({
      id: 'models.org_prices.put',
      method: 'PUT',
      path: '/v1/admin/orgs/{org_id}/prices/{model}',
      summary: 'Set the price of a model for an organization',
      description:
        'Either custom rates, or `discount_percent` off the list price in force at the time. Versions work as for ' +
        'list prices.',
      bodyLimitBytes: bodyLimits.lists,
      access: operator,
      body: PutOrgPrice,
      response: OrgPriceVersion,
      unversionedFields: ['status'],
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const key = { orgId: params.org_id, model: params.model };
        const put = await putOrgPrice(tx, ids, now, key, body);
        const { before, after, versionsBefore, versions, changed } = put;
        const views = {
          before: before && viewOrgPrice(before, versionsBefore, now),
          after: viewOrgPrice(after, versions, now),
        };
        const price = { org_id: params.org_id, id: params.model };
        const change = changeOf('org_price', price, views, 'org_price.updated');
        return { body: views.after, changes: changed ? [change] : [] };
      },
    }),
    read({
      id: 'models.org_prices.read',
      path: '/v1/admin/orgs/{org_id}/prices/{model}',
      summary: 'Read the custom price of a model for an organization',
      access: operator,
      response: OrgPriceView,
      async handler({ params, now }) {
        const versions = await orgVersions(db, params.org_id, params.model);
        return withVersions(versions, now, viewOrgPrice);
      },
    }),
    write({
      id: 'models.org_prices.remove',
      method: 'DELETE',
      path: '/v1/admin/orgs/{org_id}/prices/{model}',
      summary: 'Remove the custom price of a model for an organization',
      description: 'The list price applies from now on. Versions that have not begun are withdrawn.',
      access: operator,
      async handler({ params, now }, tx) {
        const key = { orgId: params.org_id, model: params.model };
        const { before, after, versionsBefore, versions } = await removeOrgPrice(tx, now, key);
        const views = {
          before: viewOrgPrice(before, versionsBefore, now),
          after: viewOrgPrice(after, versions, now),
        };
        const price = { org_id: params.org_id, id: params.model };
        return { body: {}, changes: [changeOf('org_price', price, views, 'org_price.removed')] };
      },
    }),
    read({
      id: 'models.org_prices.list',
      path: '/v1/admin/orgs/{org_id}/prices',
      summary: 'List the custom prices of an organization',
      access: operator,
      query: OrgPriceFilters,
      response: page(OrgPriceVersion),
      async handler({ params, query, now }) {
        found(await findOrg(db, params.org_id));
        return viewPage(listOrgPrices(db, params.org_id, query, now), (row) => viewOrgPrice(row, [row], now));
      },
    }),
  ];
}

/** Returns the view of a price with its versions. Throws `not_found` if no version is in force or scheduled. */
function withVersions<Row extends Version, View extends object>(
  versions: readonly Row[],
  now: Date,
  view: (row: Row, versions: readonly Row[], now: Date) => View,
): View & { versions: View[] } {
  const shown = found(shownAt(versions, now.getTime()));
  const views = versions.slice(0, shownVersionsMax).map((row) => view(row, versions, now));
  return { ...view(shown, versions, now), versions: views };
}
