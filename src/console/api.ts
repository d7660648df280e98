/** Purser's own API as a page sees it: asked in this process, for whoever visits the page. */
import type { Readable } from 'node:stream';
import type { Refusal } from '../contract/refusal.ts';
import type { Ask, Examine, Question } from '../platform/http/pipeline/in-process-client.ts';
import type { Credential } from '../platform/http/routes/access.ts';

/** An answer that is no success, as the envelope tells it. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>>) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The offending fields of `validation_failed`; none for other codes. */
  get fields(): readonly FieldFault[] {
    return this.code === 'validation_failed' ? (this.details.fields as FieldFault[]) : [];
  }

  /** The same for a form that is about a part of the body: without that part's own name. */
  within(prefix: string): Refused {
    const fields = this.fields.map((fault) => ({
      ...fault,
      field: fault.field.startsWith(prefix) ? fault.field.slice(prefix.length) : fault.field,
    }));
    return new Refused(this.status, this.code, this.message, { ...this.details, fields });
  }
}

export function refusedAs({ status, code, message, details }: Refusal): Refused {
  return new Refused(status, code, message, details as Refused['details']);
}

export interface FieldFault {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export interface Listed<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

export interface Api {
  /** For what the page cannot do without: a refusal is thrown, and shown as a page of its own. */
  get<Answer>(path: string): Promise<Answer>;
  /** For a part of the page that may be missing. */
  tryGet<Answer>(path: string): Promise<Answer | Refused>;
  /** `once`: sent as the `Idempotency-Key`, so that a form that is sent again has one effect. */
  send<Answer>(
    method: Question['method'],
    path: string,
    body?: object,
    once?: string,
  ): Promise<Answer | Refused>;
  /** Why the visitor may not use a route; undefined: they may. */
  denied(method: Question['method'], path: string): Refused | undefined;
  /** For what is too long to be held: it is passed on as it is made. */
  open(path: string): Promise<Stream | Refused>;
}

export interface Stream {
  readonly contentType: string;
  readonly body: Readable;
}

export interface Visitor {
  readonly credential: Credential;
  readonly foundAt: Question['foundAt'];
  readonly findAgain: Question['findAgain'];
  readonly address: string;
  readonly traceId: string;
  /** Told how far long work is that was asked for. */
  readonly onProgress: NonNullable<Question['onProgress']>;
}

export function apiFor(ask: Ask, examine: Examine, visitor: Visitor): Api {
  async function send<Answer>(
    method: Question['method'],
    path: string,
    body?: object,
    once?: string,
  ): Promise<Answer | Refused> {
    const reply = await ask({
      ...visitor,
      method,
      path,
      ...(body !== undefined && { body }),
      idempotencyKey: once,
    });
    if (typeof reply.body !== 'string') {
      reply.body.destroy();
      throw new Error(`${path} answers with a stream, which is not held`);
    }
    return answerOf(reply.status, reply.body);
  }

  return {
    send,
    async open(path) {
      const { status, headers, body } = await ask({ ...visitor, method: 'GET', path });
      return typeof body === 'string'
        ? answerOf<Stream>(status, body)
        : { contentType: String(headers['content-type']), body };
    },
    denied(method, path) {
      const refusal = examine({ ...visitor, method, path });
      return refusal && refusedAs(refusal);
    },
    tryGet: (path) => send('GET', path),
    async get<Answer>(path: string): Promise<Answer> {
      const answer = await send<Answer>('GET', path);
      if (answer instanceof Refused) {
        throw answer;
      }
      return answer;
    },
  };
}

function answerOf<Answer>(status: number, body: string): Answer | Refused {
  const answer = body === '' ? {} : JSON.parse(body);
  if (status < 400) {
    return answer as Answer;
  }
  const { code, message, details } = answer.error;
  return new Refused(status, code, message, details);
}
