/** The parts of the OpenAPI document that the reference shows. */
import type { JsonSchema } from './json-schema.ts';

export interface OpenApi {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DeclaredOperation>>>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

export interface DeclaredOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly security: readonly object[];
  readonly parameters: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: Content & { readonly description?: string; readonly required?: boolean };
  readonly responses: Readonly<
    Record<string, (Content & { readonly description: string }) | { readonly $ref: string }>
  >;
}

export interface Operation extends DeclaredOperation {
  readonly method: string;
  readonly path: string;
}

export function operationsOf({ paths }: OpenApi): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** Returns the object that `#/components/…` names. */
export function lookupIn(document: object): (reference: string) => object | undefined {
  return (reference) =>
    reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((place, part) => (place as Record<string, unknown> | undefined)?.[part], document) as
      | object
      | undefined;
}

/** Returns the response of a successful request: the first that is declared. */
export function successOf(responses: Operation['responses']): Content | undefined {
  const [success] = Object.values(responses);
  return success === undefined || '$ref' in success ? undefined : success;
}

export function jsonSchemaOf(content: Content | undefined): JsonSchema | undefined {
  return content?.content?.['application/json']?.schema;
}
