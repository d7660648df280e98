/** Names parameters of an OpenAPI document that several operations have. */
import type { OperationObject } from './openapi-operation.ts';
import { type OpenApiObject, Shared } from './openapi-shared.ts';

/** Returns the shared parameters. If parameters with one name differ, the most frequent one is shared. */
export function namedParameters(operations: readonly OperationObject[]): Shared {
  const uses = new Map<string, { readonly parameter: OpenApiObject; count: number }>();
  for (const parameter of operations.flatMap(({ parameters }) => parameters)) {
    const text = JSON.stringify(parameter);
    const use = uses.get(text) ?? { parameter, count: 0 };
    use.count += 1;
    uses.set(text, use);
  }
  const shared = new Shared('parameters');
  for (const { parameter, count } of [...uses.values()].sort((a, b) => b.count - a.count)) {
    const name = componentName(parameter);
    if (!shared.isTaken(name) && (count > 1 || parameter.in === 'header')) {
      shared.add(name, parameter);
    }
  }
  return shared;
}

/** Distinguishes path parameters from query parameters with the same name. */
function componentName(parameter: OpenApiObject): string {
  return parameter.in === 'path' ? `path_${parameter.name}` : String(parameter.name);
}
