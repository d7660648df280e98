/** Resolves the references of an OpenAPI document to its own components. */

type Json = Record<string, unknown>;

/**
 * Returns the document as if it had no shared schemas, responses and parameters. References to headers and to error envelopes
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
  return follow(document) as Document;
}

function isShared(reference: string): boolean {
  return /^#\/components\/(responses|parameters|schemas\/(?!Error_))/.test(reference);
}
