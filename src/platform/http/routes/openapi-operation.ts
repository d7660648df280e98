/** The form of operations before their repeated parts become components. */
import type { Json } from './openapi-shared.ts';

export interface Response extends Json {
  readonly content?: { readonly [MediaType: string]: { readonly schema: Json } };
}

export interface OperationObject extends Json {
  readonly operationId: string;
  readonly parameters: readonly Json[];
  readonly requestBody?: { readonly content: { readonly [MediaType: string]: { readonly schema: Json } } };
  readonly responses: { readonly [Status: string]: Response };
}

export type Paths = Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;

export function operationsIn(paths: Paths): OperationObject[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** Returns the schema of a JSON body. */
export function jsonSchema(content: Response['content']): Json | undefined {
  return content?.['application/json']?.schema;
}
