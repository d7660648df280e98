import { type LimitName, removeLimit, requireLimit } from '../../../ledger/limits/limit-changes.ts';
import type { LimitRow } from '../../../ledger/limits/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, changeOf, created } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { changeCreditPack, createCreditPack, listCreditPacks, viewCreditPack } from './credits.ts';
import { CreateCreditPack, CreditPackFilters, CreditPackView, PatchCreditPack } from './schema.ts';

export interface CreditDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const reader = { kind: 'org', scope: 'credits:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'credits:write', role: 'admin' } as const;

export function creditRoutes({ db, ids }: CreditDependencies): Route[] {
  return [
    write({
      id: 'credit_packs.create',
      method: 'POST',
      path: '/v1/orgs/{id}/credit-packs',
      summary: 'Create a credit pack',
      description:
        'While a customer has a live pack, even an empty one, its runs need credits. The pack that expires first is used first.',
      access: admin,
      body: CreateCreditPack,
      success: 201,
      response: CreditPackView,
      async handler({ params, body, now }, tx) {
        const row = await createCreditPack(tx, ids, now, params.id, body);
        return created('credit_pack', row, viewAt(now), 'credit_pack.created');
      },
    }),
    read({
      id: 'credit_packs.list',
      path: '/v1/orgs/{id}/credit-packs',
      summary: 'List credit packs',
      description: 'Includes expired packs, but not voided packs.',
      access: reader,
      query: CreditPackFilters,
      response: page(CreditPackView),
      handler: ({ params, query, now }) => viewPage(listCreditPacks(db, params.id, query, now), viewAt(now)),
    }),
    read({
      id: 'credit_packs.read',
      path: '/v1/orgs/{id}/credit-packs/{pack_id}',
      summary: 'Read a credit pack',
      access: reader,
      response: CreditPackView,
      handler: async ({ params, now }) => viewCreditPack(await requireLimit(db, packName(params)), now),
    }),
    write({
      id: 'credit_packs.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/credit-packs/{pack_id}',
      summary: 'Change a credit pack',
      description: 'Name and expiry can be changed. Changing the expiry of an expired pack is `conflict`.',
      access: admin,
      body: PatchCreditPack,
      response: CreditPackView,
      unversionedFields: ['status'],
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const change = await changeCreditPack(tx, packName(params), now, body);
        return changed('credit_pack', change, viewAt(now), 'credit_pack.updated');
      },
    }),
    write({
      id: 'credit_packs.void',
      method: 'DELETE',
      path: '/v1/orgs/{id}/credit-packs/{pack_id}',
      summary: 'Void a credit pack',
      description:
        'The remaining credits can no longer be used. Runs that hold some of them can still settle.',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeLimit(tx, packName(params), now);
        const before = viewCreditPack(row, now);
        const after = { ...before, status: 'voided', updated_at: now.toISOString() };
        const change = changeOf('credit_pack', row, { before, after }, 'credit_pack.voided');
        return { body: {}, changes: [change] };
      },
    }),
  ];
}

function packName({ id, pack_id }: { id: string; pack_id: string }): LimitName {
  return { orgId: id, kind: 'credits', id: pack_id };
}

function viewAt(now: Date): (row: LimitRow) => CreditPackView {
  return (row) => viewCreditPack(row, now);
}
