/** Checks how deprecations are signalled: response headers, the listing, OpenAPI and deliveries. */
import { without } from './check-answers.ts';
import { isDate, isHttpDate } from './dates.ts';
import type { Evidence } from './evidence.ts';
import type { FrozenContract } from './frozen-contract.ts';
import { operationsOf } from './openapi-document.ts';
import { broken } from './promises.ts';
import type { Schema } from './schema-form.ts';

export function checkSignalling(contract: FrozenContract, evidence: Evidence): string[] {
  const { openApi, registry, answers } = evidence;
  return Object.entries(operationsOf(openApi)).flatMap(([name, operation]) => {
    const entry = registry.find(({ route }) => name.endsWith(` ${route}`));
    if (entry === undefined) {
      return operation.deprecated === true
        ? [broken('signalling', `${name} is marked deprecated in OpenAPI and is not in the registry`)]
        : [];
    }
    const marked =
      operation.deprecated === true
        ? []
        : [broken('signalling', `${name} is deprecated and is not marked so in OpenAPI`)];
    const headers = answers[name]?.headers ?? {};
    const wrong = Object.entries(contract.signalling.headers).flatMap(([header, forms]) => {
      const value = headers[header.toLowerCase()] ?? '';
      const wanted = forms
        .filter((form) => entry.replacement !== undefined || !form.includes('{successor}'))
        .map((form) => headerPattern(form, entry));
      const there = header === 'Link' ? value.split(/,\s*/) : [value];
      return wanted.every((pattern) => there.some((part) => pattern.test(part)))
        ? []
        : [broken('signalling', `${name} answers with ${header}: "${value}", not ${forms.join(', ')}`)];
    });
    return [...marked, ...wrong];
  });
}

function headerPattern(
  form: string,
  { since, sunset, replacement }: { since: string; sunset: string; replacement?: string },
): RegExp {
  return pattern(form, {
    seconds: literal(String(Date.parse(`${since}T00:00:00Z`) / 1_000)),
    sunset: literal(sunset),
    docs_url: 'https?://[^>]+',
    successor: literal(replacement ?? ''),
  });
}

/** Converts a form of the contract such as `t={timestamp},v1={signature}` to a pattern for the whole text. */
function pattern(form: string, parts: Readonly<Record<string, string>>): RegExp {
  const source = form.split(/(\{\w+\})/).map((part) => parts[part.slice(1, -1)] ?? literal(part));
  return new RegExp(`^${source.join('')}$`);
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function checkListing(
  { deprecation_entry: entry }: FrozenContract,
  { openApi, registry, answers }: Evidence,
): string[] {
  const operation = operationsOf(openApi)['GET /v1/meta/deprecations'];
  if (operation === undefined) {
    return [];
  }
  const schema = operation.responses['200']?.content?.['application/json']?.schema ?? {};
  const item = (schema.items ?? {}) as Schema;
  const fields = Object.keys((item.properties ?? {}) as object);
  const listed = [JSON.parse(answers['GET /v1/meta/deprecations']?.body ?? '[]')].flat() as Listed[];
  const docsUrls = Object.values(answers).flatMap(
    ({ headers }) => /<([^>]+)>; rel="deprecation"/.exec(headers.link ?? '')?.[1] ?? [],
  );
  return [
    ...(schema.type === 'array'
      ? []
      : [broken('signalling', 'the listing of deprecations is no longer a bare array')]),
    ...without((item.required ?? []) as string[], entry.required).map((field) =>
      broken('signalling', `an entry of the listing of deprecations may lack ${field}`),
    ),
    ...without(fields, entry.optional).map((field) =>
      broken('signalling', `an entry of the listing of deprecations no longer has ${field}`),
    ),
    ...registry
      .filter(({ route }) => !listed.some((there) => there.route === route))
      .map(({ route }) => broken('signalling', `${route} is deprecated and not in the listing`)),
    ...listed.flatMap((entry) => checkListed(entry, registry, docsUrls)),
  ];
}

type Listed = Partial<Evidence['registry'][number]>;

/** Checks one entry of the list of deprecations, as the API returns it. */
function checkListed(
  { route = '', since = '', sunset = '', replacement, documentation = '' }: Listed,
  registry: Evidence['registry'],
  docsUrls: readonly string[],
): string[] {
  const registered = registry.find((entry) => entry.route === route);
  const wrong = [
    ...(isDate(since) && since === registered?.since ? [] : [`since is "${since}"`]),
    ...(isHttpDate(sunset) && sunset === registered?.sunset ? [] : [`sunset is "${sunset}"`]),
    ...(replacement === registered?.replacement ? [] : [`replacement is "${replacement}"`]),
    ...(docsUrls.some((url) => documentation.startsWith(url)) ? [] : [`documentation is "${documentation}"`]),
  ];
  return wrong.map((what) => broken('signalling', `the listing of deprecations: ${route}: ${what}`));
}

export function checkDeliveries(
  { deliveries: wanted, signalling }: FrozenContract,
  { deliveries, orgSignedDelivery }: Evidence,
): string[] {
  const parts = { signature: '[0-9a-f]+', timestamp: '\\d+' };
  const { signature_header: header } = wanted;
  const signatures = (['v1', 'v2'] as const).flatMap((version) => {
    const value = deliveries[version][header.toLowerCase()] ?? '';
    return pattern(wanted[version], parts).test(value)
      ? []
      : [
          broken(
            'deliveries',
            `a ${version} delivery is signed "${value}", not ${header}: ${wanted[version]}`,
          ),
        ];
  });
  const names = Object.keys(signalling.headers).map((name) => name.toLowerCase());
  return [
    ...signatures,
    ...without(Object.keys(deliveries.v1), names).map((name) =>
      broken('deliveries', `a v1 delivery lacks the header ${name}`),
    ),
    ...Object.entries(signalling.headers).flatMap(([name, [form = '']]) => {
      const value = deliveries.v1[name.toLowerCase()];
      return value === undefined || headerPattern(form, orgSignedDelivery).test(value)
        ? []
        : [broken('deliveries', `a v1 delivery carries ${name}: "${value}", not ${form}`)];
    }),
    ...names
      .filter((name) => deliveries.v2[name] !== undefined)
      .map((name) => broken('deliveries', `a v2 delivery carries the header ${name}`)),
  ];
}
