/** Objects that several responses of a page contain. They are described once, below the operations. */
import { fieldTable } from './field-table.ts';
import { type JsonSchema, nameOfReference, type Schemas } from './json-schema.ts';
import { type DocsOperation, jsonSchemaOf, type lookupIn, successOf } from './openapi.ts';

type Find = ReturnType<typeof lookupIn>;

/** Returns the anchors of the schemas that several responses of the group contain, by name. */
export function sharedObjects(operations: readonly DocsOperation[], find: Find): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { responses } of operations) {
    const schema = jsonSchemaOf(successOf(responses));
    const list = schema?.$ref === undefined ? undefined : (find(schema.$ref) as JsonSchema | undefined);
    const { items } = list?.properties?.data ?? {};
    const name = nameOfReference(items?.$ref ?? schema?.$ref);
    if (name !== undefined) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return new Map([...counts].filter(([, count]) => count > 1).map(([name]) => [name, `object.${name}`]));
}

export function objectMarkdown(name: string, shared: ReadonlyMap<string, string>, find: Find): string {
  const schema = (find(`#/components/schemas/${name}`) ?? {}) as JsonSchema;
  const others = new Map([...shared].filter(([other]) => other !== name));
  return `<a id="object.${name}"></a>\n\n## The object ${name}\n\n${schema.description ?? ''}\n\n${fieldTable(schema, schemasOf(find, others))}\n`;
}

/** Returns the operation whose body each schema is, by the name of the schema. Other bodies may contain such a schema. */
export function bodiesOf(operations: readonly DocsOperation[]): Map<string, string> {
  return new Map(
    operations.flatMap(({ operationId, requestBody }) => {
      const name = nameOfReference(jsonSchemaOf(requestBody)?.$ref);
      return name === undefined ? [] : [[name, operationId] as const];
    }),
  );
}

export function schemasOf(find: Find, linked: ReadonlyMap<string, string>): Schemas {
  return { lookup: (reference) => find(reference) as JsonSchema | undefined, linked };
}
