import type { LimitKind } from '../../../kernel/limits.ts';

/** A kind of limits that can be raised, and where its API is. */
export interface RaisableKind {
  readonly kind: LimitKind;
  /** The beginning of its operation ids. */
  readonly operations: string;
  readonly path: string;
  /** The parameter of the path with the id of the limit; undefined if an org has at most one. */
  readonly idParameter?: string;
  /** The parameter of the path with the id of a raise. Each kind has its own, since a raise belongs to one limit. */
  readonly raiseParameter: string;
  /** As the summaries name it. */
  readonly noun: string;
  readonly area: 'budgets' | 'customers';
}

export const raisableKinds: readonly RaisableKind[] = [
  {
    kind: 'budget',
    operations: 'budgets',
    path: '/v1/orgs/{id}/budgets/{budget_id}',
    idParameter: 'budget_id',
    raiseParameter: 'raise_id',
    noun: 'a budget',
    area: 'budgets',
  },
  {
    kind: 'spend_cap',
    operations: 'spend_cap',
    path: '/v1/orgs/{id}/spend-cap',
    raiseParameter: 'cap_raise_id',
    noun: 'the daily spend cap',
    area: 'budgets',
  },
  {
    kind: 'customer',
    operations: 'customer_limits',
    path: '/v1/orgs/{id}/customer-limits/{limit_id}',
    idParameter: 'limit_id',
    raiseParameter: 'limit_raise_id',
    noun: 'a customer limit',
    area: 'customers',
  },
];
