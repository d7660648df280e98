/**
 * Moves repeated parts of an OpenAPI document into its components: resources, requests, lists and events under their own names,
 * error responses, and parameters. Code generators create one type per name. The meaning of the document stays the same.
 */
import type { SchemaNames } from './openapi-names.ts';
import { type OperationObject, operationsIn, type Paths } from './openapi-operation.ts';
import { namedParameters } from './openapi-parameters.ts';
import { namedResponses } from './openapi-responses.ts';
import { namedSchemas } from './openapi-schemas.ts';
import { mapValues, type OpenApiObject } from './openapi-shared.ts';

/** Returns the document with components. `names` overrides the names that are derived from operation ids. */
export function withComponents(document: OpenApiObject, names: SchemaNames): OpenApiObject {
  const paths = document.paths as Paths;
  const webhooks = document.webhooks as Paths;
  const operations = operationsIn(paths);
  const events = operationsIn(webhooks);
  const schemas = namedSchemas(paths, webhooks, names);
  const responses = namedResponses(operations, events);
  const parameters = namedParameters([...operations, ...events]);

  const shareOperation = (operation: OperationObject): OpenApiObject => {
    const own = operation.parameters.filter((one) => one.in !== 'path');
    return withoutEmpty({
      ...operation,
      parameters: own.map((one) => parameters.share(one)),
      requestBody: schemas.shareWithin(operation.requestBody),
      responses: mapValues(operation.responses, (response) => {
        const shared = responses.share(response);
        return shared === response ? schemas.shareWithin(response) : shared;
      }),
    });
  };
  // The parameters of a path are the same for each of its operations.
  const shareItem = (item: Paths[string]): OpenApiObject => {
    const inPath = Object.values(item)[0]?.parameters.filter((one) => one.in === 'path') ?? [];
    return withoutEmpty({
      parameters: inPath.map((one) => parameters.share(one)),
      ...mapValues(item, shareOperation),
    });
  };
  const components = document.components as { readonly schemas: OpenApiObject } & OpenApiObject;
  return {
    ...document,
    paths: mapValues(paths, shareItem),
    webhooks: mapValues(webhooks, shareItem),
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

/** Leaves out undefined values and an empty list of parameters. An empty `security` is kept, because it means that none is needed. */
function withoutEmpty(values: OpenApiObject): OpenApiObject {
  const isEmpty = (name: string, value: unknown) =>
    value === undefined || (name === 'parameters' && (value as OpenApiObject[]).length === 0);
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isEmpty(name, value)));
}
