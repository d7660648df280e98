import type { Deprecation, DeprecationRegistry } from '../../../contract/deprecations.ts';
import type { Database } from '../../../platform/db/database.ts';
import { type PageOf, viewPage } from '../../../platform/http/routes/list.ts';
import { publicRead, type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Callers } from './callers.ts';
import { type CallsRow, selectCalls } from './queries.ts';
import {
  CallsView,
  type DeprecationEntry,
  DeprecationList,
  OwnUsageFilters,
  UsageFilters,
} from './schema.ts';

export interface DeprecationDependencies {
  readonly db: Database;
  readonly registry: DeprecationRegistry;
  readonly callers: Pick<Callers, 'flush'>;
  docsUrl(): string;
}

export function deprecationRoutes({ db, registry, callers, docsUrl }: DeprecationDependencies): Route[] {
  async function usage(query: UsageFilters): Promise<PageOf<CallsView>> {
    await callers.flush();
    return viewPage(selectCalls(db, query), viewCalls);
  }

  return [
    publicRead({
      id: 'meta.deprecations',
      path: '/v1/meta/deprecations',
      summary: 'List deprecated routes',
      description: 'Every response of these routes has the headers `Deprecation`, `Sunset` and `Link`.',
      response: DeprecationList,
      handler: async () => registry.list().map((entry) => viewEntry(entry, docsUrl())),
    }),
    read({
      id: 'deprecations.usage',
      path: '/v1/admin/deprecations/usage',
      summary: 'List callers of deprecated routes',
      description:
        'Number of calls per key and deprecated route, with the first and last call. Includes rejected calls with ' +
        'a known key; calls without a known key are only in the metric. Other processes write their counts within ' +
        'seconds.',
      access: { kind: 'operator' },
      query: UsageFilters,
      response: page(CallsView),
      handler: ({ query }) => usage(query),
    }),
    read({
      id: 'deprecations.own_usage',
      path: '/v1/orgs/{id}/deprecations/usage',
      summary: "List the organization's keys that call deprecated routes",
      description: 'Shows what to migrate before a sunset. Counted as for operators.',
      access: { kind: 'org', scope: 'org:read', role: 'viewer' },
      query: OwnUsageFilters,
      response: page(CallsView),
      handler: ({ params, query }) => usage({ ...query, org_id: params.id }),
    }),
  ];
}

function viewEntry({ documentation, ...entry }: Deprecation, docsUrl: string): DeprecationEntry {
  return { ...entry, documentation: `${docsUrl}${documentation}` };
}

function viewCalls({ id: _, ...row }: CallsRow): CallsView {
  return {
    ...row,
    calls: Number(row.calls),
    first_called_at: row.first_called_at.toISOString(),
    last_called_at: row.last_called_at.toISOString(),
  };
}
