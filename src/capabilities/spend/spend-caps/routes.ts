import type { Database } from '../../../platform/db/database.ts';
import { changed, removed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { PutSpendCap, SpendCapView } from './schema.ts';
import { putSpendCap, removeSpendCap, requireSpendCap, viewSpendCap } from './spend-caps.ts';

export interface SpendCapDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const path = '/v1/orgs/{id}/spend-cap';
const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'budgets:write', role: 'admin' } as const;

export function spendCapRoutes({ db, ids }: SpendCapDependencies): Route[] {
  return [
    write({
      id: 'spend_cap.put',
      method: 'PUT',
      path,
      summary: 'Set the daily spend cap',
      description:
        'Replaces the cap and counts everything spent today. A cap of zero denies every run that has a cost.',
      access: admin,
      body: PutSpendCap,
      response: SpendCapView,
      async handler({ params, body, now }, tx) {
        const change = await putSpendCap(tx, ids, now, params.id, body);
        return changed('spend_cap', change, viewSpendCap, 'spend_cap.updated');
      },
    }),
    read({
      id: 'spend_cap.read',
      path,
      summary: 'Read the daily spend cap',
      access: reader,
      response: SpendCapView,
      handler: async ({ params }) => viewSpendCap(await requireSpendCap(db, params.id)),
    }),
    write({
      id: 'spend_cap.delete',
      method: 'DELETE',
      path,
      summary: 'Delete the daily spend cap',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeSpendCap(tx, now, params.id);
        return removed('spend_cap', row, viewSpendCap, now, 'spend_cap.deleted');
      },
    }),
  ];
}
