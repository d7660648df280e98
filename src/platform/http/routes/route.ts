/**
 * One declaration is the whole truth of an operation: its path, who may call it, what it takes and gives, and
 * which errors it can answer. The router, validation, OpenAPI, metrics and the audit log are derived from it.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../../../contract/errors.ts';
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
  /** Told by work that may take long. Whoever asked by a socket does not hear it. */
  readonly progress: ReportProgress;
}

/** How far something is: so many of so many, which may become more meanwhile. */
export interface Progress {
  readonly done: number;
  /** Undefined where that is only known at the end. */
  readonly of?: number;
  readonly unit: 'entries' | 'runs' | 'days' | 'deliveries';
}

/**
 * Waited for, as anything may happen between two pieces of work; never within a transaction, since it may look whether the
 * caller would still be let in. It throws where that is not so.
 */
export type ReportProgress = (progress: Progress) => Promise<void>;

/** A call of a public route has no caller. */
export type PublicHandlerContext<Params, Query> = Omit<
  HandlerContext<Params, Query, undefined>,
  'caller' | 'body'
>;

/** One thing that a write changed: it becomes an audit entry and, where others wait for it, an event. */
export interface Change {
  readonly tenantId: string;
  readonly target: { readonly kind: string; readonly id: string };
  /** The resource as its readers see it, so never with a secret. */
  readonly before?: object;
  readonly after?: object;
  readonly event?: EventType;
}

export interface WriteOutcome<Body> {
  readonly body: Body;
  readonly changes: readonly Change[];
}

interface Declaration<Path extends string, Query extends TObject, Response extends TSchema> {
  /** Stable and dotted, such as `orgs.create`: the OpenAPI operation id and the audit log's action. */
  readonly id: string;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly response: Response;
  /** Where a body may be larger than most: at least the largest one that its schema allows. */
  readonly bodyLimitBytes?: number;
  /** Codes of the handler itself; those of authentication, parsing and idempotency are derived. */
  readonly errors?: readonly ErrorCode[];
}

export interface Route {
  readonly kind: 'read' | 'write';
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description: string | undefined;
  readonly access: Access;
  readonly query: TObject | undefined;
  readonly body: TObject | undefined;
  readonly bodyOptional: boolean;
  /** The largest body, also after decompression; `SVC_BODY_LIMIT_BYTES` may allow less. */
  readonly bodyLimitBytes: number;
  readonly success: number;
  readonly response: TSchema | undefined;
  readonly errors: readonly ErrorCode[];
  /** Lines of JSON are taken too, as the items of this field. */
  readonly lines: string | undefined;
  /** The types that an answer can have where it is a stream: always, or where `response` is not what was asked for. */
  readonly contentTypes: readonly string[] | undefined;
  readonly run:
    | { readonly kind: 'read'; handler(call: HandlerContext): Promise<unknown> }
    | { readonly kind: 'stream'; handler(call: HandlerContext): Promise<StreamResponse> }
    | { readonly kind: 'document'; handler(): Rendered }
    | {
        readonly kind: 'write';
        handler(call: HandlerContext, tx: Transaction): Promise<WriteOutcome<unknown>>;
      }
    | {
        readonly kind: 'posting';
        handler(call: HandlerContext, seal: StoreResponse | undefined): Promise<unknown>;
      }
    | {
        readonly kind: 'decision';
        handler(call: HandlerContext, key: string | undefined): Promise<DecisionResponse>;
      };
}

/** Keeps the answer to an idempotent request, in the transaction that makes it true. */
export type StoreResponse = (tx: Transaction, body: unknown) => Promise<void>;

export interface DecisionResponse {
  readonly text: string;
  /** It is the response of an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** How large a body may be, in bytes. A route without one of its own has `usual`. */
export const bodyLimits = {
  usual: 65_536,
  /** Lists of names and words, and metadata. */
  lists: 1_048_576,
  /** All the rules of an org. */
  drafts: 4_194_304,
  /** A million characters of content, though each is escaped, beside what is said of it. */
  content: 8_388_608,
  /** As large as `SVC_BODY_LIMIT_BYTES` says, and no route may have more than that. */
  configured: Number.POSITIVE_INFINITY,
} as const;

const publicAccess: Access = { kind: 'public' };

interface ReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends Declaration<Path, Query, Response> {
  readonly access: Exclude<Access, { kind: 'public' }>;
  /** The types of the streams that may be asked for instead. */
  readonly contentTypes?: readonly string[];
  handler(
    call: HandlerContext<PathParams<Path>, Static<Query>, undefined>,
  ): Promise<Static<Response> | StreamResponse>;
}

export function read<const Path extends string, Query extends TObject, Response extends TSchema>(
  declaration: ReadDeclaration<Path, Query, Response>,
): Route {
  const { access, contentTypes, handler } = declaration;
  return { ...common(declaration), access, contentTypes, run: readRun(handler) };
}

interface StreamDeclaration<Path extends string, Query extends TObject>
  extends Omit<Declaration<Path, Query, TSchema>, 'response'> {
  readonly access: Exclude<Access, { kind: 'public' }>;
  readonly contentTypes: readonly string[];
  handler(call: HandlerContext<PathParams<Path>, Static<Query>, undefined>): Promise<StreamResponse>;
}

/** A read whose answer is a stream. A failure in the middle ends the connection: nothing is ever appended to tell of it. */
export function stream<const Path extends string, Query extends TObject>(
  declaration: StreamDeclaration<Path, Query>,
): Route {
  const { access, contentTypes, handler } = declaration;
  return {
    ...common(declaration),
    access,
    contentTypes,
    run: { kind: 'stream', handler: handler as unknown as (call: HandlerContext) => Promise<StreamResponse> },
  };
}

interface PublicReadDeclaration<Path extends string, Query extends TObject, Response extends TSchema>
  extends Declaration<Path, Query, Response> {
  handler(call: PublicHandlerContext<PathParams<Path>, Static<Query>>): Promise<Static<Response>>;
}

export function publicRead<const Path extends string, Query extends TObject, Response extends TSchema>(
  declaration: PublicReadDeclaration<Path, Query, Response>,
): Route {
  return { ...common(declaration), access: publicAccess, run: readRun(declaration.handler) };
}

interface PublicDocumentDeclaration extends Declaration<string, TObject, TSchema> {
  handler(): Rendered;
}

/** A document that is rendered once and sent many times: a client that has it already gets 304. */
export function publicDocument(declaration: PublicDocumentDeclaration): Route {
  return {
    ...common(declaration),
    access: publicAccess,
    run: { kind: 'document', handler: declaration.handler },
  };
}

interface WriteDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends Declaration<Path, Query, Response> {
  readonly method: Exclude<Method, 'GET'>;
  readonly access: Exclude<Access, { kind: 'public' }>;
  readonly body?: Body;
  /** The body may be left out; then the handler sees `{}`. */
  readonly bodyOptional?: true;
  readonly success: 200 | 201 | 204;
  /** Runs inside the transaction that also writes the audit entry, the events and the stored answer. */
  handler(
    call: HandlerContext<PathParams<Path>, Static<Query>, Static<Body>>,
    tx: Transaction,
  ): Promise<WriteOutcome<Static<Response>>>;
}

export function write<
  const Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(declaration: WriteDeclaration<Path, Query, Body, Response>): Route {
  const { method, access, body, bodyOptional, success, handler } = declaration;
  return {
    ...common(declaration),
    kind: 'write',
    method,
    access,
    body,
    bodyOptional: bodyOptional ?? body === undefined,
    success,
    response: success === 204 ? undefined : declaration.response,
    // The types of the parts are checked against the schemas above; the pipeline validates before it calls.
    run: {
      kind: 'write',
      handler: handler as unknown as (
        call: HandlerContext,
        tx: Transaction,
      ) => Promise<WriteOutcome<unknown>>,
    },
  };
}

interface PostingDeclaration<
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends Declaration<Path, Query, Response> {
  readonly method: 'POST' | 'DELETE';
  readonly access: Exclude<Access, { kind: 'public' }>;
  readonly body?: Body;
  readonly bodyOptional?: true;
  /** Lines of JSON (`application/x-ndjson`) are taken too, as the items of this field. */
  readonly lines?: string;
  readonly success: 200 | 201 | 204;
  /** Commits by itself, together with others. Has to seal what it answers in that transaction, where asked to. */
  handler(
    call: HandlerContext<PathParams<Path>, Static<Query>, Static<Body>>,
    seal: StoreResponse | undefined,
  ): Promise<Static<Response>>;
}

/** A write into the books, which are their own record: it shares its transaction with others and is not audited. */
export function posting<
  const Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(declaration: PostingDeclaration<Path, Query, Body, Response>): Route {
  const { method, access, body, bodyOptional, success, handler, lines } = declaration;
  return {
    ...common(declaration),
    kind: 'write',
    method,
    access,
    body,
    bodyOptional: bodyOptional ?? body === undefined,
    lines,
    success,
    response: success === 204 ? undefined : declaration.response,
    run: {
      kind: 'posting',
      handler: handler as unknown as (
        call: HandlerContext,
        seal: StoreResponse | undefined,
      ) => Promise<unknown>,
    },
  };
}

interface DecisionDeclaration<Path extends string, Body extends TObject, Response extends TSchema>
  extends Declaration<Path, TObject, Response> {
  readonly method: 'POST';
  readonly access: Exclude<Access, { kind: 'public' }>;
  readonly body: Body;
  readonly success: 200;
  /** Answers with the text itself. Has to store the response under the `Idempotency-Key`, if there is one. */
  handler(
    call: HandlerContext<PathParams<Path>, object, Static<Body>>,
    key: string | undefined,
  ): Promise<DecisionResponse>;
}

/** A decision on the hot path, which keeps its own record. */
export function decision<const Path extends string, Body extends TObject, Response extends TSchema>(
  declaration: DecisionDeclaration<Path, Body, Response>,
): Route {
  const { method, access, body, success, handler } = declaration;
  return {
    ...common(declaration),
    kind: 'write',
    method,
    access,
    body,
    bodyOptional: false,
    success,
    run: {
      kind: 'decision',
      handler: handler as unknown as (
        call: HandlerContext,
        key: string | undefined,
      ) => Promise<DecisionResponse>,
    },
  };
}

type AnyDeclaration = Omit<Declaration<string, TObject, TSchema>, 'response'> & {
  readonly response?: TSchema;
};

function common(declaration: AnyDeclaration): Omit<Route, 'access' | 'run'> {
  const { id, path, summary, description, query, response, errors, bodyLimitBytes } = declaration;
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
    lines: undefined,
    contentTypes: undefined,
    success: 200,
    response,
    errors: errors ?? [],
  };
}

function readRun(handler: unknown): Route['run'] {
  return { kind: 'read', handler: handler as (call: HandlerContext) => Promise<unknown> };
}
