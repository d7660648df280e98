/** Names the schemas of an OpenAPI document: resources, lists, requests, events, and the objects and enumerations inside them. */
import { pascalCase, type SchemaNames, schemaNamesOf } from './openapi-names.ts';
import { jsonSchema, type OperationObject, operationsIn, type Paths } from './openapi-operation.ts';
import { type OpenApiObject, Shared } from './openapi-shared.ts';

export function namedSchemas(paths: Paths, webhooks: Paths, names: SchemaNames): Shared {
  const shared = new Shared('schemas');
  const described = operationsIn(paths).map((operation) => ({
    name: schemaNamesOf(operation.operationId, names.operations),
    response: successSchema(operation),
    body: jsonSchema(operation.requestBody?.content),
  }));
  // The operation that reads a resource names it. The other operations that return it refer to that name.
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
  nameEvents(shared, webhooks);
  const composed = new Set(names.composed);
  const isComposed = ([name]: readonly [string, OpenApiObject]) => Number(composed.has(name));
  for (const [name, schema] of shared.sorted().toSorted((a, b) => isComposed(a) - isComposed(b))) {
    nameParts(shared, name, schema);
  }
  nameWords(shared, names.words);
  return shared;
}

/** Names the objects inside a schema by their field: the `runs` of a `BulkResult` are called `BulkResult_runs`. */
function nameParts(shared: Shared, owner: string, { properties }: OpenApiObject): void {
  for (const [field, value] of Object.entries(properties as Record<string, OpenApiObject>)) {
    const part = (value.items ?? value) as OpenApiObject;
    if (part.properties !== undefined && !shared.has(part)) {
      const name = `${owner}_${field}`;
      shared.add(name, part);
      nameParts(shared, name, part);
    }
  }
}

/**
 * `budget.created` is called `BudgetCreatedEvent`. Its data is called `BudgetEventData`, unless an earlier event about budgets has
 * different data.
 */
function nameEvents(shared: Shared, webhooks: Paths): void {
  for (const [type, item] of Object.entries(webhooks)) {
    const body = jsonSchema(item.post?.requestBody?.content);
    const data = (body?.properties as Record<string, OpenApiObject> | undefined)?.data;
    if (body !== undefined && data !== undefined) {
      const [subject = type] = type.split('.');
      const usual = `${pascalCase(subject)}EventData`;
      const event = type.split('.').map(pascalCase).join('');
      shared.add(shared.isTaken(usual) ? `${event}EventData` : usual, data);
      shared.add(`${event}Event`, body);
    }
  }
}

/** Names enumerations by a representative field, such as `Budget.period`. */
function nameWords(shared: Shared, words: SchemaNames['words']): void {
  const schemas = new Map(shared.sorted());
  for (const [name, path] of Object.entries(words)) {
    const [owner = '', ...fields] = path.split('.');
    const schema = fields.reduce<OpenApiObject | undefined>((place, field) => {
      const inner = (place?.properties as Record<string, OpenApiObject> | undefined)?.[field];
      return (inner?.items ?? inner) as OpenApiObject | undefined;
    }, schemas.get(owner));
    if (schema?.enum === undefined) {
      throw new Error(`The OpenAPI document has no words at ${path}, which would be called ${name}.`);
    }
    shared.add(name, schema);
  }
}

function successSchema({ responses }: OperationObject): OpenApiObject | undefined {
  return jsonSchema(Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content);
}

/** Returns the schema of the rows of a list. */
function itemSchema({ properties }: OpenApiObject): OpenApiObject | undefined {
  return (properties as { readonly data?: { readonly items?: OpenApiObject } }).data?.items;
}
