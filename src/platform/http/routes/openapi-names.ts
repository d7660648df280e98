/** Names of the schemas of an operation among the components of the OpenAPI document. */

/** Names by operation id, where the name that follows from the id is not the one that users would expect. */
type OperationSchemaNames = Readonly<
  Record<string, { readonly response?: string; readonly item?: string; readonly body?: string }>
>;

export interface SchemaNames {
  readonly operations: OperationSchemaNames;
  /** Names of lists of words (enumerations) that several schemas share, each with the path of one of its fields: `Budget.period`. */
  readonly words: Readonly<Record<string, string>>;
  /** Schemas that consist of parts of others, which name those parts. */
  readonly composed?: readonly string[];
}

export interface OperationNames {
  /** Operations with a lower rank name a schema that several operations share. */
  readonly rank: number;
  readonly response: string;
  readonly item: string;
  readonly list: string;
  readonly body: string;
}

/** The operations that return the resource itself. */
const resourceVerbs = ['read', 'create', 'put', 'change', 'list'];

/** `budgets.create` takes `CreateBudget` and returns `Budget`; `budgets.list` returns `BudgetList`. */
export function schemaNamesOf(operationId: string, names: OperationSchemaNames): OperationNames {
  const parts = operationId.split('.');
  const verb = parts.at(-1) ?? '';
  const resource = parts.slice(0, -1).map(singular).map(pascalCase).join('');
  const own = names[operationId] ?? {};
  const action = pascalCase(verb) + resource;
  const item = own.item ?? resource;
  const rank = resourceVerbs.indexOf(verb);
  return {
    rank: rank === -1 ? resourceVerbs.length : rank,
    response: own.response ?? (rank === -1 ? `${action}Result` : resource),
    item,
    list: own.response ?? `${item}List`,
    body: own.body ?? action,
  };
}

function singular(words: string): string {
  return words.replace(/ies$/, 'y').replace(/(?<!s)s$/, '');
}

export function pascalCase(words: string): string {
  return words
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
