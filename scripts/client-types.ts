/**
 * Renders the OpenAPI document as the generated part of `packages/client`: a named type for every schema, the details of every error
 * code, and the operations, as a type and as a table. `budgets.create` becomes `client.budgets.create(orgId, body)`: the parameters of
 * the path in their order, then the body, then the query.
 */
import { propertyName, refName, type Schema, typeText } from './schema-types.ts';

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

const generated = (what: string) => `// biome-ignore-all format: written by scripts/generate.ts
// biome-ignore-all assist/source/organizeImports: written by scripts/generate.ts
/** ${what} Generated from the OpenAPI document: do not edit, run \`npm run generate\`. */
`;
const errorPrefix = 'Error_';

/** Returns the files of the client. `openApi`: the document that buildOpenApi returns. */
export function clientFiles(openApi: object): Record<string, string> {
  const document = openApi as OpenApi;
  return {
    'packages/client/src/generated/types.ts': typesFile(document),
    'packages/client/src/generated/api.ts': apiFile(document),
    'packages/client/src/generated/operations.ts': operationsFile(document),
  };
}

function typesFile({ components, webhooks }: OpenApi): string {
  const schemas = Object.entries(components.schemas);
  const types = schemas
    .filter(([name]) => !name.startsWith(errorPrefix))
    .map(([name, schema]) => {
      const text = typeText(schema, refName);
      return text.startsWith('{') && text.endsWith('\n}')
        ? `export interface ${name} ${text}\n`
        : `export type ${name} = ${text};\n`;
    });
  const errors = schemas
    .filter(([name]) => name.startsWith(errorPrefix))
    .map(([name, { properties = {} }]) => {
      const details = properties.error?.properties?.details ?? {};
      return `  readonly ${name.slice(errorPrefix.length)}: ${typeText(details, refName, '  ')};\n`;
    });
  const events = Object.values(webhooks).map(({ post }) => jsonName(post.requestBody));
  return [
    generated('The resources, requests, lists and events of the API.'),
    ...types,
    `/** The details of each error code. */\nexport interface ErrorDetails {\n${errors.join('')}}\n`,
    `export type ErrorCodeName = keyof ErrorDetails;\n`,
    `/** Every event that a webhook subscription can receive. */\nexport type PurserEvent = ${events.join(' | ')};\n`,
  ].join('\n');
}

const jsonOf = (content: Content | undefined) => content?.content?.['application/json']?.schema;
const jsonName = (content: Content | undefined) => typeText(jsonOf(content) ?? {}, refName);

interface Method {
  readonly id: string;
  readonly verb: string;
  readonly path: string;
  readonly operation: Operation;
  readonly query: readonly Parameter[];
  readonly response: ResponseKind;
}

type ResponseKind = 'none' | 'json' | 'list' | 'raw';

function methodsOf(document: OpenApi): Method[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([verb]) => verb !== 'parameters')
      .map(([verb, operation]) => {
        const parameters = (operation.parameters ?? []).map((parameter) => {
          const name = refName(parameter);
          return name === undefined ? parameter : (document.components.parameters[name] as Parameter);
        });
        const query = parameters.filter((parameter) => parameter.in === 'query');
        const response = responseKind(document, operation, query);
        return { id: operation.operationId, verb: verb.toUpperCase(), path, operation, query, response };
      }),
  );
}

function responseOf({ responses }: Operation): Content {
  const [found] = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return found?.[1] ?? {};
}

function responseKind(document: OpenApi, operation: Operation, query: readonly Parameter[]): ResponseKind {
  const { content } = responseOf(operation);
  if (content === undefined) {
    return 'none';
  }
  const schema = jsonOf({ content });
  if (schema === undefined) {
    return 'raw';
  }
  const { properties = {} } = document.components.schemas[refName(schema) ?? ''] ?? schema;
  const isList = 'data' in properties && 'next_cursor' in properties;
  return isList && query.some(({ name }) => name === 'cursor') ? 'list' : 'json';
}

const camelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** Names of parameters in a path. An organization is `id` below `/v1/orgs`. */
const argumentsOf = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => (name === 'id' ? 'orgId' : camelCase(name)));

type Namespace = Map<string, Namespace | Method>;

/** Methods of the client itself. */
const reserved = ['guard', 'wrap', 'withRun', 'request', 'flush', 'close', 'then'];

function apiFile(document: OpenApi): string {
  const root: Namespace = new Map();
  for (const method of methodsOf(document)) {
    const names = method.id.split('.').map(camelCase);
    const last = names.pop() as string;
    const place = names.reduce((space: Namespace, name) => {
      const inner = space.get(name) ?? new Map();
      if (!(inner instanceof Map)) {
        throw new Error(`${method.id}: ${name} is an operation and a group`);
      }
      space.set(name, inner);
      return inner;
    }, root);
    if (place.has(last) || reserved.includes(names[0] ?? last)) {
      throw new Error(`${method.id}: the name is taken`);
    }
    place.set(last, method);
  }
  const text = namespaceText(document, root, '');
  const code = text.replace(/\/\*\*.*?\*\//g, '');
  const names = Object.keys(document.components.schemas)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(code))
    .map((name) => `  ${name},\n`);
  return `${generated('The operations of the API, by operation id.')}import type { ListRequest, RequestOptions } from '../request-options.ts';
import type {
${names.join('')}} from './types.ts';

export interface Api ${text}
`;
}

function namespaceText(document: OpenApi, space: Namespace, indent: string): string {
  const inner = `${indent}  `;
  const entries = [...space].map(([name, entry]) =>
    entry instanceof Map
      ? `${inner}readonly ${name}: ${namespaceText(document, entry, inner)};\n`
      : `${inner}/** ${entry.operation.summary}.${entry.operation.deprecated ? ' @deprecated' : ''} */\n${inner}${name}(${parametersText(entry, inner)}): ${resultText(document, entry)};\n`,
  );
  return `{\n${entries.join('')}${indent}}`;
}

function parametersText({ path, operation, query }: Method, indent: string): string {
  const { requestBody } = operation;
  const fields = query.filter(({ name }) => name !== 'format' || jsonOf(responseOf(operation)) === undefined);
  const isQueryRequired = fields.some(({ required }) => required);
  const inner = `${indent}  `;
  const queryText = fields.map(
    ({ name, required, schema }) =>
      `${inner}readonly ${propertyName(name)}${required ? '' : '?'}: ${typeText(schema, refName, inner)};\n`,
  );
  return [
    ...argumentsOf(path).map((name) => `${name}: string`),
    ...(requestBody === undefined
      ? []
      : [`body${requestBody.required ? '' : '?'}: ${jsonName(requestBody)}`]),
    ...(fields.length === 0
      ? []
      : [`query${isQueryRequired ? '' : '?'}: {\n${queryText.join('')}${indent}}`]),
    'options?: RequestOptions',
  ].join(', ');
}

function resultText(document: OpenApi, { operation, response }: Method): string {
  const schema = jsonOf(responseOf(operation));
  switch (response) {
    case 'none':
      return 'Promise<void>';
    case 'raw':
      return 'Promise<Response>';
    case 'list': {
      const page = document.components.schemas[refName(schema ?? {}) ?? ''];
      return `ListRequest<${typeText(page?.properties?.data?.items ?? {}, refName)}, ${jsonName(responseOf(operation))}>`;
    }
    default:
      return `Promise<${jsonName(responseOf(operation))}>`;
  }
}

/** One line per operation: method, path, and letters for what it has: a body, a query, a list, or a response that is not JSON. */
function operationsFile(document: OpenApi): string {
  const lines = methodsOf(document).map(({ id, verb, path, operation, query, response }) => {
    const letters = [
      operation.requestBody && 'b',
      query.length > 0 && 'q',
      response === 'list' && 'l',
      response === 'raw' && 'r',
    ];
    return `  '${id.split('.').map(camelCase).join('.')}': '${verb} ${path} ${letters.filter(Boolean).join('')}',\n`;
  });
  return `${generated('Method, path and form of every operation, by its name in the client.')}export const operations: Readonly<Record<string, string>> = {\n${lines.join('')}};\n`;
}
