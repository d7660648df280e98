/** The API reference: an index, and a page for each group of operations. */
import { type ErrorCode, errorCodes } from '../contract/errors.ts';
import type { SiteDocument } from './document.ts';
import { fieldTable, rowsOf } from './field-table.ts';
import { type JsonSchema, type Lookup, typeName } from './json-schema.ts';
import { lookupIn, type OpenApi, type Operation, operationsOf, type Parameter } from './openapi.ts';

interface Group {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

export function referenceDocuments(openApi: OpenApi): SiteDocument[] {
  const groups = groupsOf(openApi);
  const find = lookupIn(openApi);
  return [
    { path: '/docs/api', section: 'reference', markdown: indexMarkdown(openApi, groups) },
    ...groups.map((group) => ({
      path: group.path,
      section: 'api' as const,
      markdown: groupMarkdown(group, find),
    })),
  ];
}

function groupsOf(openApi: OpenApi): Group[] {
  const operations = operationsOf(openApi);
  return openApi.tags.map(({ name, description }) => ({
    path: `/docs/api/${name.replaceAll('_', '-')}`,
    title: titleOfGroup(name),
    description,
    operations: operations.filter(({ tags }) => tags.includes(name)),
  }));
}

const words: Readonly<Record<string, string>> = {
  sso: 'Single sign-on',
  orgs: 'Organizations',
  org: 'Organization',
};

function titleOfGroup(name: string): string {
  const text = words[name] ?? name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function indexMarkdown({ info }: OpenApi, groups: readonly Group[]): string {
  const sections = groups.map(
    ({ path, title, description, operations }) =>
      `## [${title}](${path})\n\n${description}\n\n${operations
        .map(
          (operation) => `- [${operation.summary}](${path}#${operation.operationId}): ${callOf(operation)}`,
        )
        .join('\n')}\n`,
  );
  return `# API reference

Version ${info.version}. JSON over HTTP under \`/v1\`. Authenticate with \`Authorization: Bearer <key>\` ([keys](/docs/guides/keys)). A write
that may be retried carries an \`Idempotency-Key\` ([idempotency](/docs/guides/idempotency)). Every error has the same body and a
[code](/docs/errors). Amounts of money are decimal strings. The same as data: [OpenAPI 3.1](/v1/openapi.json).

${sections.join('\n')}`;
}

/** A list of all operations, for the start page. Their anchors are permanent. */
export function operationIndex(openApi: OpenApi): string {
  const items = groupsOf(openApi).flatMap(({ path, operations }) =>
    operations.map(
      (operation) =>
        `| <a id="${operation.operationId}"></a>[${operation.summary}](${path}#${operation.operationId})${
          operation.deprecated === true ? ' (deprecated)' : ''
        } | ${callOf(operation)} |`,
    ),
  );
  return `## All operations\n\n| operation | request |\n|---|---|\n${items.join('\n')}\n`;
}

function callOf({ method, path }: Operation): string {
  return `\`${method} ${path}\``;
}

function groupMarkdown({ title, description, operations }: Group, find: ReturnType<typeof lookupIn>): string {
  return `# ${title}\n\n${description}\n\n${operations.map((operation) => operationMarkdown(operation, find)).join('\n')}`;
}

function operationMarkdown(operation: Operation, find: ReturnType<typeof lookupIn>): string {
  const lookup: Lookup = (reference) => find(reference) as JsonSchema | undefined;
  const { operationId, summary, description, requestBody, responses, deprecated } = operation;
  const parameters = operation.parameters.map((each) =>
    '$ref' in each ? (find(each.$ref) as Parameter) : each,
  );
  const body = jsonOf(requestBody);
  const [success] = Object.values(responses);
  const answer = success === undefined || '$ref' in success ? undefined : jsonOf(success);
  return `<a id="${operationId}"></a>

## ${summary}

${callOf(operation)} · \`${operationId}\`${deprecated === true ? ' (deprecated: see [deprecations](/docs/deprecations))' : ''}

${description}

${part('Parameters', parameterTable(parameters, lookup))}${part('Body', body && `${fieldTable(body, lookup)}\n${requestBody?.description ?? ''}`)}${part('Response', answer && answerMarkdown(answer, lookup))}${part('Errors', errorLinks(responses, find))}`;
}

function part(title: string, text: string | undefined): string {
  return text === undefined || text.trim() === '' ? '' : `### ${title}\n\n${text}\n\n`;
}

function jsonOf(
  content: { readonly content?: Readonly<Record<string, { schema?: JsonSchema }>> } | undefined,
) {
  return content?.content?.['application/json']?.schema;
}

function answerMarkdown(schema: JsonSchema, lookup: Lookup): string {
  return fieldTable(schema, lookup) || `${typeName(schema, lookup)}\n`;
}

function parameterTable(parameters: readonly Parameter[], lookup: Lookup): string {
  return parameters.length === 0
    ? ''
    : rowsOf(
        ['name', 'type', ''],
        parameters.map(({ name, in: place, required, description, schema }) => ({
          name,
          type: `${typeName(schema, lookup)}, in ${place}${required ? '' : ', optional'}`,
          text: description ?? schema.description ?? '',
        })),
      );
}

/** The codes of each status, from the references to their schemas. */
function errorLinks(responses: Operation['responses'], find: ReturnType<typeof lookupIn>): string {
  const found = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]) => {
      const whole = '$ref' in response ? find(response.$ref) : response;
      const named = new Set(
        [...JSON.stringify(whole).matchAll(/schemas\/Error_(\w+)/g)].map(([, code]) => code),
      );
      const codes = errorCodes.filter((code: ErrorCode) => named.has(code));
      return `${status}: ${codes.map((code) => `[\`${code}\`](/docs/errors#${code})`).join(', ')}`;
    });
  return found.length === 0 ? '' : `${found.join('. ')}.`;
}
