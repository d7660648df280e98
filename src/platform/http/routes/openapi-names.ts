/** Names of an operation's schemas among the components of the OpenAPI document. */

/** Names by operation id, for ids whose derived name is not the one that users would expect. */
type OperationSchemaNames = Readonly<
  Record<string, { readonly response?: string; readonly item?: string; readonly body?: string }>
>;

export interface SchemaNames {
  readonly operations: OperationSchemaNames;
  /** Names of enumerations that several schemas share. Each has the path of one of its fields, such as `Budget.period`. */
  readonly words: Readonly<Record<string, string>>;
  /** Names of schemas that combine parts of others. They also name those parts. */
  readonly composed?: readonly string[];
}

export interface OperationNames {
  /** If several operations share a schema, the one with the lowest rank names it. */
  readonly rank: number;
  readonly response: string;
  readonly item: string;
  readonly list: string;
  readonly body: string;
}

/** Verbs of operations that return the resource itself. */
const resourceVerbs = ['read', 'create', 'put', 'change', 'list'];

/**
 * Returns the schema names of an operation: `budgets.create` takes `CreateBudget` and returns `Budget`; `budgets.list` returns
 * `BudgetList`.
 */
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
