/** Builds the OpenAPI 3.1 document from the route declarations and the error catalog. */
import type { Deprecation, DeprecationRegistry } from '../../../contract/deprecations.ts';
import { type ErrorCode, errorCatalog, errorCodes } from '../../../contract/errors.ts';
import { entityTagsOf, isVersioned } from './entity-tag.ts';
import { withComponents } from './openapi-components.ts';
import type { SchemaNames } from './openapi-names.ts';
import { responseSchema } from './openapi-response-schemas.ts';
import type { OpenApiObject } from './openapi-shared.ts';
import { describeWebhooks } from './openapi-webhooks.ts';
import { bodyLimits, type Route } from './route.ts';

export interface ApiInfo {
  readonly version: string;
  readonly baseUrl: string;
  readonly docsUrl: string;
  /** Description of each group of operations, by the first part of their ids. */
  readonly groups: Readonly<Record<string, string>>;
  readonly schemaNames: SchemaNames;
  readonly deprecations: Pick<DeprecationRegistry, 'find' | 'list'>;
}

const sessionCookie = '__Host-purser_session';

/**
 * Caches the document, because it is public and expensive to build. It is only built again if its input has changed. Until then the
 * same object is returned, so that callers can cache data derived from it.
 */
export function cachedOpenApi(routes: () => readonly Route[], info: () => ApiInfo): () => OpenApiObject {
  let cached: { readonly input: string; readonly document: OpenApiObject } | undefined;
  return () => {
    const { baseUrl, docsUrl, deprecations } = info();
    const input = JSON.stringify([baseUrl, docsUrl, deprecations.list()]);
    cached = cached?.input === input ? cached : { input, document: buildOpenApi(routes(), info()) };
    return cached.document;
  };
}

export function buildOpenApi(
  routes: readonly Route[],
  { version, baseUrl, docsUrl, groups, schemaNames, deprecations }: ApiInfo,
): OpenApiObject {
  const possible = new Set(routes.flatMap(possibleErrors));
  const codes = errorCodes.filter((code) => possible.has(code));
  const tagged = entityTagsOf(routes);
  const paths: Record<string, OpenApiObject> = {};
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = operation(route, {
      deprecation: deprecations.find(route.path),
      hasEntityTag: tagged.has(route.path) && (route.method === 'GET' || isVersioned(route)),
    });
    paths[route.path] = item;
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Purser',
      version,
      description: `Control of what AI costs.\n\nRequest bodies, unless the operation states another limit: ${limitSentence(bodyLimits.usual)}`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    externalDocs: { url: docsUrl },
    security: [{ key: [] }, { session: [] }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: groups[name] })),
    paths,
    webhooks: describeWebhooks(),
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie,
          description:
            'A session of the console. Over plain HTTP the cookie is called `purser_session`. A request that changes ' +
            'something must come from a page of the service itself. A bearer token takes precedence over the cookie.',
        },
      },
      schemas: Object.fromEntries(codes.map((code) => [errorSchemaName(code), errorSchema(code, docsUrl)])),
      headers: {
        TraceId: {
          description: 'Locates the request in the logs of the service.',
          schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
        },
        Replayed: {
          description:
            '`true` if the response is that of an earlier request with the same `Idempotency-Key`.',
          schema: { type: 'string' },
        },
        ETag: {
          description: 'The version of the resource, for `If-Match` of a change.',
          schema: { type: 'string' },
        },
        Authenticate: { description: 'How to authenticate.', schema: { type: 'string' } },
        RateLimit: {
          description:
            'What is left of the request rates that apply to the request, as a structured field of draft-ietf-httpapi-ratelimit-headers: ' +
            '`r` requests, all of them available again after `t` seconds. Left out if no request rate applies.',
          schema: { type: 'string' },
          example: '"read_rpm";r=99;t=60',
        },
        RateLimitPolicy: {
          description:
            'The request rates that apply to the request, by their ids: `q` requests per `w` seconds. Left out if none applies.',
          schema: { type: 'string' },
          example: '"read_rpm";q=100;w=60',
        },
        RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
        ...(routes.some(({ path }) => deprecations.find(path) !== undefined) && deprecationHeaderSchemas),
      },
    },
  };
  return withComponents(document, schemaNames);
}

/** Returns every error code of a route: the declared ones, and those of the pipeline. */
export function possibleErrors(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(['bad_request', 'internal', 'service_unavailable', ...route.errors]);
  const add = (...more: ErrorCode[]) => {
    for (const code of more) {
      codes.add(code);
    }
  };
  if (route.access.kind !== 'public') {
    add(
      'unauthorized',
      'session_revoked',
      'key_expired',
      'gone',
      'ip_not_allowed',
      'org_suspended',
      'residency_violation',
      'support_scope_denied',
      'forbidden',
      'rate_limited',
    );
  }
  if (route.access.kind === 'org' || route.access.kind === 'operator_or_admin') {
    add('missing_scope');
  }
  if (route.path.includes('{')) {
    add('not_found');
  }
  // An unknown query parameter is rejected on every route.
  add('validation_failed');
  if (route.kind === 'write') {
    add('payload_too_large', 'idempotency_key_conflict', 'idempotency_key_processing');
  }
  if (isVersioned(route)) {
    add('conflict');
  }
  return errorCodes.filter((code) => codes.has(code));
}

const deprecationHeaderSchemas = {
  Deprecation: {
    description: 'Since when the route is deprecated: `@` and Unix seconds (RFC 9745).',
    schema: { type: 'string', pattern: '^@\\d+$' },
  },
  Sunset: {
    description: 'The HTTP date after which the route may be removed (RFC 8594).',
    schema: { type: 'string' },
  },
  DeprecationLink: {
    description:
      'The documentation, as `rel="deprecation"`, and the successor, as `rel="successor-version"`.',
    schema: { type: 'string' },
  },
};

interface OperationSignals {
  readonly deprecation: Deprecation | undefined;
  readonly hasEntityTag: boolean;
}

function operation(route: Route, signals: OperationSignals): OpenApiObject {
  const { deprecation } = signals;
  return {
    operationId: route.id,
    summary: route.summary,
    ...(deprecation !== undefined && { deprecated: true }),
    description: [deprecation && deprecationSentence(deprecation), route.description, accessSentence(route)]
      .filter(Boolean)
      .join('\n\n'),
    tags: [tagOf(route)],
    ...(route.access.kind === 'public' && { security: [] }),
    parameters: parameters(route),
    ...(route.body !== undefined && {
      requestBody: {
        ...(route.bodyLimitBytes !== bodyLimits.usual && {
          description: limitSentence(route.bodyLimitBytes),
        }),
        ...(!route.bodyOptional && { required: true }),
        content: {
          'application/json': { schema: route.body },
          ...(route.lines !== undefined && {
            'application/x-ndjson': { schema: linesSchema(route, route.lines) },
          }),
        },
      },
    }),
    responses: responses(route, signals),
  };
}

function limitSentence(bytes: number): string {
  return Number.isFinite(bytes)
    ? `At most ${bytes} bytes, also after decompression.`
    : 'At most `SVC_BODY_LIMIT_BYTES` bytes, also after decompression.';
}

function deprecationSentence({ since, sunset, replacement }: Deprecation): string {
  const successor = replacement === undefined ? '' : ` Use \`${replacement}\`.`;
  return `Deprecated since ${since}; may be removed after ${sunset}.${successor}`;
}

/** Returns the schema of one line. */
function linesSchema({ body }: Route, field: string): unknown {
  return (body?.properties[field] as { readonly items?: unknown } | undefined)?.items ?? {};
}

function accessSentence({ access }: Route): string {
  switch (access.kind) {
    case 'public':
      return 'Public.';
    case 'operator':
      return 'For platform operators.';
    case 'operator_or_admin':
      return `For platform operators, who need no scope, and for the organization's own keys with the scope \`${access.scope}\` and the role \`admin\` or above.`;
    case 'org':
      return `Requires the scope \`${access.scope}\` and the role \`${access.role}\` or above.`;
  }
}

const idempotencyKeyHeader: OpenApiObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes a retry safe: requests with the same key and body have one effect and the same response, for 72 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const ifMatchHeader: OpenApiObject = {
  name: 'If-Match',
  in: 'header',
  description:
    'The `ETag` of the version that you have read. If the resource is another version by now, the response is 409 `conflict`.',
  schema: { type: 'string' },
};

function parameters(route: Route): OpenApiObject[] {
  const path = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const required = new Set<string>(route.query?.required);
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.has(name) && { required: true }),
    schema,
  }));
  return [
    ...path,
    ...query,
    ...(route.kind === 'write' ? [idempotencyKeyHeader] : []),
    ...(isVersioned(route) ? [ifMatchHeader] : []),
  ];
}

function responses(route: Route, { deprecation, hasEntityTag }: OperationSignals): OpenApiObject {
  const everywhere = {
    'x-svc-trace-id': { $ref: '#/components/headers/TraceId' },
    RateLimit: { $ref: '#/components/headers/RateLimit' },
    'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
    ...(deprecation !== undefined && {
      Deprecation: { $ref: '#/components/headers/Deprecation' },
      Sunset: { $ref: '#/components/headers/Sunset' },
      Link: { $ref: '#/components/headers/DeprecationLink' },
    }),
  };
  const success = {
    description: 'Success.',
    headers: {
      ...everywhere,
      ...(hasEntityTag && { ETag: { $ref: '#/components/headers/ETag' } }),
      ...(route.kind === 'write' && { 'Idempotent-Replayed': { $ref: '#/components/headers/Replayed' } }),
    },
    ...((route.response ?? route.contentTypes) !== undefined && {
      content: {
        ...(route.response !== undefined && {
          'application/json': { schema: responseSchema(route.response) },
        }),
        ...Object.fromEntries(
          (route.contentTypes ?? []).map((type) => [type, { schema: { type: 'string' } }]),
        ),
      },
    }),
  };
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of possibleErrors(route)) {
    for (const status of errorCatalog[code].statuses) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  const errors = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${errorCatalog[code].meaning}`).join('\n\n'),
        headers: {
          ...everywhere,
          ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/Authenticate' } }),
          ...(codes.includes('rate_limited') && {
            'Retry-After': { $ref: '#/components/headers/RetryAfter' },
          }),
        },
        content: { 'application/json': { schema: oneOf(codes) } },
      },
    ]);
  const unchanged = {
    description: 'The `If-None-Match` header names the current version.',
    headers: everywhere,
  };
  return {
    [String(route.success)]: success,
    ...((route.run.kind === 'document' || (hasEntityTag && route.kind === 'read')) && { '304': unchanged }),
    ...Object.fromEntries(errors),
  };
}

function oneOf(codes: readonly ErrorCode[]): OpenApiObject {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${errorSchemaName(code)}` }));
  return refs.length === 1 ? { ...refs[0] } : { oneOf: refs };
}

function errorSchema(code: ErrorCode, docsUrl: string): OpenApiObject {
  const { details, meaning } = errorCatalog[code];
  return {
    type: 'object',
    description: meaning,
    externalDocs: { url: `${docsUrl}/errors#${code}` },
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'details'],
        properties: { code: { const: code }, message: { type: 'string' }, details },
      },
    },
  };
}

function errorSchemaName(code: ErrorCode): string {
  return `Error_${code}`;
}

function tagOf(route: Route): string {
  return route.id.split('.')[0] ?? route.id;
}
