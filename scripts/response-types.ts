/**
 * Renders the JSON responses of the OpenAPI document as TypeScript types, by operation id. The console reads the API through
 * them, so that a change of a response schema is a compile error on every page that no longer fits.
 */
import { refName, refsIn, type Schema, typeText } from './schema-types.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const header = `// biome-ignore-all format: written by scripts/generate.ts
/** The JSON response of every operation of the API, by operation id. Generated from the OpenAPI document: do not edit, run \`npm run generate\`. */
`;
const footer = `}

export type OperationId = keyof Responses;

/** The type of the rows of a list. */
export type Item<Id extends OperationId> = Responses[Id] extends { readonly data: readonly (infer Row)[] } ? Row : never;
`;

/** `openApi`: the document that buildOpenApi returns. */
export function responseTypes(openApi: object): string {
  const { paths, components } = openApi as OpenApi;
  const responses = Object.values(paths)
    .flatMap((methods) => Object.entries(methods))
    // Parameters that all operations of a path have in common are declared beside them.
    .filter(([method]) => method !== 'parameters')
    .flatMap(([, operation]): [string, Schema][] => {
      const schema = jsonResponse(operation);
      return schema === undefined ? [] : [[operation.operationId, schema]];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const used = new Set<string>();
  const add = (schema: Schema) => {
    for (const name of refsIn(schema)) {
      if (!used.has(name)) {
        used.add(name);
        add(components.schemas[name] ?? {});
      }
    }
  };
  for (const [, schema] of responses) {
    add(schema);
  }
  const types = Object.entries(components.schemas)
    .filter(([name]) => used.has(name))
    // Not interfaces, which have no index signature: pages read fields by their names.
    .map(([name, schema]) => `export type ${name} = ${typeText(schema, refName)};\n`);
  const entries = responses.map(
    ([id, schema]) => `  readonly '${id}': ${typeText(schema, refName, '  ')};\n`,
  );
  return `${header}${types.join('')}\nexport interface Responses {\n${entries.join('')}${footer}`;
}

function jsonResponse({ responses }: Operation): Schema | undefined {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.['application/json']?.schema)
    .find((schema) => schema !== undefined);
}
