/**
 * Renders the JSON responses of the OpenAPI document as TypeScript types, by operation id. The console reads the API through
 * them, so that a change of a response schema is a compile error on every page that no longer fits.
 */

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

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
    return `  readonly '${id}': ${render(schema, others, '  ')};\n`;
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

/** `owners`: operation ids by the shape of their response. */
function render(schema: Schema, owners: ReadonlyMap<string, string>, indent = ''): string {
  const owner = owners.size > 0 && schema.properties ? owners.get(shapeOf(schema)) : undefined;
  if (owner !== undefined) {
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    return `Responses['${owner}']${isNullable ? ' | null' : ''}`;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((part) => render(part, owners, indent)).join(' | ');
  }
  if (schema.enum !== undefined) {
    return schema.enum.map(literal).join(' | ');
  }
  if ('const' in schema) {
    return literal(schema.const);
  }
  const types = [schema.type ?? []].flat();
  return types.length === 0
    ? 'unknown'
    : types.map((type) => typeOf(type, schema, owners, indent)).join(' | ');
}

/** The type of an object, written out. */
function shapeOf(schema: Schema): string {
  return objectType(schema, new Map(), '');
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function typeOf(type: string, schema: Schema, owners: ReadonlyMap<string, string>, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = render(schema.items ?? {}, owners, indent);
      return `readonly ${/ \| /.test(item) && !item.startsWith('{') ? `(${item})` : item}[]`;
    }
    case 'object':
      return objectType(schema, owners, indent);
    default:
      return type;
  }
}

function objectType(schema: Schema, owners: ReadonlyMap<string, string>, indent: string): string {
  const { properties, required = [], additionalProperties, patternProperties } = schema;
  if (properties === undefined) {
    const values =
      Object.values(patternProperties ?? {})[0] ??
      (typeof additionalProperties === 'object' ? additionalProperties : {});
    return `Readonly<Record<string, ${render(values, owners, indent)}>>`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(
    ([name, part]) =>
      `${inner}readonly ${/^\w+$/.test(name) ? name : `'${name}'`}${required.includes(name) ? '' : '?'}: ${render(part, owners, inner)};\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}
