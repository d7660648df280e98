/**
 * Random requests, generated from the OpenAPI document of the service. A request names the parts of the world that it
 * uses (such as a key or an id) instead of containing them, so that the same seed generates the same requests.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { dereferenced } from '../../src/platform/http/routes/openapi-references.ts';
import { hostileText, type JsonSchema, politeBody, valueFor } from './random-values.ts';

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly { name: string; required: boolean; schema: JsonSchema }[];
  readonly body: JsonSchema | undefined;
}

interface OpenApiDocument {
  readonly paths: Record<string, Record<string, OpenApiOperation>>;
}
interface OpenApiOperation {
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: JsonSchema }[];
  readonly requestBody?: { content: { 'application/json': { schema: JsonSchema } } };
}

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(dereferenced(document).paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { parameters, requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      query: parameters.filter((parameter) => parameter.in === 'query'),
      body: requestBody?.content['application/json'].schema,
    })),
  );
}

export const credentials = [
  'none',
  'operator',
  'owner',
  'admin',
  'viewer',
  'unscoped',
  'foreign',
  'revoked',
  'expired',
  'early',
  'suspended',
] as const;
export type CredentialName = (typeof credentials)[number];
export type Credential = { readonly named: CredentialName } | { readonly header: string };

export const orgIds = ['own', 'foreign', 'suspended'] as const;
export const keyIds = [
  'admin',
  'viewer',
  'revoked',
  'expired',
  'foreign',
  'spare',
  'operator',
  'spareOperator',
] as const;
/** Names such as `own` are looked up in the world; a `literal` is used in the path unchanged. */
export type Id =
  | { readonly org: (typeof orgIds)[number] }
  | { readonly key: (typeof keyIds)[number] }
  /** The resource that the world has for this path parameter. */
  | { readonly resource: string }
  | { readonly literal: string };

export interface RandomRequest {
  readonly method: string;
  readonly path: string;
  readonly ids: readonly Id[];
  readonly queryString: string;
  readonly credential: Credential;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly address: string;
}

const literalId = fc
  .oneof(
    fc.constantFrom(
      'org_0',
      'key_0',
      '%00',
      '%zz',
      '%2F',
      '%C3%28',
      '%25',
      '*',
      ':id',
      '{id}',
      'a'.repeat(300),
      '%20',
    ),
    fc.constantFrom('null', '-1', '%F0%9F%98%80', '%27%20OR%201=1', '__proto__', 'constructor', ''),
  )
  .map((literal) => ({ literal }));

/** Returns an id that the route can find. */
function fittingId(path: string, parameter: string): Id {
  switch (parameter) {
    case 'id':
    case 'org_id':
      return { org: 'own' };
    case 'key_id':
      return { key: path.startsWith('/v1/admin/keys') ? 'spareOperator' : 'spare' };
    default:
      return { resource: resourceFor(path, parameter) };
  }
}

/** Operators have their own sessions, with the same parameter name; only a run without a price can be repriced. */
function resourceFor(path: string, parameter: string): string {
  if (path.endsWith('/reprice')) {
    return 'unpriced_run_id';
  }
  if (parameter === 'grant_id' && path.startsWith('/v1/admin')) {
    return 'active_grant_id';
  }
  return path.startsWith('/v1/admin/sessions') ? `operator_${parameter}` : parameter;
}

/** Generates ids, most of which the route can find. */
function idFor(path: string, parameter: string): fc.Arbitrary<Id> {
  if (!['id', 'org_id', 'key_id'].includes(parameter)) {
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant({ resource: resourceFor(path, parameter) }) },
      { weight: 1, arbitrary: literalId },
    );
  }
  const fitting = fittingId(path, parameter);
  const known: fc.Arbitrary<Id> =
    parameter === 'key_id'
      ? fc.constantFrom(...keyIds).map((key) => ({ key }))
      : fc.constantFrom(...orgIds).map((org) => ({ org }));
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(fitting) },
    { weight: 3, arbitrary: known },
    { weight: 1, arbitrary: literalId },
  );
}

/** Generates credentials, most of which may call the route. */
function credentialFor(path: string): fc.Arbitrary<Credential> {
  const fitting: Credential = { named: path.startsWith('/v1/admin') ? 'operator' : 'owner' };
  const malformed = fc
    .constantFrom(
      'Bearer',
      'Bearer  ',
      'Basic YTpi',
      'Bearer nonsense',
      `Bearer svc_live_${'0'.repeat(39)}`,
      'bearer a b',
      '\xff',
    )
    .map((header) => ({ header }));
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(fitting) },
    { weight: 6, arbitrary: fc.constantFrom(...credentials).map((named) => ({ named })) },
    { weight: 1, arbitrary: malformed },
  );
}

function encode(value: unknown): string {
  return encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed());
}

function queryString({ query }: Operation): fc.Arbitrary<string> {
  const declared = query.map(({ name, schema }) =>
    valueFor(schema, name).map((value) => `${name}=${encode(value)}`),
  );
  const strange = fc.oneof(
    fc.constantFrom(
      'a=%zz',
      '%',
      '=',
      '&&',
      'limit=5&limit=6',
      'name=%00',
      'sort=',
      '__proto__=1',
      '%ff=1',
      'x'.repeat(3_000),
    ),
    hostileText.map((text) => `${encode(text)}=${encode(text)}`),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    {
      weight: 4,
      arbitrary:
        declared.length === 0
          ? fc.constant('')
          : fc
              .subarray(declared)
              .chain((some) => fc.tuple(...some))
              .map((pairs) => pairs.join('&')),
    },
    { weight: 1, arbitrary: strange },
  );
}

interface Payload {
  readonly body: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const encoders = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  identity: (bytes: Buffer) => bytes,
};
const jsonType = { 'content-type': 'application/json' };

function payloadFor({ method, body }: Operation): fc.Arbitrary<Payload> {
  const nothing: Payload = { body: undefined, headers: {} };
  if (method === 'GET' || body === undefined) {
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant(nothing) },
      { weight: 1, arbitrary: strangePayload(fc.constant({})) },
    );
  }
  const proper = valueFor(body).map(
    (value): Payload => ({ body: Buffer.from(JSON.stringify(value)), headers: jsonType }),
  );
  return fc.oneof(
    { weight: 14, arbitrary: proper },
    { weight: 1, arbitrary: fc.constant(nothing) },
    { weight: 1, arbitrary: fc.constant({ body: Buffer.alloc(5_000, ' '), headers: jsonType }) },
    { weight: 2, arbitrary: strangePayload(valueFor(body)) },
  );
}

/** Generates payloads that are truncated, malformed, mislabelled or too large. */
function strangePayload(value: fc.Arbitrary<unknown>): fc.Arbitrary<Payload> {
  const bytes = fc.oneof(
    value.map((v) => Buffer.from(JSON.stringify(v))),
    fc.tuple(value, fc.double({ min: 0, max: 1, noNaN: true })).map(([v, part]) => {
      const text = Buffer.from(JSON.stringify(v));
      return text.subarray(0, Math.floor(text.length * part));
    }),
    fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw)),
    fc
      .constantFrom('', 'null', '[]', '0', '"x"', '['.repeat(500), '{"__proto__":{}}', ' '.repeat(20_000))
      .map((text) => Buffer.from(text)),
  );
  const type = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=latin1',
    'text/plain',
    '',
    'application/json;;;',
  );
  const coding = fc.constantFrom('gzip', 'deflate', 'br', 'identity');
  return fc
    .record({
      bytes,
      type,
      coding,
      label: fc.option(fc.oneof(coding, fc.constantFrom('zstd', '__proto__', 'GZIP', ''))),
    })
    .map(
      ({ bytes, type, coding, label }): Payload => ({
        body: encoders[coding](bytes),
        headers: { 'content-type': type, 'content-encoding': label ?? coding },
      }),
    );
}

const extraHeaders = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 40 }).map((n) => ({ 'idempotency-key': `key ${n}` })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'idempotency-key': '' },
      { 'idempotency-key': 'k'.repeat(256) },
      { 'idempotency-key': 'caf\xe9' },
      { 'x-svc-trace-id': 'f'.repeat(32) },
      { 'x-forwarded-for': '10.0.0.1' },
      { origin: 'https://app.example.com' },
      { accept: 'text/html' },
      { cookie: 'session=nonsense' },
      { expect: 'tea' },
      { 'x-http-method-override': 'DELETE' },
    ),
  },
);

const methods = fc.constantFrom(
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
);

export function randomRequest(operations: readonly Operation[]): fc.Arbitrary<RandomRequest> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.oneof(...operations.map(requestFor)) },
    { weight: 1, arbitrary: fc.oneof(...operations.map(politeRequestFor)) },
  );
}

/** Requests by a permitted caller for existing resources in plain JSON, so that every operation also succeeds. */
function politeRequestFor({ method, path, query, body }: Operation): fc.Arbitrary<RandomRequest> {
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => fittingId(path, name ?? ''));
  const named: CredentialName = path.startsWith('/v1/admin') ? 'operator' : 'owner';
  const bodies = body === undefined ? fc.constant(undefined) : politeBody(body);
  const needed = query.filter(({ required }) => required);
  const queries = politeBody({
    properties: Object.fromEntries(needed.map(({ name, schema }) => [name, schema])),
    required: needed.map(({ name }) => name),
  });
  return fc.tuple(bodies, queries).map(([value, parameters]) => ({
    method,
    path,
    ids,
    queryString: Object.entries(parameters as object)
      .map(([name, text]) => `${name}=${encode(text)}`)
      .join('&'),
    credential: { named },
    headers: value === undefined ? {} : jsonType,
    body: value === undefined ? undefined : Buffer.from(JSON.stringify(value)),
    address: '127.0.0.1',
  }));
}

function requestFor(operation: Operation): fc.Arbitrary<RandomRequest> {
  const parameters = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const head = operation.method === 'GET' ? 'HEAD' : operation.method;
  return fc
    .record({
      method: fc.oneof(
        { weight: 20, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constant(head) },
        { weight: 1, arbitrary: methods },
      ),
      path: fc.oneof(
        { weight: 40, arbitrary: fc.constant(operation.path) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            `${operation.path}/`,
            `${operation.path}/x`,
            `/${operation.path}`,
            '/v1',
            '/v2/x',
          ),
        },
      ),
      ids: fc.tuple(...parameters.map((name) => idFor(operation.path, name))),
      queryString: queryString(operation),
      credential: credentialFor(operation.path),
      payload: payloadFor(operation),
      extra: extraHeaders,
      address: fc.constantFrom('127.0.0.1', '10.1.2.3', '2001:db8::1', '::ffff:10.0.0.1'),
    })
    .map(({ payload, extra, ...rest }) => ({
      ...rest,
      body: payload.body,
      headers: { ...payload.headers, ...extra },
    }));
}
