/** The parts of an OpenAPI document that the rules read, and resolution of its references. */
import { normalize, type Schema } from './schema-form.ts';

export interface Content {
  readonly [MediaType: string]: { readonly schema: Schema };
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: {
    readonly [Status: string]: {
      readonly headers?: { readonly [Name: string]: { readonly $ref?: string; readonly schema?: Schema } };
      readonly content?: Content;
    };
  };
}

type PathItem = { readonly [Method: string]: OpenApiOperation };

export interface OpenApi {
  readonly paths: { readonly [Path: string]: PathItem };
  readonly webhooks?: { readonly [Event: string]: PathItem };
  readonly components: {
    readonly securitySchemes: { readonly [Name: string]: { readonly scheme?: string } };
    readonly schemas: { readonly [Name: string]: Schema };
    readonly headers: { readonly [Name: string]: { readonly schema: Schema } };
  };
}

/** Operations by `GET /v1/path`. */
export function operationsOf({ paths }: OpenApi): Record<string, OpenApiOperation> {
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
    ),
  );
}

const errorReference = /#\/components\/schemas\/Error_(\w+)/g;

/** Returns the error codes that a response with this content can have. */
export function codesIn(content: Content | undefined): string[] {
  return [...JSON.stringify(content ?? {}).matchAll(errorReference)].map(([, code = '']) => code).sort();
}

/** Returns every code that an operation can return, with any status. */
export function codesOf({ responses }: OpenApiOperation): string[] {
  return Object.values(responses).flatMap(({ content }) => codesIn(content));
}

/** Returns the normalized schema with its references resolved. A recursive schema keeps the reference. */
export function resolved(document: OpenApi, schema: unknown): Schema {
  return normalize(follow(document, schema, []));
}

function follow(document: OpenApi, value: unknown, within: readonly string[]): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => follow(document, item, within));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const { $ref } = value as { $ref?: unknown };
  if (typeof $ref === 'string' && !within.includes($ref)) {
    return follow(document, lookUp(document, $ref), [...within, $ref]);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, follow(document, inner, within)]),
  );
}

export function lookUp(document: OpenApi, reference: string): unknown {
  const parts = reference.replace(/^#\//, '').split('/');
  return parts.reduce<unknown>((place, part) => (place as Schema | undefined)?.[part], document);
}
