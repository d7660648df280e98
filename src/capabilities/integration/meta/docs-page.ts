/** The API reference at `/docs`, generated from the OpenAPI document. */
import { dereferenced } from '../../../platform/http/routes/openapi-references.ts';
import type { Page } from '../../../platform/http/routes/page.ts';
import { rendered, renderedFrom } from '../../../platform/http/routes/rendered.ts';
import { escapeHtml, type HtmlPage, htmlAnswer, inline, paragraphs } from './html.ts';

interface Schema {
  readonly type?: string | string[];
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly parameters: readonly {
    name: string;
    in: string;
    required: boolean;
    description?: string;
    schema: Schema;
  }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<
    Record<
      string,
      { description: string; content?: { readonly 'application/json'?: { readonly schema: Schema } } }
    >
  >;
}

interface OpenApi {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export function docsPage(openApi: () => object): Page {
  const page = renderedFrom(openApi, (from) => {
    const { contentType, body, headers } = htmlAnswer(renderReference(dereferenced(from) as OpenApi));
    return rendered(contentType, String(body), headers);
  });
  return {
    path: '/docs',
    async handler() {
      const { contentType, text, headers } = page();
      return { status: 200, contentType, body: text, headers };
    },
  };
}

/** Start page for people who open the base URL in a browser. */
export const rootPage: Page = {
  path: '/',
  handler: async () => ({
    status: 302,
    contentType: 'text/plain; charset=utf-8',
    body: 'The API is at /v1, its reference at /docs.\n',
    headers: { location: '/docs' },
  }),
};

interface Entry extends Operation {
  readonly method: string;
  readonly path: string;
}

function renderReference({ info, tags, paths }: OpenApi): HtmlPage {
  const entries: Entry[] = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const groups = tags.map(({ name }) => ({
    name,
    entries: entries.filter((entry) => entry.tags.includes(name)),
  }));
  const menu = groups.map(
    (group) =>
      `<h2>${escapeHtml(group.name.replaceAll('_', ' '))}</h2><ul>${group.entries
        .map((entry) => `<li><a href="#${entry.operationId}">${escapeHtml(entry.summary)}</a></li>`)
        .join('')}</ul>`,
  );
  return {
    title: 'Purser API',
    menuLabel: 'Operations',
    menu: menu.join(''),
    main: `<h1>Purser API</h1>
<p>Version ${escapeHtml(info.version)}. The same as data: <a href="/v1/openapi.json">OpenAPI</a>,
<a href="/v1/meta/errors">error codes</a>. Authenticate with <code>Authorization: Bearer …</code>.
What is <a href="/docs/deprecations">deprecated</a>, and what to use instead.</p>
${groups.flatMap((group) => group.entries.map(renderOperation)).join('\n')}`,
  };
}

function renderOperation(entry: Entry): string {
  const parameters = entry.parameters.map((parameter) => ({
    name: parameter.name,
    type: `${typeName(parameter.schema)} in ${parameter.in}${parameter.required ? '' : ', optional'}`,
    text: parameter.description ?? parameter.schema.description ?? '',
  }));
  const answers = Object.entries(entry.responses).map(([status, { description }]) => ({
    name: status,
    type: '',
    text: description,
  }));
  const success = Object.values(entry.responses)[0]?.content?.['application/json']?.schema;
  return `<section id="${entry.operationId}"><h3>${escapeHtml(entry.summary)}</h3>
<p class="call"><b>${entry.method}</b> ${escapeHtml(entry.path)}${entry.deprecated === true ? ' (deprecated)' : ''}</p>
${paragraphs(entry.description)}
${table('Parameters', parameters)}
${table('Body', fields(entry.requestBody?.content['application/json'].schema))}
${table('Answer', fields(success))}
${table('Statuses', answers)}</section>`;
}

interface Row {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

function fields(schema: Schema | undefined): Row[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const optional = schema?.required?.includes(name) === true ? '' : ', optional';
    const row = { name, type: typeName(field) + optional, text: field.description ?? '' };
    const inner = fields(field.items).map((item) => ({ ...item, name: `${name}[].${item.name}` }));
    return [row, ...inner];
  });
}

function typeName({ type, format, enum: words, items }: Schema): string {
  if (words !== undefined) {
    return words.join(' | ');
  }
  const base = [type ?? 'any'].flat().join(' or ');
  return items === undefined ? (format ?? base) : `list of ${typeName(items)}`;
}

function table(title: string, rows: readonly Row[]): string {
  if (rows.length === 0) {
    return '';
  }
  const lines = rows.map(
    ({ name, type, text }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td>${type === '' ? '' : `<td>${escapeHtml(type)}</td>`}<td>${inline(text)}</td></tr>`,
  );
  return `<h4>${title}</h4><table>${lines.join('')}</table>`;
}
