/** The form of operations before their repeated parts become components. */
import type { OpenApiObject } from './openapi-shared.ts';

export interface Response extends OpenApiObject {
  readonly content?: { readonly [MediaType: string]: { readonly schema: OpenApiObject } };
}

export interface OperationObject extends OpenApiObject {
  readonly operationId: string;
  readonly parameters: readonly OpenApiObject[];
  readonly requestBody?: {
    readonly content: { readonly [MediaType: string]: { readonly schema: OpenApiObject } };
  };
  readonly responses: { readonly [Status: string]: Response };
}

export type Paths = Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;

export function operationsIn(paths: Paths): OperationObject[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** Returns the schema of a JSON body. */
export function jsonSchema(content: Response['content']): OpenApiObject | undefined {
  return content?.['application/json']?.schema;
}
