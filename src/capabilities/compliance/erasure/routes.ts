import type { Transaction } from '../../../platform/db/database.ts';
import {
  type Change,
  type HandlerContext,
  posting,
  type Route,
  read,
} from '../../../platform/http/routes/route.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import type { Log } from '../../../platform/log.ts';
import {
  type ErasureDependencies,
  eraseSome,
  listErasures,
  requestErasure,
  requireCustomer,
} from './erasure.ts';
import { ErasureFilters, ErasureView } from './schema.ts';

export interface ErasureRouteDependencies extends ErasureDependencies {
  readonly log: Log;
  /** Writes a change's audit entry, in the change's transaction. */
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
        'The id is replaced by a random pseudonym everywhere: in runs, usage, the ledger, holds, limits, credits, events, refusals, ' +
        'stored answers and the audit log. Sums stay; the limits, packs and rates of the customer end. Runs lose their tags, ' +
        'metadata and content. It cannot be undone. A customer with a very long history is erased in the background: ' +
        '`…/customer-erasures` tells when it is done. `conflict` while a legal hold stands.',
      access: admin,
      success: 204,
      response: closed({}),
      errors: ['conflict'],
      async handler(call, seal) {
        const { params, now } = call;
        await requireCustomer(deps, params.id, params.customer_id);
        const { erasure } = await db.transaction(async (tx) => {
          const requested = await requestErasure(tx, deps, params.id, params.customer_id, now);
          await deps.recordChange(tx, call as unknown as HandlerContext, 'customers.erase', requested.change);
          await seal?.(tx, {});
          return requested;
        });
        try {
          await eraseSome(deps, erasure.id);
        } catch (error) {
          // It is on record, and goes on in the background.
          log.warn({ traceId: call.traceId, err: error, erasure: erasure.id }, 'an erasure was interrupted');
        }
        return {};
      },
    }),
    read({
      id: 'customers.erasures.list',
      path: '/v1/orgs/{id}/customer-erasures',
      summary: 'List the customers who were erased',
      access: reader,
      query: ErasureFilters,
      response: page(ErasureView),
      handler: ({ params, query }) => listErasures(db, params.id, query),
    }),
  ];
}
