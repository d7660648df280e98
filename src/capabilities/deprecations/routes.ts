import type { Deprecation, DeprecationRegistry } from '../../contract/deprecations.ts';
import type { Database } from '../../platform/db/database.ts';
import { publicRead, type Route, read } from '../../platform/http/route.ts';
import { page } from '../../platform/http/schemas.ts';
import type { Callers } from './callers.ts';
import { type CallsRow, selectCalls } from './queries.ts';
import { CallsView, type DeprecationEntry, DeprecationList, UsageFilters } from './schema.ts';

export interface DeprecationDependencies {
  readonly db: Database;
  readonly registry: DeprecationRegistry;
  readonly callers: Pick<Callers, 'flush'>;
  docsUrl(): string;
}

export function deprecationRoutes({ db, registry, callers, docsUrl }: DeprecationDependencies): Route[] {
  return [
    publicRead({
      id: 'meta.deprecations',
      path: '/v1/meta/deprecations',
      summary: 'List the deprecated routes',
      description: 'Every response of these carries `Deprecation`, `Sunset` and `Link`.',
      response: DeprecationList,
      handler: async () => registry.list().map((entry) => viewEntry(entry, docsUrl())),
    }),
    read({
      id: 'deprecations.usage',
      path: '/v1/admin/deprecations/usage',
      summary: 'See who still calls deprecated routes',
      description:
        'How often each key has called each deprecated route, and when first and last. Calls with a key that was refused ' +
        'count; calls without a key that is known are only in the metric. Other processes write theirs within seconds.',
      access: { kind: 'operator' },
      query: UsageFilters,
      response: page(CallsView),
      async handler({ query }) {
        await callers.flush();
        const { data, next_cursor } = await selectCalls(db, query);
        return { data: data.map(viewCalls), next_cursor };
      },
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
