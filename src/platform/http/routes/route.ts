/**
 * Route declarations: the path, the access rule, the request and response schemas and the errors of an operation. The router,
 * validation, OpenAPI, metrics and the audit log are derived from them.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { ApiError } from '../../../contract/api-error.ts';
import type { ErrorCode, FieldError } from '../../../contract/errors.ts';
import type { EventType } from '../../../contract/events.ts';
import type { Transaction } from '../../db/database.ts';
import type { BareItems } from '../message/json-limits.ts';
import type { StreamResponse } from '../message/reply.ts';
import type { Access, Caller } from './access.ts';
import type { Rendered } from './rendered.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;
export type PathParams<Path extends string> = { readonly [Name in ParamNames<Path>]: string };

export interface HandlerContext<Params = Readonly<Record<string, string>>, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
  /** Identifies the HTTP request, as a key of a `WeakMap`. Undefined for an in-process call. */
  readonly requestIdentity?: WeakKey | undefined;
  /** Must be called by handlers of long work. Only in-process callers receive the progress. */
  readonly progress: ReportProgress;
  /**
   * Set if the request skips invalid items (`SkipsItems`): the errors of items that could not be parsed. The other items are not
   * validated yet.
   */
  readonly itemErrors?: ReadonlyMap<number, readonly FieldError[]> | undefined;
  /** Records the denial of one item of a request that succeeds. The pipeline records denials of whole requests. */
  recordDenial(error: ApiError, body: object): void;
}

/** Progress of long work. The total `of` may grow while the work is in progress. */
export interface Progress {
  readonly done: number;
  /** Total; undefined if it is only known at the end. */
  readonly of?: number;
  readonly unit: 'entries' | 'runs' | 'days' | 'deliveries';
}

/**
 * Reports progress. It must be awaited, and must not be called within a transaction, because it may repeat the access checks.
 * Throws if the caller is no longer admitted.
 */
export type ReportProgress = (progress: Progress) => Promise<void>;

/** The context of a public route, which has no caller. */
export type PublicHandlerContext<Params, Query> = Omit<
  HandlerContext<Params, Query, undefined>,
  'caller' | 'body'
>;

/** A change made by a write. It becomes an audit entry and, if `event` is set, an event. */
export interface Change {
  readonly tenantId: string;
  readonly target: { readonly kind: string; readonly id: string };
  /** The resource as readers see it, so without secrets. */
  readonly before?: object | undefined;
  readonly after?: object | undefined;
  readonly event?: EventType | undefined;
}

export interface WriteOutcome<Body> {
  readonly body: Body;
  readonly changes: readonly Change[];
  /** Customers that the body names in fields other than `customer_id`. An erasure finds the stored response by them. */
  readonly customers?: readonly string[];
}

interface RouteDeclaration<Path extends string, Query extends TObject> {
  /** A stable dotted id, such as `orgs.create`. It is the operation id in OpenAPI and the action in the audit log. */
  readonly id: string;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  /** Set if a body may be larger than usual. It must be at least the size of the largest body that the schema allows. */
  readonly bodyLimitBytes?: number;
  /** Set if a body may have more values than usual. */
  readonly bodyValuesMax?: number;
  /** Error codes of the handler itself. Codes of authentication, parsing and idempotency are added to them. */
  readonly errors?: readonly ErrorCode[];
  /**
   * Returns true if the org has the resource in the path. Declared for paths that name a resource of an org but not the org. A
   * caller without the scope or role then gets 404 for any resource of another org, and 403 only for one of its own org.
   */
  isOwn?(orgId: string, params: PathParams<Path>): Promise<boolean>;
}

export interface Route {
  readonly kind: 'read' | 'write';
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description: string | undefined;
  readonly access: Access;
  readonly isOwn: ((orgId: string, params: Readonly<Record<string, string>>) => Promise<boolean>) | undefined;
  readonly query: TObject | undefined;
  readonly body: TObject | undefined;
  readonly bodyOptional: boolean;
  /** Maximum body size, which also applies after decompression. `SVC_BODY_LIMIT_BYTES` may allow less. */
  readonly bodyLimitBytes: number;
  /** Maximum number of values in the body. Undefined: the default. */
  readonly bodyValuesMax: number | undefined;
  readonly success: number;
  readonly response: TSchema | undefined;
  readonly errors: readonly ErrorCode[];
  /** The field whose items may also be sent as lines of JSON. */
  readonly lines: string | undefined;
  readonly bareItems: BareItems | undefined;
  readonly skipsItems: SkipsItems | undefined;
  /** Fields of the response that change without a change of the resource. They do not count for its entity tag. */
  readonly unversionedFields: readonly string[];
  /** Content types of a streamed response, which is the only kind of response or an alternative to `response`. */
  readonly contentTypes: readonly string[] | undefined;
  readonly run:
    | { readonly kind: 'read'; handler(context: HandlerContext): Promise<unknown> }
    | { readonly kind: 'stream'; handler(context: HandlerContext): Promise<StreamResponse> }
    | { readonly kind: 'document'; handler(): Rendered }
    | {
        readonly kind: 'write';
        handler(context: HandlerContext, tx: Transaction): Promise<WriteOutcome<unknown>>;
      }
    | {
        readonly kind: 'posting';
        handler(
          context: HandlerContext,
          storeResponse: StoreResponse | undefined,
          requestId: string | undefined,
        ): Promise<unknown>;
      }
    | {
        readonly kind: 'decision';
        handler(context: HandlerContext, key: string | undefined): Promise<DecisionResponse>;
      };
}

/** A query parameter with which the handler validates the items of a list one by one and skips invalid ones. */
export interface SkipsItems {
  readonly field: string;
  readonly parameter: string;
  readonly value: string;
}

/** Stores the response to an idempotent request in the transaction of its effect. `customers` are those of `WriteOutcome`. */
export type StoreResponse = (tx: Transaction, body: unknown, customers?: readonly string[]) => Promise<void>;

export interface DecisionResponse {
  readonly text: string;
  /** True if the response was stored by an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** Maximum body sizes in bytes. The default of a route is `usual`. */
export const bodyLimits = {
  usual: 65_536,
  /** For lists of names and words, and for metadata. */
  lists: 1_048_576,
  /** For all rules of an org. */
  drafts: 4_194_304,
  /** For a million characters of content, even if each is escaped, and its metadata. */
  content: 8_388_608,
  /** Only limited by `SVC_BODY_LIMIT_BYTES`, the maximum for every route. */
  configured: Number.POSITIVE_INFINITY,
} as const;

const publicAccess: Access = { kind: 'public' };
type AuthenticatedAccess = Exclude<Access, { kind: 'public' }>;

interface ReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends RouteDeclaration<Path, Query> {
  readonly access: AuthenticatedAccess;
  readonly response: Response;
  /** Content types of the streams that a client may request instead. */
  readonly contentTypes?: readonly string[];
  handler(
    context: HandlerContext<PathParams<Path>, Static<Query>, undefined>,
  ): Promise<Static<Response> | StreamResponse>;
}

export function read<const Path extends string, Query extends TObject, Response extends TSchema>(
  declaration: ReadDeclaration<Path, Query, Response>,
): Route {
  const { access, contentTypes, handler } = declaration;
  return { ...common(declaration), access, contentTypes, run: runOf('read', handler) };
}

interface StreamDeclaration<Path extends string, Query extends TObject>
  extends RouteDeclaration<Path, Query> {
  readonly access: AuthenticatedAccess;
  readonly contentTypes: readonly string[];
  handler(context: HandlerContext<PathParams<Path>, Static<Query>, undefined>): Promise<StreamResponse>;
}

/** Declares a read with a streamed response. A failure during the stream closes the connection; no error is appended. */
export function stream<const Path extends string, Query extends TObject>(
  declaration: StreamDeclaration<Path, Query>,
): Route {
  const { access, contentTypes, handler } = declaration;
  return { ...common(declaration), access, contentTypes, run: runOf('stream', handler) };
}

interface PublicReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends RouteDeclaration<Path, Query> {
  readonly response: Response;
  handler(context: PublicHandlerContext<PathParams<Path>, Static<Query>>): Promise<Static<Response>>;
}

export function publicRead<const Path extends string, Query extends TObject, Response extends TSchema>(
  declaration: PublicReadDeclaration<Path, Query, Response>,
): Route {
  return { ...common(declaration), access: publicAccess, run: runOf('read', declaration.handler) };
}

interface PublicDocumentDeclaration extends RouteDeclaration<string, TObject> {
  readonly response: TSchema;
  handler(): Rendered;
}

/** Declares a document that is rendered once and sent many times. A client that already has it gets 304. */
export function publicDocument(declaration: PublicDocumentDeclaration): Route {
  return { ...common(declaration), access: publicAccess, run: runOf('document', declaration.handler) };
}

interface ChangingDeclaration<Path extends string, Query extends TObject, Body extends TObject, Response>
  extends RouteDeclaration<Path, Query> {
  readonly method: Exclude<Method, 'GET'>;
  readonly access: AuthenticatedAccess;
  readonly body?: Body;
  /** Set if the body may be absent; the handler then gets `{}`. */
  readonly bodyOptional?: true;
  /** Status of the response. Default: 200, or 204 without a response schema. */
  readonly success?: 201;
  readonly response?: Response;
}

interface WriteDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends ChangingDeclaration<Path, Query, Body, Response> {
  /** Fields of the response that change without a change of the resource, such as the time of its last use. */
  readonly unversionedFields?: readonly (keyof Static<Response> & string)[];
  /** Runs in the transaction that also stores the audit entries, the events and the response. */
  handler(
    context: HandlerContext<PathParams<Path>, Static<Query>, Static<Body>>,
    tx: Transaction,
  ): Promise<WriteOutcome<Static<Response>>>;
}

export function write<
  const Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(declaration: WriteDeclaration<Path, Query, Body, Response>): Route {
  const { unversionedFields = [], handler } = declaration;
  return { ...changing(declaration), unversionedFields, run: runOf('write', handler) };
}

interface PostingDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends ChangingDeclaration<Path, Query, Body, Response> {
  /** The field whose items may also be sent as lines of JSON (`application/x-ndjson`). */
  readonly lines?: string;
  /** Set if the items of `lines` may also be the whole body. */
  readonly bareItems?: BareItems;
  readonly skipsItems?: SkipsItems;
  /**
   * Handles the request and commits by itself, together with other requests. If `storeResponse` is given, it must be called in that
   * transaction. An effect outside of the database must be stored with `requestId`, which identifies the request and its retries. A
   * retry then finds the effect if the process stops before the response is stored.
   */
  handler(
    context: HandlerContext<PathParams<Path>, Static<Query>, Static<Body>>,
    storeResponse: StoreResponse | undefined,
    requestId: string | undefined,
  ): Promise<Static<Response>>;
}

/**
 * Declares a write to the ledger. The ledger is its own record, so the write shares its transaction with other requests and is not
 * audited, unless its handler records a change.
 */
export function posting<
  const Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(declaration: PostingDeclaration<Path, Query, Body, Response>): Route {
  const { lines, bareItems, skipsItems, handler } = declaration;
  return { ...changing(declaration), lines, bareItems, skipsItems, run: runOf('posting', handler) };
}

interface DecisionDeclaration<Path extends string, Body extends TObject, Response extends TSchema>
  extends ChangingDeclaration<Path, TObject, Body, Response> {
  /** Returns the response body as text. Must store it under the `Idempotency-Key` if there is one. */
  handler(
    context: HandlerContext<PathParams<Path>, object, Static<Body>>,
    key: string | undefined,
  ): Promise<DecisionResponse>;
}

/** Declares a decision on the hot path. It keeps its own record and is not audited. */
export function decision<const Path extends string, Body extends TObject, Response extends TSchema>(
  declaration: DecisionDeclaration<Path, Body, Response>,
): Route {
  return { ...changing(declaration), run: runOf('decision', declaration.handler) };
}

type AnyDeclaration = RouteDeclaration<string, TObject> & { readonly response?: TSchema };

function common(declaration: AnyDeclaration): Omit<Route, 'access' | 'run'> {
  const { id, path, summary, description, query, response, errors, bodyLimitBytes, bodyValuesMax } =
    declaration;
  return {
    kind: 'read',
    id,
    method: 'GET',
    path,
    summary,
    description,
    query,
    body: undefined,
    bodyOptional: true,
    bodyLimitBytes: bodyLimitBytes ?? bodyLimits.usual,
    bodyValuesMax,
    lines: undefined,
    bareItems: undefined,
    skipsItems: undefined,
    unversionedFields: [],
    contentTypes: undefined,
    success: 200,
    response,
    errors: errors ?? [],
    isOwn: declaration.isOwn as Route['isOwn'],
  };
}

function changing(declaration: ChangingDeclaration<string, TObject, TObject, TSchema>): Omit<Route, 'run'> {
  const { method, access, body, bodyOptional, response } = declaration;
  return {
    ...common(declaration),
    kind: 'write',
    method,
    access,
    body,
    bodyOptional: bodyOptional ?? body === undefined,
    success: declaration.success ?? (response === undefined ? 204 : 200),
  };
}

/** Erases the handler's types. The declaration checks them against the schemas, and the pipeline validates before it calls the handler. */
function runOf(kind: Route['run']['kind'], handler: unknown): Route['run'] {
  return { kind, handler } as Route['run'];
}
