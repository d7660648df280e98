/**
 * Moves what an OpenAPI document repeats into its components: resources, requests and lists under names of their own, error
 * responses, and header parameters. Generators make one type per name. The meaning of the document stays the same.
 */
import { type SchemaNames, schemaNamesOf } from './openapi-names.ts';

type Json = Record<string, unknown>;

interface Response extends Json {
  readonly content?: { readonly [MediaType: string]: { readonly schema: Json } };
}

interface Operation extends Json {
  readonly operationId: string;
  readonly parameters: readonly Json[];
  readonly requestBody?: { readonly content: { readonly [MediaType: string]: { readonly schema: Json } } };
  readonly responses: { readonly [Status: string]: Response };
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Returns the document with components. `names` overrides the names that follow from operation ids. */
export function withComponents(document: Json, names: SchemaNames): Json {
  const paths = document.paths as Paths;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const schemas = namedSchemas(operations, names);
  const responses = namedErrors(operations);
  const webhooks = document.webhooks as Paths;
  const parameters = namedHeaders([
    ...operations,
    ...Object.values(webhooks).flatMap((item) => Object.values(item)),
  ]);
  const share = (operation: Operation): Json => ({
    ...operation,
    parameters: operation.parameters.map((one) => parameters.share(one)),
    ...(operation.requestBody !== undefined && { requestBody: schemas.shareWithin(operation.requestBody) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        isError(status) ? responses.share(response) : schemas.shareWithin(response),
      ]),
    ),
  });
  const shareAll = (items: Paths) => mapValues(items, (item) => mapValues(item, share));
  const components = document.components as { readonly schemas: Json } & Json;
  return {
    ...document,
    paths: shareAll(paths),
    webhooks: shareAll(webhooks),
    components: {
      ...components,
      schemas: {
        ...Object.fromEntries(
          schemas
            .sorted()
            .map(([name, schema]) => [name, mapValues(schema, (part) => schemas.shareWithin(part))]),
        ),
        ...components.schemas,
      },
      responses: Object.fromEntries(responses.sorted()),
      parameters: Object.fromEntries(parameters.sorted()),
    },
  };
}

/** Named values of a section of the components. Values that equal one of them become references. */
class Shared {
  readonly #section: string;
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, Json>();

  constructor(section: string) {
    this.#section = section;
  }

  has(value: Json): boolean {
    return this.#names.has(JSON.stringify(value));
  }

  /** Does nothing if an equal value has a name already. */
  add(name: string, value: Json): void {
    if (this.has(value)) {
      return;
    }
    if (this.#values.has(name)) {
      throw new Error(`Two different ${this.#section} of the OpenAPI document would be called ${name}.`);
    }
    this.#names.set(JSON.stringify(value), name);
    this.#values.set(name, value);
  }

  share(value: Json): Json {
    const name = this.#names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/${this.#section}/${name}` };
  }

  /** Replaces schemas of objects wherever they are in the value. */
  shareWithin(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((item) => this.shareWithin(item));
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    const shared = 'properties' in value ? this.share(value as Json) : value;
    return shared === value ? mapValues(value as Json, (inner) => this.shareWithin(inner)) : shared;
  }

  sorted(): [name: string, value: Json][] {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

function namedSchemas(operations: readonly Operation[], names: SchemaNames): Shared {
  const shared = new Shared('schemas');
  const described = operations.map((operation) => ({
    name: schemaNamesOf(operation.operationId, names),
    response: successSchema(operation),
    body: operation.requestBody?.content['application/json']?.schema,
  }));
  // An operation that reads a resource names it; the others that return it refer to that name.
  for (const { name, response } of described.toSorted((a, b) => a.name.rank - b.name.rank)) {
    if (response?.properties === undefined) {
      continue;
    }
    const item = itemSchema(response);
    if (item?.properties !== undefined) {
      shared.add(name.item, item);
    }
    shared.add(item === undefined ? name.response : name.list, response);
  }
  for (const { name, body } of described) {
    if (body?.properties !== undefined) {
      shared.add(name.body, body);
    }
  }
  for (const [name, schema] of shared.sorted()) {
    nameParts(shared, name, schema);
  }
  return shared;
}

/** Names the objects within a schema by their field: the `runs` of a `BulkResult` are called `BulkResult_runs`. */
function nameParts(shared: Shared, owner: string, { properties }: Json): void {
  for (const [field, value] of Object.entries(properties as Record<string, Json>)) {
    const part = (value.items ?? value) as Json;
    if (part.properties !== undefined && !shared.has(part)) {
      const name = `${owner}_${field}`;
      shared.add(name, part);
      nameParts(shared, name, part);
    }
  }
}

function successSchema({ responses }: Operation): Json | undefined {
  return Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.[
    'application/json'
  ]?.schema;
}

/** Returns the schema of the rows of a list. */
function itemSchema({ properties }: Json): Json | undefined {
  return (properties as { readonly data?: { readonly items?: Json } }).data?.items;
}

function isError(status: string): boolean {
  return Number(status) >= 400;
}

/** Names an error response by its status, and by those of its codes that not every response with the status has. */
function namedErrors(operations: readonly Operation[]): Shared {
  const byStatus = new Map<string, { readonly response: Response; readonly codes: readonly string[] }[]>();
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      if (isError(status)) {
        const codes = [...JSON.stringify(response.content).matchAll(/Error_(\w+)/g)].map(
          ([, code = '']) => code,
        );
        byStatus.set(status, [...(byStatus.get(status) ?? []), { response, codes }]);
      }
    }
  }
  const shared = new Shared('responses');
  for (const [status, all] of byStatus) {
    const usual = all.reduce(
      (common, { codes }) => common.filter((code) => codes.includes(code)),
      all[0]?.codes ?? [],
    );
    for (const { response, codes } of all) {
      const unusual = codes.filter((code) => !usual.includes(code)).map((code) => `_${code}`);
      const deprecated = 'Deprecation' in (response.headers as Json) ? '_deprecated' : '';
      shared.add(`Error${status}${unusual.join('')}${deprecated}`, response);
    }
  }
  return shared;
}

/** Header parameters have the same meaning wherever they occur. */
function namedHeaders(operations: readonly Operation[]): Shared {
  const shared = new Shared('parameters');
  for (const parameter of operations.flatMap(({ parameters }) => parameters)) {
    if (parameter.in === 'header') {
      shared.add(String(parameter.name), parameter);
    }
  }
  return shared;
}

function mapValues<Value, Result>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
