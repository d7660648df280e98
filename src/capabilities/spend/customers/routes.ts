import type { LedgerReads } from '../../../ledger/ledger.ts';
import { type LimitName, removeLimit, requireLimit } from '../../../ledger/limits/limit-changes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, created, removed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  changeCustomerLimit,
  createCustomerLimit,
  listCustomerLimits,
  viewCustomerLimit,
} from './customer-limits.ts';
import { listCustomers } from './customers.ts';
import {
  CreateCustomerLimit,
  CustomerFilters,
  CustomerLimitFilters,
  CustomerLimitView,
  CustomerView,
  PatchCustomerLimit,
} from './schema.ts';

export interface CustomerDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

const reader = { kind: 'org', scope: 'customers:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'customers:write', role: 'admin' } as const;

export function customerRoutes({ db, ids, ledger }: CustomerDependencies): Route[] {
  return [
    write({
      id: 'customer_limits.create',
      method: 'POST',
      path: '/v1/orgs/{id}/customer-limits',
      summary: 'Create a customer limit',
      description:
        'A second limit for the same customer and period is `conflict`. A limit for `*` applies to every customer ' +
        'without a limit of its own, and counts each of them separately.',
      access: admin,
      body: CreateCustomerLimit,
      success: 201,
      response: CustomerLimitView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await createCustomerLimit(tx, ids, now, params.id, body);
        return created('customer_limit', row, viewCustomerLimit, 'customer_limit.created');
      },
    }),
    read({
      id: 'customer_limits.list',
      path: '/v1/orgs/{id}/customer-limits',
      summary: 'List customer limits',
      access: reader,
      query: CustomerLimitFilters,
      response: page(CustomerLimitView),
      handler: ({ params, query }) => viewPage(listCustomerLimits(db, params.id, query), viewCustomerLimit),
    }),
    read({
      id: 'customer_limits.read',
      path: '/v1/orgs/{id}/customer-limits/{limit_id}',
      summary: 'Read a customer limit',
      access: reader,
      response: CustomerLimitView,
      handler: async ({ params }) => viewCustomerLimit(await requireLimit(db, limitName(params))),
    }),
    write({
      id: 'customer_limits.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/customer-limits/{limit_id}',
      summary: 'Change a customer limit',
      description: 'The customer cannot be changed.',
      access: admin,
      body: PatchCustomerLimit,
      response: CustomerLimitView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const change = await changeCustomerLimit(tx, limitName(params), now, body);
        return changed('customer_limit', change, viewCustomerLimit, 'customer_limit.updated');
      },
    }),
    write({
      id: 'customer_limits.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/customer-limits/{limit_id}',
      summary: 'Delete a customer limit',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeLimit(tx, limitName(params), now);
        return removed('customer_limit', row, viewCustomerLimit, now, 'customer_limit.deleted');
      },
    }),
    read({
      id: 'customers.list',
      path: '/v1/orgs/{id}/customers',
      summary: 'List customers',
      description:
        'Every customer that has usage, a limit or a credit pack, with the usage of its limits and its remaining credits. With a ' +
        'period, also the usage in it; sorted by that usage, only customers with usage in the period are listed.',
      access: reader,
      query: CustomerFilters,
      response: page(CustomerView),
      handler: ({ params, query, now, caller }) =>
        listCustomers({ db, ledger }, params.id, query, {
          now,
          withCredits: caller.scopes.has('credits:read'),
        }),
    }),
  ];
}

function limitName({ id, limit_id }: { id: string; limit_id: string }): LimitName {
  return { orgId: id, kind: 'customer', id: limit_id };
}
