/**
 * Renders the JSON responses of the OpenAPI document as TypeScript types, by operation id. The console reads the API through
 * them, so that a change of a response schema is a compile error on every page that no longer fits.
 */
import { type NameOf, objectType, type Schema, typeText } from './schema-types.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

const header = `// biome-ignore-all format: written by scripts/generate.ts
/**
 * The JSON response of every operation of the API, by operation id. Generated from the response schemas: do not edit, run
 * \`npm run generate\`.
 */
export interface Responses {
`;
const footer = `}

export type OperationId = keyof Responses;

/** The type of the rows of a list. */
export type Item<Id extends OperationId> = Responses[Id] extends { readonly data: readonly (infer Row)[] } ? Row : never;
`;

/** `openApi`: the document that buildOpenApi returns. */
export function responseTypes(openApi: object): string {
  const { paths } = openApi as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const schemas = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation): [string, Schema][] => {
      const schema = jsonResponse(operation);
      return schema === undefined ? [] : [[operation.operationId, schema]];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  // Operations that return one resource name its type; lists and changes of the same resource refer to it.
  const owners = new Map<string, string>();
  for (const [id, schema] of schemas.toSorted(([a], [b]) => rank(a) - rank(b))) {
    if (schema.properties !== undefined && !('data' in schema.properties)) {
      const shape = shapeOf(schema);
      owners.set(shape, owners.get(shape) ?? id);
    }
  }
  const entries = schemas.map(([id, schema]) => {
    const others = new Map([...owners].filter(([, owner]) => owner !== id));
    return `  readonly '${id}': ${typeText(schema, ownerIn(others), '  ')};\n`;
  });
  return header + entries.join('') + footer;
}

/** Operations that read a resource come before those that change it. */
function rank(operationId: string): number {
  return operationId.endsWith('read') ? 0 : 1;
}

function jsonResponse({ responses }: Operation): Schema | undefined {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.['application/json']?.schema)
    .find((schema) => schema !== undefined);
}

/** Names a type by the operation that returns it. `owners`: operation ids by the shape of their response. */
function ownerIn(owners: ReadonlyMap<string, string>): NameOf {
  return (schema) => {
    const owner = schema.properties === undefined ? undefined : owners.get(shapeOf(schema));
    return owner === undefined ? undefined : `Responses['${owner}']`;
  };
}

/** The type of an object, written out. */
function shapeOf(schema: Schema): string {
  return objectType(schema, () => undefined, '');
}
