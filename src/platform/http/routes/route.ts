/**
 * Route declarations: the path, the access rule, the request and response schemas and the errors of an operation. The router,
 * validation, OpenAPI, metrics and the audit log are derived from them.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { ApiError } from '../../../contract/api-error.ts';
import type { ErrorCode, FieldError } from '../../../contract/errors.ts';
import type { EventType } from '../../../contract/events.ts';
import type { Transaction } from '../../db/database.ts';
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
  /** Handlers of long work call it. Only in-process callers receive the progress. */
  readonly progress: ReportProgress;
  /** Set if the request skips invalid items (`SkipsItems`): those that could not be parsed. The others are not validated yet. */
  readonly itemErrors?: ReadonlyMap<number, readonly FieldError[]> | undefined;
  /** Records the denial of one item of a request that succeeds; that of a whole request is recorded by the pipeline. */
  recordDenial(error: ApiError, body: object): void;
}

/** Progress of long work. `of`, the total, may grow while the work is in progress. */
export interface Progress {
  readonly done: number;
  /** Undefined if the total is known only at the end. */
  readonly of?: number;
  readonly unit: 'entries' | 'runs' | 'days' | 'deliveries';
}

/**
 * Must be awaited, and must not be called within a transaction: it may repeat the access checks, and throws if the caller is no
 * longer admitted.
 */
export type ReportProgress = (progress: Progress) => Promise<void>;

/** A request of a public route has no caller. */
export type PublicHandlerContext<Params, Query> = Omit<
  HandlerContext<Params, Query, undefined>,
  'caller' | 'body'
>;

/** A change made by a write: it becomes an audit entry and, with `event`, an event. */
export interface Change {
  readonly tenantId: string;
  readonly target: { readonly kind: string; readonly id: string };
  /** The resource as readers see it, so never with a secret. */
  readonly before?: object | undefined;
  readonly after?: object | undefined;
  readonly event?: EventType | undefined;
}

export interface WriteOutcome<Body> {
  readonly body: Body;
  readonly changes: readonly Change[];
  /** Customers that the body names other than by a `customer_id`: an erasure finds the stored response by them. */
  readonly customers?: readonly string[];
}

interface Declaration<Path extends string, Query extends TObject> {
  /** Stable and dotted, such as `orgs.create`: the OpenAPI operation id and the audit log's action. */
  readonly id: string;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  /** Set if a body may be larger than usual: at least the largest one that the schema allows. */
  readonly bodyLimitBytes?: number;
  /** Set if a body may have more values than usual. */
  readonly bodyValuesMax?: number;
  /** Codes of the handler itself; those of authentication, parsing and idempotency are derived. */
  readonly errors?: readonly ErrorCode[];
  /**
   * Returns true if the org has the resource in the path. For paths that name a resource of an org and not the org: a caller without
   * the scope or the role gets 404 for any resource of another org, and 403 only for one of its own.
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
  /** The largest body, also after decompression; `SVC_BODY_LIMIT_BYTES` may allow less. */
  readonly bodyLimitBytes: number;
  /** Maximum number of values in the body. Undefined: the usual one. */
  readonly bodyValuesMax: number | undefined;
  readonly success: number;
  readonly response: TSchema | undefined;
  readonly errors: readonly ErrorCode[];
  /** The field whose items may also be sent as lines of JSON. */
  readonly lines: string | undefined;
  readonly skipsItems: SkipsItems | undefined;
  /** Content types of a streamed response: the only kind of response, or an alternative to `response`. */
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

/** A query parameter whose value lets the handler validate the items of a list one by one, and skip invalid ones. */
export interface SkipsItems {
  readonly field: string;
  readonly parameter: string;
  readonly value: string;
}

/** Stores the response to an idempotent request, in the transaction of its effect. `customers` as in `WriteOutcome`. */
export type StoreResponse = (tx: Transaction, body: unknown, customers?: readonly string[]) => Promise<void>;

export interface DecisionResponse {
  readonly text: string;
  /** True if the response is that of an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** Maximum body sizes in bytes. The default of a route is `usual`. */
export const bodyLimits = {
  usual: 65_536,
  /** Lists of names and words, and metadata. */
  lists: 1_048_576,
  /** All the rules of an org. */
  drafts: 4_194_304,
  /** A million characters of content, even if each is escaped, and its metadata. */
  content: 8_388_608,
  /** Limited by `SVC_BODY_LIMIT_BYTES` only, which is the maximum for every route. */
  configured: Number.POSITIVE_INFINITY,
} as const;

const publicAccess: Access = { kind: 'public' };
type OwnAccess = Exclude<Access, { kind: 'public' }>;

interface ReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends Declaration<Path, Query> {
  readonly access: OwnAccess;
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

interface StreamDeclaration<Path extends string, Query extends TObject> extends Declaration<Path, Query> {
  readonly access: OwnAccess;
  readonly contentTypes: readonly string[];
  handler(context: HandlerContext<PathParams<Path>, Static<Query>, undefined>): Promise<StreamResponse>;
}

/** A read with a streamed response. A failure during the stream closes the connection: no error is appended. */
export function stream<const Path extends string, Query extends TObject>(
  declaration: StreamDeclaration<Path, Query>,
): Route {
  const { access, contentTypes, handler } = declaration;
  return { ...common(declaration), access, contentTypes, run: runOf('stream', handler) };
}

interface PublicReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends Declaration<Path, Query> {
  readonly response: Response;
  handler(context: PublicHandlerContext<PathParams<Path>, Static<Query>>): Promise<Static<Response>>;
}

export function publicRead<const Path extends string, Query extends TObject, Response extends TSchema>(
  declaration: PublicReadDeclaration<Path, Query, Response>,
): Route {
  return { ...common(declaration), access: publicAccess, run: runOf('read', declaration.handler) };
}

interface PublicDocumentDeclaration extends Declaration<string, TObject> {
  readonly response: TSchema;
  handler(): Rendered;
}

/** A document that is rendered once and sent many times: a client that already has it gets 304. */
export function publicDocument(declaration: PublicDocumentDeclaration): Route {
  return { ...common(declaration), access: publicAccess, run: runOf('document', declaration.handler) };
}

interface ChangingDeclaration<Path extends string, Query extends TObject, Body extends TObject, Response>
  extends Declaration<Path, Query> {
  readonly method: Exclude<Method, 'GET'>;
  readonly access: OwnAccess;
  readonly body?: Body;
  /** The body may be absent; the handler then gets `{}`. */
  readonly bodyOptional?: true;
  /** Default: 200, or 204 without a response. */
  readonly success?: 201;
  readonly response?: Response;
}

interface WriteDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends ChangingDeclaration<Path, Query, Body, Response> {
  /** Runs in the transaction that also writes the audit entries, the events and the stored response. */
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
  return { ...changing(declaration), run: runOf('write', declaration.handler) };
}

interface PostingDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends ChangingDeclaration<Path, Query, Body, Response> {
  /** The field whose items may also be sent as lines of JSON (`application/x-ndjson`). */
  readonly lines?: string;
  readonly skipsItems?: SkipsItems;
  /**
   * Commits by itself, together with other requests. Must call `storeResponse`, if given, in that transaction. An effect
   * that is not in the database must be stored with `requestId`, which identifies the request and its retries, so that a
   * retry finds it if the process stops before the response is stored.
   */
  handler(
    context: HandlerContext<PathParams<Path>, Static<Query>, Static<Body>>,
    storeResponse: StoreResponse | undefined,
    requestId: string | undefined,
  ): Promise<Static<Response>>;
}

/**
 * A write to the ledger, which is its own record: it shares its transaction with other requests and is not audited, unless its handler
 * records a change.
 */
export function posting<
  const Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(declaration: PostingDeclaration<Path, Query, Body, Response>): Route {
  const { lines, skipsItems, handler } = declaration;
  return { ...changing(declaration), lines, skipsItems, run: runOf('posting', handler) };
}

interface DecisionDeclaration<Path extends string, Body extends TObject, Response extends TSchema>
  extends ChangingDeclaration<Path, TObject, Body, Response> {
  /** Returns the response body as text. Must store it under the `Idempotency-Key`, if there is one. */
  handler(
    context: HandlerContext<PathParams<Path>, object, Static<Body>>,
    key: string | undefined,
  ): Promise<DecisionResponse>;
}

/** A decision on the hot path. It keeps its own record, and is not audited. */
export function decision<const Path extends string, Body extends TObject, Response extends TSchema>(
  declaration: DecisionDeclaration<Path, Body, Response>,
): Route {
  return { ...changing(declaration), run: runOf('decision', declaration.handler) };
}

type AnyDeclaration = Declaration<string, TObject> & { readonly response?: TSchema };

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
    skipsItems: undefined,
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

/** The declaration checks the types of the handler against the schemas; the pipeline validates before it calls the handler. */
function runOf(kind: Route['run']['kind'], handler: unknown): Route['run'] {
  return { kind, handler } as Route['run'];
}
