import { found } from '../../../contract/api-error.ts';
import { findOnlyLimit } from '../../../ledger/limits/limit-changes.ts';
import { listRaises, type RaiseRow } from '../../../ledger/limits/limit-raises.ts';
import { findLimit, type LimitRow, lockLimit } from '../../../ledger/limits/limits.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type RaisableKind, raisableKinds } from './raisable-kinds.ts';
import { createRaise, endRaise, viewRaise } from './raises.ts';
import { CreateRaise, RaiseFilters, RaiseView } from './schema.ts';

export interface RaiseDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

export function raiseRoutes(deps: RaiseDependencies): Route[] {
  return raisableKinds.flatMap((raisable) => routesOf(deps, raisable));
}

/** The parameters of the paths, whose names depend on the kind. */
type RaisePathParams = Readonly<Record<string, string>>;

function routesOf({ db, ids }: RaiseDependencies, raisable: RaisableKind): Route[] {
  const { operations, path, raiseParameter, noun, area } = raisable;
  const reader = { kind: 'org', scope: `${area}:read`, role: 'viewer' } as const;
  const admin = { kind: 'org', scope: `${area}:write`, role: 'admin' } as const;
  return [
    write({
      id: `${operations}.raises.create`,
      method: 'POST',
      path: `${path}/raises`,
      summary: `Raise ${noun} for a while`,
      description:
        'Adds the amount to the limit of every window until exactly `until`, then the raise ends by itself. Holds that it admitted ' +
        'stay. Several raises add up. With 200 active raises it is `conflict`.',
      access: admin,
      errors: ['conflict'],
      body: CreateRaise,
      success: 201,
      response: RaiseView,
      async handler({ params, body, caller, now }, tx) {
        const limit = await lockRaised(tx, raisable, params);
        const row = await createRaise(tx, ids, { limit, body, callerId: caller.keyId, now });
        const after = viewRaise(limit, row, now);
        return { body: after, changes: [changeOf('raise', row, { after }, 'raise.created')] };
      },
    }),
    read({
      id: `${operations}.raises.list`,
      path: `${path}/raises`,
      summary: `List the raises of ${noun}`,
      description: 'Those that are active and those that have ended, the latest first.',
      access: reader,
      query: RaiseFilters,
      response: page(RaiseView),
      async handler({ params, query, now }) {
        const limit = await requireRaised(db, raisable, params);
        const rows = listRaises(db, limit.org_id, limit.id, query);
        return viewPage(rows, (row: RaiseRow) => viewRaise(limit, row, now));
      },
    }),
    write({
      id: `${operations}.raises.end`,
      method: 'DELETE',
      path: `${path}/raises/{${raiseParameter}}`,
      summary: `End a raise of ${noun}`,
      description: 'Takes effect with the next decision. A raise that has ended is `conflict`.',
      access: admin,
      errors: ['conflict'],
      async handler({ params, caller, now }, tx) {
        const limit = await lockRaised(tx, raisable, params);
        const raiseId = (params as RaisePathParams)[raiseParameter] ?? '';
        const { before, after } = await endRaise(tx, { limit, raiseId, callerId: caller.keyId, now });
        const views = { before: viewRaise(limit, before, now), after: viewRaise(limit, after, now) };
        return { body: {}, changes: [changeOf('raise', after, views, 'raise.ended')] };
      },
    }),
  ];
}

async function requireRaised(
  db: Queryable,
  raisable: RaisableKind,
  params: RaisePathParams,
): Promise<LimitRow> {
  const { id: orgId = '' } = params;
  const { kind, idParameter } = raisable;
  return found(
    idParameter === undefined
      ? await findOnlyLimit(db, orgId, kind)
      : await findLimit(db, orgId, kind, params[idParameter] ?? ''),
  );
}

/** Locks the limit, so that its raises change one after the other. */
async function lockRaised(
  tx: Transaction,
  raisable: RaisableKind,
  params: RaisePathParams,
): Promise<LimitRow> {
  const { org_id, id } = await requireRaised(tx, raisable, params);
  return found(await lockLimit(tx, org_id, raisable.kind, id));
}
