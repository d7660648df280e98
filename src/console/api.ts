/** In-process client of Purser's own API, with the credential of the page's visitor. */
import type { Readable } from 'node:stream';
import type { ApiError } from '../contract/api-error.ts';
import type {
  CheckAccess,
  InProcessClient,
  InProcessRequest,
} from '../platform/http/pipeline/in-process-client.ts';
import type { Credential } from '../platform/http/routes/access.ts';
import type { OperationId, Responses } from './responses.ts';

/** An error response of the API. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>>) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The fields that the error is about: the invalid ones, or those that someone else has changed. Empty for other errors. */
  get fields(): readonly FormFieldError[] {
    return (this.details.fields as FormFieldError[] | undefined) ?? [];
  }

  /** Returns the error with `prefix` removed from its field names, for forms whose fields are one part of the body. */
  within(prefix: string): ApiFailure {
    const fields = this.fields.map((fieldError) => ({
      ...fieldError,
      field: fieldError.field.startsWith(prefix) ? fieldError.field.slice(prefix.length) : fieldError.field,
    }));
    return new ApiFailure(this.status, this.code, this.message, { ...this.details, fields });
  }
}

export function apiFailure({ status, code, message, details }: ApiError): ApiFailure {
  return new ApiFailure(status, code, message, details as ApiFailure['details']);
}

export interface FormFieldError {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export interface Listed<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

export interface ListPages<Item> {
  readonly data: readonly Item[];
  /** False if the list has more pages. */
  readonly isComplete: boolean;
}

/** Reads the pages of a list in order, until there are no more or those read are enough. */
export async function readPages<Item>(
  read: (cursor: string | undefined) => Promise<Listed<Item> | ApiFailure>,
  isEnough: (items: readonly Item[], pages: number) => boolean = () => false,
): Promise<ListPages<Item> | ApiFailure> {
  const data: Item[] = [];
  let cursor: string | undefined;
  for (let pages = 0; !isEnough(data, pages); pages += 1) {
    const listed = await read(cursor);
    if (listed instanceof ApiFailure) {
      return listed;
    }
    data.push(...listed.data);
    if (listed.next_cursor === null) {
      return { data, isComplete: true };
    }
    cursor = listed.next_cursor;
  }
  return { data, isComplete: false };
}

/** A page that gets the same path twice makes one request. */
export interface Api {
  /** For data that the page requires: an error response is thrown, and shown as an error page. */
  get<Id extends OperationId>(path: string): Promise<Responses[Id]>;
  /** For an optional part of the page: an error response is returned. */
  tryGet<Id extends OperationId>(path: string): Promise<Responses[Id] | ApiFailure>;
  /** Returns the entity tag of what a path returns; undefined if there is nothing. */
  versionOf(path: string): Promise<string | undefined>;
  /**
   * `once`: sent as the `Idempotency-Key`, so that a resubmitted form has one effect. `version`: sent as `If-Match`, so that no other
   * change is overwritten.
   */
  send<Id extends OperationId>(
    method: InProcessRequest['method'],
    path: string,
    body?: object,
    once?: string,
    version?: string,
  ): Promise<Responses[Id] | ApiFailure>;
  /** Returns why the visitor may not use a route; undefined if they may. */
  denied(method: InProcessRequest['method'], path: string): ApiFailure | undefined;
  /** For long responses, which are streamed instead of buffered. */
  open(path: string): Promise<Stream | ApiFailure>;
}

export interface Stream {
  readonly contentType: string;
  readonly body: Readable;
}

export interface ApiVisitor {
  readonly credential: Credential;
  readonly foundAt: InProcessRequest['foundAt'];
  readonly findAgain: InProcessRequest['findAgain'];
  readonly address: string;
  readonly traceId: string;
  /** Called with the progress of a long-running operation. */
  readonly onProgress: NonNullable<InProcessRequest['onProgress']>;
}

export function apiFor(client: InProcessClient, checkAccess: CheckAccess, visitor: ApiVisitor): Api {
  /** Responses of this visit by path, until it changes something. */
  const read = new Map<string, ReturnType<Api['tryGet']>>();
  /** Entity tags of these responses. */
  const versions = new Map<string, string>();

  function tryGet<Id extends OperationId>(path: string): Promise<Responses[Id] | ApiFailure> {
    const answer = read.get(path) ?? send('GET', path);
    read.set(path, answer);
    return answer as Promise<Responses[Id] | ApiFailure>;
  }

  async function send<Id extends OperationId>(
    method: InProcessRequest['method'],
    path: string,
    body?: object,
    once?: string,
    version?: string,
  ): Promise<Responses[Id] | ApiFailure> {
    if (method !== 'GET') {
      read.clear();
      versions.clear();
    }
    const reply = await client({
      ...visitor,
      method,
      path,
      ...(body !== undefined && { body }),
      idempotencyKey: once,
      ifMatch: version,
    });
    if (typeof reply.body !== 'string') {
      reply.body.destroy();
      throw new Error(`${path} returned a stream where JSON was expected`);
    }
    if (method === 'GET' && typeof reply.headers.etag === 'string') {
      versions.set(path, reply.headers.etag);
    }
    return answerOf(reply.status, reply.body);
  }

  return {
    send,
    async versionOf(path) {
      await tryGet(path);
      return versions.get(path);
    },
    async open(path) {
      const { status, headers, body } = await client({ ...visitor, method: 'GET', path });
      return typeof body === 'string'
        ? answerOf<Stream>(status, body)
        : { contentType: String(headers['content-type']), body };
    },
    denied(method, path) {
      const error = checkAccess({ ...visitor, method, path });
      return error && apiFailure(error);
    },
    tryGet,
    async get<Id extends OperationId>(path: string): Promise<Responses[Id]> {
      const answer = await tryGet<Id>(path);
      if (answer instanceof ApiFailure) {
        throw answer;
      }
      return answer;
    },
  };
}

function answerOf<Answer>(status: number, body: string): Answer | ApiFailure {
  const answer = body === '' ? {} : JSON.parse(body);
  if (status < 400) {
    return answer as Answer;
  }
  const { code, message, details } = answer.error;
  return new ApiFailure(status, code, message, details);
}
