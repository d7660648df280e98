import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { denyingLimitId, findCauses } from './cause.ts';
import { findRefusal, listRefusals, type RefusalRow } from './queries.ts';
import { RefusalDetail, RefusalFilters, RefusalView } from './schema.ts';

const access = { kind: 'org', scope: 'runs:read', role: 'viewer' } as const;

export function refusalRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'refusals.list',
      path: '/v1/orgs/{id}/refusals',
      summary: 'List recently denied requests',
      description:
        'Requests denied by rate limits, policies, safety detectors and limits, the latest first. Equal denials within about a ' +
        'second are one entry with a `count`. Entries appear within one or two seconds; the latest 1,000 are kept.',
      access,
      query: RefusalFilters,
      response: page(RefusalView),
      async handler({ params, query }) {
        const { data, next_cursor } = await listRefusals(db, params.id, query);
        const causeOf = await findCauses(db, params.id, data);
        return { data: data.map((row) => view(row, causeOf(row))), next_cursor };
      },
    }),
    read({
      id: 'refusals.read',
      path: '/v1/orgs/{id}/refusals/{refusal_id}',
      summary: 'Read a denied request',
      description:
        'With the trace ids of the denied requests. `cause` needs no scope of budgets or policies, so that the owner of a ' +
        'denied key can see what denied and whom to ask.',
      access,
      response: RefusalDetail,
      async handler({ params }) {
        const row = found(await findRefusal(db, params.id, params.refusal_id));
        const causeOf = await findCauses(db, params.id, [row]);
        return { ...view(row, causeOf(row)), trace_ids: [...(row.trace_ids ?? [])] };
      },
    }),
  ];
}

function view(refusal: RefusalRow, cause: RefusalView['cause']): RefusalView {
  const { org_id: _org, count, first_at, last_at, trace_ids, ...row } = refusal;
  return {
    ...row,
    limit_id: denyingLimitId(refusal),
    cause,
    trace_id: trace_ids?.[0] ?? null,
    count: Number(count),
    first_at: first_at.toISOString(),
    last_at: last_at.toISOString(),
  };
}
