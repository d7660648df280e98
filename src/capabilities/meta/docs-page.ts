/**
 * The API reference at `/docs`: plain HTML made from the OpenAPI document. It runs no script and asks no other
 * host for anything, so it works behind the strictest network.
 */
import { createHash } from 'node:crypto';
import type { Page } from '../../platform/http/page.ts';

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
      { description: string; content?: { readonly 'application/json': { readonly schema: Schema } } }
    >
  >;
}

interface OpenApi {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: light-dark(#0b5d4a, #6fd3b8); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 60rem); gap: 2.5rem; padding: 2rem; }
nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow: auto; font-size: .9rem; }
nav ul { list-style: none; padding: 0; margin: 0 0 1rem; } nav a { text-decoration: none; color: inherit; }
nav a:hover, nav a:focus { color: var(--accent); text-decoration: underline; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .06em; margin: 0 0 .2rem; }
h1 { margin: 0 0 .2rem; } a { color: var(--accent); }
section { border-top: 1px solid var(--line); padding: 1.2rem 0; } section h3 { margin: 0 0 .3rem; }
.call { font-family: ui-monospace, monospace; background: var(--soft); padding: .35rem .6rem; border-radius: .4rem; overflow-wrap: anywhere; }
.call b { color: var(--accent); } code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; table-layout: fixed; width: 100%; font-size: .92rem; margin: .4rem 0 1rem; }
td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } td:first-child { width: 12rem; } td:nth-child(2):not(:last-child) { width: 13rem; }
h4 { margin: .8rem 0 0; font-size: .95rem; }
@media (max-width: 56rem) { body { display: block; padding: 1rem; } nav { position: static; max-height: none; } }
`;

const styleHash = createHash('sha256').update(style).digest('base64');
const headers = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
};

export function docsPage(openApi: () => object): Page {
  return {
    path: '/docs',
    async handler() {
      const body = renderReference(openApi() as OpenApi);
      return { status: 200, contentType: 'text/html; charset=utf-8', body, headers };
    },
  };
}

/** Someone who opens the bare address in a browser is looking for this. */
export const rootPage: Page = {
  path: '/',
  handler: async () => ({
    status: 302,
    contentType: 'text/plain; charset=utf-8',
    body: 'The API is under /v1, its reference at /docs.\n',
    headers: { location: '/docs' },
  }),
};

interface Entry extends Operation {
  readonly method: string;
  readonly path: string;
}

function renderReference({ info, tags, paths }: OpenApi): string {
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
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Purser API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head>
<body><nav aria-label="Operations">${menu.join('')}</nav><main><h1>Purser API</h1>
<p>Version ${escapeHtml(info.version)}. The same as data: <a href="/v1/openapi.json">OpenAPI</a>,
<a href="/v1/meta/errors">error codes</a>. Authenticate with <code>Authorization: Bearer …</code>.</p>
${groups.flatMap((group) => group.entries.map(renderOperation)).join('\n')}</main></body></html>`;
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
  const success = Object.values(entry.responses)[0]?.content?.['application/json'].schema;
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

function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((part) => `<p>${inline(part)}</p>`)
    .join('');
}

/** Descriptions use back-ticks for code and blank lines between sentences. */
function inline(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n\n', '<br>');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
