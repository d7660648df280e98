/** A request that the fast HTTP path has read completely. Node's message objects are only created if they are needed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyRules, parseBody, tooLarge } from '../message/body.ts';
import { type HttpRequest, type NodeMessages, sendByNode } from '../message/http-request.ts';
import type { ParsedBody } from '../message/json.ts';
import type { Reply, StreamedReply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';
import type { PlainHead } from './plain-head.ts';

/** The connection of a plain request. */
export interface PlainConnection {
  readonly socket: Socket;
  answer(status: number, headers: Reply['headers'], body: string): void;
  /** Creates Node's message objects. The response must then be sent through them. */
  messagesOf(head: PlainHead, body: Buffer): NodeMessages;
}

export class PlainRequest implements HttpRequest, RequestHead {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = '1.1';
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly socket: Socket;
  readonly #head: PlainHead;
  readonly #body: Buffer;
  readonly #connection: PlainConnection;
  #messages: NodeMessages | undefined;

  constructor(connection: PlainConnection, head: PlainHead, body: Buffer) {
    this.method = head.method;
    this.url = head.target;
    // Shared by all requests with this head, so it must not be modified.
    this.headers = head.headers as IncomingHttpHeaders;
    this.rawHeaders = head.rawHeaders as string[];
    this.socket = connection.socket;
    this.#head = head;
    this.#body = body;
    this.#connection = connection;
  }

  get request(): RequestHead {
    return this;
  }

  readBody(rules: BodyRules): ParsedBody {
    if (this.#body.length > rules.limitBytes) {
      throw tooLarge(rules.limitBytes);
    }
    return parseBody(this.#body, this.headers['content-type'], rules);
  }

  readBytes({ limitBytes }: Pick<BodyRules, 'limitBytes'>): Buffer {
    if (this.#body.length > limitBytes) {
      throw tooLarge(limitBytes);
    }
    return this.#body;
  }

  messages(): NodeMessages {
    this.#messages ??= this.#connection.messagesOf(this.#head, this.#body);
    return this.#messages;
  }

  send(reply: Reply | StreamedReply, headers: Reply['headers']): void {
    if (this.#messages === undefined && typeof reply.body === 'string') {
      this.#connection.answer(reply.status, headers, reply.body);
    } else {
      sendByNode(this.messages(), reply, headers);
    }
  }
}
