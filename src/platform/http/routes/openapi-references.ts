/** Resolves the references of an OpenAPI document to its own components. */
import { mapValues, type OpenApiObject } from './openapi-shared.ts';

/**
 * Returns the document with complete operations and without references to schemas, responses and parameters. References to headers
 * and to error envelopes stay, because they name the header and the error code.
 */
export function dereferenced<Document extends object>(document: Document): Document {
  const found = new Map<string, unknown>();
  const resolve = (reference: string): unknown => {
    if (!found.has(reference)) {
      const parts = reference.replace(/^#\//, '').split('/');
      const target = parts.reduce<unknown>(
        (place, part) => (place as OpenApiObject | undefined)?.[part],
        document,
      );
      found.set(reference, follow(target));
    }
    return found.get(reference);
  };
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      return value.map(follow);
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    const { $ref } = value as { readonly $ref?: unknown };
    return typeof $ref === 'string' && isShared($ref)
      ? resolve($ref)
      : Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, follow(inner)]));
  };
  return completeOperations(follow(document) as Document);
}

type Items = Readonly<Record<string, PathOperations>>;
type PathOperations = Readonly<Record<string, unknown>> & { readonly parameters?: readonly unknown[] };

/**
 * Copies everything that applies to an operation into the operation: the parameters of its path (an empty list if it has none), and
 * the security requirements of the document if the operation states no others. References stay.
 */
export function completeOperations<Document extends object>(document: Document): Document {
  const { security, paths, webhooks } = document as Partial<Record<'paths' | 'webhooks', Items>> &
    OpenApiObject;
  const complete = ({ parameters: inPath = [], ...operations }: PathOperations): OpenApiObject =>
    mapValues(operations, (operation) => ({
      ...(security !== undefined && { security }),
      ...(operation as OpenApiObject),
      parameters: [...inPath, ...((operation as PathOperations).parameters ?? [])],
    }));
  return {
    ...document,
    ...(paths !== undefined && { paths: mapValues(paths, complete) }),
    ...(webhooks !== undefined && { webhooks: mapValues(webhooks, complete) }),
  };
}

function isShared(reference: string): boolean {
  return /^#\/components\/(responses|parameters|schemas\/(?!Error_))/.test(reference);
}
