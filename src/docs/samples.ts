/** Samples of a call in curl, TypeScript and Python, from the operation and its example values. They need no libraries. */
import { exampleRequests } from './example-requests.ts';
import { type DocsOperation, successOf } from './openapi.ts';

export interface Samples {
  readonly sh: string;
  readonly ts: string;
  readonly python: string;
}

/** The part of an operation that a sample depends on. */
export type SampledOperation = Pick<
  DocsOperation,
  'operationId' | 'method' | 'path' | 'isPublic' | 'responses'
>;

interface SampleCall {
  readonly method: string;
  /** The path. Variables are written as `$NAME`. */
  readonly path: string;
  /** Name of the variable with the key; undefined for public operations. */
  readonly key: string | undefined;
  readonly body: unknown;
  readonly answer: 'json' | 'text' | 'none';
}

export function samplesOf(operation: SampledOperation): Samples {
  const call = callOf(operation);
  return { sh: curl(call), ts: typeScript(call), python: python(call) };
}

/** Returns the names of the environment variables that the samples read. */
export function variablesOf(operation: SampledOperation): string[] {
  return variables(callOf(operation));
}

function callOf({ operationId, method, path, isPublic, responses }: SampledOperation): SampleCall {
  const { query, body } = exampleRequests[operationId] ?? {};
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
  return {
    method,
    path:
      path.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => `$${name === 'id' ? 'ORG_ID' : name.toUpperCase()}`,
      ) + search,
    key: isPublic ? undefined : path.startsWith('/v1/admin/') ? 'PURSER_OPERATOR_KEY' : 'PURSER_KEY',
    body,
    answer: answerOf(responses),
  };
}

function answerOf(responses: DocsOperation['responses']): SampleCall['answer'] {
  const types = successOf(responses)?.content;
  if (types === undefined) {
    return 'none';
  }
  return 'application/json' in types ? 'json' : 'text';
}

function curl({ method, path, key, body }: SampleCall): string {
  const lines = [
    `curl -sSf${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : ` -X ${method}`} "$PURSER_URL${path}"`,
    ...(key === undefined ? [] : [`-H "Authorization: Bearer $${key}"`]),
    ...(body === undefined
      ? []
      : [
          `-H 'Content-Type: application/json'`,
          `-d '${JSON.stringify(body, null, 2)
            .replaceAll("'", "'\\''")
            .replaceAll(/"\$([A-Z_]+)"/g, `"'"$$$1"'"`)}'`,
        ]),
  ];
  return lines.join(' \\\n  ');
}

function typeScript(call: SampleCall): string {
  const { method, path, key, body, answer } = call;
  const headers = [
    ...(key === undefined ? [] : [`Authorization: \`Bearer \${${key}}\``]),
    ...(body === undefined ? [] : [`'Content-Type': 'application/json'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(javaScriptValue(body, 0))}),`]),
  ];
  const url = `\`\${PURSER_URL}${path.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => `\${${name}}`)}\``;
  return `const { ${variables(call).join(', ')} } = process.env;
const response = await fetch(${url}${options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`});
if (!response.ok) {
  throw new Error(await response.text());
}${answer === 'none' ? '' : `\nconsole.log(await response.${answer}());`}`;
}

function python(call: SampleCall): string {
  const { method, path, key, body, answer } = call;
  const headers = [
    ...(key === undefined ? [] : [`"Authorization": f"Bearer {env['${key}']}"`]),
    ...(body === undefined ? [] : [`"Content-Type": "application/json"`]),
  ];
  const url = `f"{env['PURSER_URL']}${path.replaceAll(/\$([A-Z_]+)/g, "{env['$1']}")}"`;
  const arguments_ = [
    `    ${url},`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...(body === undefined ? [] : [`    data=json.dumps(${pythonValue(body, 1)}).encode(),`]),
  ];
  const usesJson = body !== undefined || answer === 'json';
  const read = {
    json: 'print(json.load(response))',
    text: 'print(response.read().decode())',
    none: 'print(response.status)',
  };
  return `${usesJson ? 'import json\n' : ''}import urllib.request
from os import environ as env

request = urllib.request.Request(
${arguments_.join('\n')}
)
with urllib.request.urlopen(request) as response:
    ${read[answer]}`;
}

function variables({ path, key, body }: SampleCall): string[] {
  const text = `${path} ${JSON.stringify(body ?? null).replaceAll(/"\$(\w+)"/g, ' $$$1 ')}`;
  const found = [...text.matchAll(/\$([A-Z][A-Z_]*)/g)].map(([, name]) => name ?? '');
  return [...new Set(['PURSER_URL', ...(key === undefined ? [] : [key]), ...found])];
}

const indented = (text: string) => text.replaceAll('\n', '\n  ');

function javaScriptValue(value: unknown, depth: number): string {
  if (typeof value === 'string') {
    return /^\$[A-Z_]+$/.test(value) ? value.slice(1) : `'${value.replaceAll("'", "\\'")}'`;
  }
  return composite(
    value,
    depth,
    '  ',
    (name) => (/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`),
    javaScriptValue,
  );
}

function pythonValue(value: unknown, depth: number): string {
  if (typeof value === 'string') {
    return /^\$[A-Z_]+$/.test(value) ? `env["${value.slice(1)}"]` : JSON.stringify(value);
  }
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
  return words[String(value)] ?? composite(value, depth, '    ', (name) => `"${name}"`, pythonValue);
}

/** Returns a list or an object. A short one is in one line. */
function composite(
  value: unknown,
  depth: number,
  indent: string,
  nameOf: (name: string) => string,
  write: (value: unknown, depth: number) => string,
): string {
  if (typeof value !== 'object' || value === null) {
    return String(value);
  }
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const parts = Array.isArray(value)
    ? value.map((item) => write(item, depth + 1))
    : Object.entries(value).map(([name, field]) => `${nameOf(name)}: ${write(field, depth + 1)}`);
  const line = Array.isArray(value)
    ? `[${parts.join(', ')}]`
    : parts.length === 0
      ? '{}'
      : `{ ${parts.join(', ')} }`;
  if (line.length + indent.length * depth <= 60 && !line.includes('\n')) {
    return line;
  }
  const inner = indent.repeat(depth + 1);
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent.repeat(depth)}${close}`;
}
