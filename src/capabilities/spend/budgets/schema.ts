import { type Static, Type } from 'typebox';
import { scopeKinds, tagScope } from '../../../contract/scope-kinds.ts';
import type { NamedScopeKind, ScopeKind } from '../../../kernel/scope-kinds.ts';
import { periods } from '../../../kernel/windows.ts';
import {
  optionalSpendingFields,
  scopeValueOrWildcard,
  spendingFields,
  viewedSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, partial } from '../../../platform/http/routes/schemas.ts';

const scopeKind = Type.Unsafe<ScopeKind>({
  anyOf: [choice(scopeKinds satisfies readonly NamedScopeKind[]), tagScope],
  description:
    'What the budget counts: every run (`org`), or the runs with a value in this field (`key`: `key_id`, `member`: ' +
    '`member_id`), or in the tag named after `tag:`.',
});

export const BudgetView = closed({
  id,
  name: Type.String(),
  scope_kind: scopeKind,
  scope_id: nullable(Type.String({ description: 'Null for `org`; `*`: each value separately.' })),
  ...viewedSpending,
});
export type BudgetView = Static<typeof BudgetView>;

export const CreateBudget = closed({
  name,
  scope_kind: scopeKind,
  scope_id: Type.Optional(
    Type.String({
      ...scopeValueOrWildcard,
      description:
        'The value of the run field or tag named by `scope_kind`; `*`: a budget of this amount for each value. A budget of ' +
        'one value and one for each value both apply. Required unless `scope_kind` is `org`.',
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
  scope_kind: Type.Optional(scopeKind),
  scope_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  period: Type.Optional(choice(periods)),
  ...searchFilter('the name, `scope_id` or id'),
});
export type BudgetFilters = Static<typeof BudgetFilters>;
