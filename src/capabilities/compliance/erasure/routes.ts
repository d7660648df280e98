import type { Transaction } from '../../../platform/db/database.ts';
import {
  type Change,
  type HandlerContext,
  posting,
  type Route,
  read,
} from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Log } from '../../../platform/log.ts';
import {
  type ErasureDependencies,
  eraseForRequest,
  listErasures,
  requestErasure,
  requireCustomer,
} from './erasure.ts';
import { ErasureFilters, ErasureView } from './schema.ts';

export interface ErasureRouteDependencies extends ErasureDependencies {
  readonly log: Log;
  /** Writes the audit entry of a change, in the transaction of the change. */
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

const reader = { kind: 'org', scope: 'customers:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'customers:write', role: 'admin' } as const;

export function erasureRoutes(deps: ErasureRouteDependencies): Route[] {
  const { db, log } = deps;
  return [
    posting({
      id: 'customers.erase',
      method: 'DELETE',
      path: '/v1/orgs/{id}/customers/{customer_id}',
      summary: 'Erase an end customer',
      description:
        'Replaces the id by a random pseudonym everywhere: in runs, usage, the ledger, holds, limits, credits, ' +
        'events, refusals, stored responses and the audit log. Sums stay; limits, credit packs and rates of the ' +
        'customer end. Runs lose their tags, metadata and content. This cannot be undone. The ' +
        'rest is erased in the background: `…/customer-erasures` shows when it is done. Returns `conflict` ' +
        'while the organization is under legal hold.',
      access: admin,
      errors: ['conflict'],
      async handler(call, storeResponse) {
        const { params, now } = call;
        await requireCustomer(deps, params.id, params.customer_id);
        const { erasure } = await db.transaction(async (tx) => {
          const requested = await requestErasure(tx, deps, params.id, params.customer_id, now);
          await deps.recordChange(tx, call as unknown as HandlerContext, 'customers.erase', requested.change);
          await storeResponse?.(tx, {});
          return requested;
        });
        try {
          await eraseForRequest(deps, erasure.id);
        } catch (error) {
          // The erasure is stored and continues in the background.
          log.warn(
            { traceId: call.traceId, err: error, erasure: erasure.id },
            'erasure interrupted; continues in the background',
          );
        }
        return {};
      },
    }),
    read({
      id: 'customers.erasures.list',
      path: '/v1/orgs/{id}/customer-erasures',
      summary: 'List erased customers',
      access: reader,
      query: ErasureFilters,
      response: page(ErasureView),
      handler: ({ params, query }) => listErasures(db, params.id, query),
    }),
  ];
}
