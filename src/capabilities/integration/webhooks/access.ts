/** The access that webhook routes require, and the view of a subscription that a caller gets. */
import { type Caller, outranks } from '../../../platform/http/routes/access.ts';
import type { SubscriptionRow } from './queries.ts';
import type { SubscriptionView } from './schema.ts';
import { viewForReaders, viewSubscription } from './subscriptions.ts';

export const reader = { kind: 'org', scope: 'webhooks:read', role: 'viewer' } as const;
export const admin = { kind: 'org', scope: 'webhooks:write', role: 'admin' } as const;
export const operatorOrAdmin = { kind: 'operator_or_admin', scope: 'webhooks:write' } as const;

/** The URL of a chat is a secret: only callers who may change the subscription see all of it. */
export function viewFor(caller: Caller): (row: SubscriptionRow) => SubscriptionView {
  return mayChange(caller) ? viewSubscription : viewForReaders;
}

/** The scope alone does not decide: members who signed in to the console have all scopes, whatever their role. */
export function mayChange({ scopes, role }: Caller): boolean {
  return scopes.has(admin.scope) && !outranks(admin.role, role);
}
