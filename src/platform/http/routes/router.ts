/** Finds the route or page of a request, and its compiled schemas. */
import createRouter from 'find-my-way';
import { type TObject, Type } from 'typebox';
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import { isStorable } from '../message/json-errors.ts';
import { type EntityTagOf, entityTagsOf } from './entity-tag.ts';
import type { Page } from './page.ts';
import type { RawEndpoint } from './raw-endpoint.ts';
import type { Route } from './route.ts';
import { compileBody, compileQuery, type Validator } from './validation.ts';

export type Endpoint =
  | { readonly kind: 'page'; readonly template: string; readonly page: Page }
  | { readonly kind: 'raw'; readonly template: string; readonly raw: RawEndpoint }
  | {
      readonly kind: 'route';
      readonly template: string;
      readonly route: Route;
      readonly checkQuery: Validator;
      readonly checkBody: Validator;
      /** Checks everything except the items that the route can skip. */
      readonly checkBodyWithoutItems: Validator;
      /** Undefined if the resource cannot be changed. */
      readonly entityTagOf: EntityTagOf | undefined;
    };

export type RouteEndpoint = Extract<Endpoint, { kind: 'route' }>;

export interface RouteMatch {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
  readonly queryString: string;
}

export interface Router {
  /** Returns the endpoint, `bad_request` for a path that cannot be decoded, or `not_found` for an undeclared path. */
  find(method: string, url: string): RouteMatch | ApiError;
  /** Returns the endpoint of a URL, even if `find` rejects the URL because an id in its path cannot be decoded or stored. */
  endpointOf(method: string, url: string): Endpoint | undefined;
}

const noFields = Type.Object({}, { additionalProperties: false });

function withoutItems({ body = noFields, skipsItems }: Route): TObject {
  if (skipsItems === undefined) {
    return body;
  }
  const { minItems = 0, maxItems = Number.MAX_SAFE_INTEGER } = body.properties[skipsItems.field] as {
    readonly minItems?: number;
    readonly maxItems?: number;
  };
  const anyItems = Type.Array(Type.Unknown(), { minItems, maxItems });
  return { ...body, properties: { ...body.properties, [skipsItems.field]: anyItems } };
}

export function buildRouter(
  routes: readonly Route[],
  pages: readonly Page[],
  rawEndpoints: readonly RawEndpoint[] = [],
): Router {
  const router = createRouter({
    querystringParser: (text: string) => text as unknown as Record<string, string>,
    onBadUrl: () => undefined,
    // A long id is not found, and the server limits the size of the request line.
    maxParamLength: Number.MAX_SAFE_INTEGER,
  });
  const add = (method: string, template: string, endpoint: Endpoint) =>
    router.on(method as 'GET', template.replaceAll(/\{(\w+)\}/g, ':$1'), () => undefined, endpoint);

  const entityTags = entityTagsOf(routes);
  for (const route of routes) {
    checkDeclaration(route);
    const endpoint: Endpoint = {
      kind: 'route',
      template: route.path,
      route,
      checkQuery: atFirstUse(() => compileQuery(route.query ?? noFields)),
      checkBody: atFirstUse(() => compileBody(route.body ?? noFields)),
      checkBodyWithoutItems: atFirstUse(() => compileBody(withoutItems(route))),
      entityTagOf: entityTags.get(route.path),
    };
    add(route.method, route.path, endpoint);
  }
  for (const page of pages) {
    add(page.method ?? 'GET', page.path, { kind: 'page', template: page.path, page });
  }

  for (const raw of rawEndpoints) {
    for (const path of [raw.path, `${raw.path}/*`]) {
      router.all(path, () => undefined, { kind: 'raw', template: `${raw.path}/*`, raw });
    }
  }

  const lookUp = (method: string, url: string) =>
    router.find(method === 'HEAD' ? 'GET' : (method as 'GET'), url);

  return {
    find(method, url) {
      const match = lookUp(method, url);
      if (match === null) {
        return apiError('not_found', 'There is no such route.');
      }
      if (match.store == null) {
        return apiError('bad_request', 'The path is not properly percent-encoded.');
      }
      const params = match.params as Record<string, string>;
      const endpoint = match.store as Endpoint;
      if (endpoint.kind === 'raw') {
        return { endpoint, params: {}, queryString: match.searchParams as unknown as string };
      }
      // An empty parameter comes from a trailing or doubled slash.
      if (!Object.values(params).every((value) => value !== '' && isStorable(value))) {
        return apiError('not_found', 'There is no such route.');
      }
      return {
        endpoint,
        params,
        queryString: match.searchParams as unknown as string,
      };
    },
    endpointOf(method, url) {
      const match = lookUp(method, withoutUnreadableParts(url));
      const isEndpoint = match?.store != null && Object.values(match.params).every((value) => value !== '');
      return isEndpoint ? (match.store as Endpoint) : undefined;
    },
  };
}

/** Replaces a path segment that cannot be decoded. It only matches parameters, because no path has it as a fixed segment. */
const unreadable = '~';

function withoutUnreadableParts(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  return path
    .split('/')
    .map((part) => (isReadable(part) ? part : unreadable))
    .join('/');
}

function isReadable(part: string): boolean {
  try {
    return isStorable(decodeURIComponent(part));
  } catch {
    return false;
  }
}

/** Compiles a schema on first use, because compiling those of all routes at the start would take a second. */
function atFirstUse(compile: () => Validator): Validator {
  let compiled: Validator | undefined;
  return (value) => {
    compiled ??= compile();
    return compiled(value);
  };
}

/** Checks rules that the types cannot express. Throws at the start of the service. */
function checkDeclaration({ id, path, access, query, body }: Route): void {
  for (const schema of [query, body] as ({ readonly additionalProperties?: boolean } | undefined)[]) {
    if (schema !== undefined && schema.additionalProperties !== false) {
      throw new Error(`${id} accepts unknown fields: its query and body must be closed objects`);
    }
  }
  if (path.startsWith('/v1/orgs/') && (!/^\/v1\/orgs\/\{id\}(\/|$)/.test(path) || access.kind !== 'org')) {
    throw new Error(
      `${id} bypasses the tenant check: a path below /v1/orgs must start with /v1/orgs/{id} and have org access`,
    );
  }
  if (!path.startsWith('/v1/')) {
    throw new Error(`${id} is outside /v1: declare it as a page`);
  }
}
