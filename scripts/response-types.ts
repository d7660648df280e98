/**
 * Renders the type of the JSON response of every operation in the OpenAPI document, by operation id. The console reads the API through
 * them, with the types of the client, so that a change of a response schema is a compile error on every page that no longer fits.
 */
import { refName, type Schema, typeText } from './schema-types.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const header = `// biome-ignore-all format: written by scripts/generate.ts
/** The JSON response of every operation of the API, by operation id. Generated from the OpenAPI document: do not edit, run \`npm run generate\`. */
import type * as types from '../../packages/client/src/generated/types.ts';

export interface Responses {
`;
const footer = `}

export type OperationId = keyof Responses;

/** The type of the rows of a list. */
export type Item<Id extends OperationId> = Responses[Id] extends { readonly data: readonly (infer Row)[] } ? Row : never;
`;

/** `openApi`: the document that buildOpenApi returns. */
export function responseTypes(openApi: object): string {
  const { paths } = openApi as OpenApi;
  const entries = Object.values(paths)
    .flatMap((methods) => Object.entries(methods))
    // Parameters that all operations of a path have in common are declared beside them.
    .filter(([method]) => method !== 'parameters')
    .flatMap(([, operation]): [string, Schema][] => {
      const schema = jsonResponse(operation);
      return schema === undefined ? [] : [[operation.operationId, schema]];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, schema]) => `  readonly '${id}': ${typeText(schema, clientName, '  ')};\n`);
  return `${header}${entries.join('')}${footer}`;
}

function clientName(schema: Schema): string | undefined {
  const name = refName(schema);
  return name === undefined ? undefined : `types.${name}`;
}

function jsonResponse({ responses }: Operation): Schema | undefined {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.['application/json']?.schema)
    .find((schema) => schema !== undefined);
}
