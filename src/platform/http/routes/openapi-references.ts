/** Resolves the references of an OpenAPI document to its own components. */
import { type Json, mapValues } from './openapi-shared.ts';

/**
 * Returns the document as if it had no shared schemas, responses and parameters, and as if each operation had its own parameters. References to headers and to error envelopes
 * stay, because they tell which header and which error code it is.
 */
export function dereferenced<Document extends object>(document: Document): Document {
  const found = new Map<string, unknown>();
  const resolve = (reference: string): unknown => {
    if (!found.has(reference)) {
      const parts = reference.replace(/^#\//, '').split('/');
      const target = parts.reduce<unknown>((place, part) => (place as Json | undefined)?.[part], document);
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
  const inlined = follow(document) as Document & { readonly paths?: Items; readonly webhooks?: Items };
  return {
    ...inlined,
    ...(inlined.paths !== undefined && { paths: mapValues(inlined.paths, withOwnParameters) }),
    ...(inlined.webhooks !== undefined && { webhooks: mapValues(inlined.webhooks, withOwnParameters) }),
  };
}

type Items = Readonly<Record<string, Item>>;
type Item = Readonly<Record<string, unknown>> & { readonly parameters?: readonly unknown[] };

/** Gives each operation the parameters of its path, and a list of parameters even if it has none. */
function withOwnParameters({ parameters: inPath = [], ...operations }: Item): Json {
  return mapValues(operations, (operation) => ({
    ...(operation as Json),
    parameters: [...inPath, ...((operation as Item).parameters ?? [])],
  }));
}

function isShared(reference: string): boolean {
  return /^#\/components\/(responses|parameters|schemas\/(?!Error_))/.test(reference);
}
