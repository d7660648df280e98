import { type Static, Type } from 'typebox';
import { periods } from '../../../kernel/windows.ts';
import {
  optionalSpendingFields,
  scopeValue,
  spendingFields,
  viewedSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, partial } from '../../../platform/http/routes/schemas.ts';

export const scopeKinds = ['org', 'workflow', 'deployment', 'department'] as const;
const scopeKind = choice(scopeKinds, 'The run field that the budget matches; `org` counts every run.');

export const BudgetView = closed({
  id,
  name: Type.String(),
  scope_kind: scopeKind,
  scope_id: nullable(Type.String({ description: 'Null for `org`.' })),
  ...viewedSpending,
});
export type BudgetView = Static<typeof BudgetView>;

export const CreateBudget = closed({
  name,
  scope_kind: scopeKind,
  scope_id: Type.Optional(
    Type.String({
      ...scopeValue,
      description: 'The value of the run field named by `scope_kind`. Required unless that is `org`.',
    }),
  ),
  ...optionalSpendingFields,
});
export type CreateBudget = Static<typeof CreateBudget>;

/** The scope of a budget cannot be changed. */
export const PatchBudget = partial({ name, ...spendingFields });
export type PatchBudget = Static<typeof PatchBudget>;

export const budgetSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const BudgetFilters = listParameters(budgetSorts, {
  scope_kind: Type.Optional(choice(scopeKinds)),
  scope_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  period: Type.Optional(choice(periods)),
});
export type BudgetFilters = Static<typeof BudgetFilters>;
