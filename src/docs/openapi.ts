/** The parts of the OpenAPI document that the reference shows. */
import type { JsonSchema } from './json-schema.ts';

interface Reference {
  readonly $ref: string;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface DeclaredOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly security?: readonly object[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: Content & { readonly description?: string };
  readonly responses: Readonly<Record<string, Content | Reference>>;
}

type PathItem = { readonly parameters?: DeclaredOperation['parameters'] } & Readonly<
  Partial<Record<OpenApiMethod, DeclaredOperation>>
>;

export interface OpenApi {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly security?: readonly object[];
  readonly paths: Readonly<Record<string, PathItem>>;
}

/** An operation that includes what it inherits from its path and the document. It has no references except to schemas. */
export interface DocsOperation extends Omit<DeclaredOperation, 'parameters' | 'responses' | 'security'> {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, Content>>;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;
type OpenApiMethod = (typeof methods)[number];

export function operationsOf(openApi: OpenApi): DocsOperation[] {
  const find = lookupIn(openApi);
  const followed = <T extends object>(value: T | Reference) =>
    ('$ref' in value ? find(value.$ref) : value) as T;
  return Object.entries(openApi.paths).flatMap(([path, item]) =>
    methodsIn(item).map((method) => {
      const operation = item[method] as DeclaredOperation;
      const { security = openApi.security ?? [], parameters = [], responses } = operation;
      return {
        ...operation,
        method: method.toUpperCase(),
        path,
        isPublic: security.length === 0,
        parameters: [...(item.parameters ?? []), ...parameters].map((each) => followed<Parameter>(each)),
        responses: Object.fromEntries(
          Object.entries(responses).map(([status, response]) => [status, followed<Content>(response)]),
        ),
      };
    }),
  );
}

/** Returns the methods of a path, in the order of their declaration. */
function methodsIn(item: PathItem): OpenApiMethod[] {
  return Object.keys(item).filter((name): name is OpenApiMethod => methods.some((method) => method === name));
}

/** Returns a function that resolves references to `#/components/…`. */
export function lookupIn(document: object): (reference: string) => object | undefined {
  return (reference) =>
    reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((place, part) => (place as Record<string, unknown> | undefined)?.[part], document) as
      | object
      | undefined;
}

/** Returns the response of a successful request, which is declared first. */
export function successOf(responses: DocsOperation['responses']): Content | undefined {
  return Object.values(responses)[0];
}

export function jsonSchemaOf(content: Content | undefined): JsonSchema | undefined {
  return content?.content?.['application/json']?.schema;
}
