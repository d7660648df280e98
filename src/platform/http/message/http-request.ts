/** A request in the pipeline: its head, its body and its response, read by Node's parser or by the fast HTTP path. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BodyRules, readJsonBody, readRawBody } from './body.ts';
import type { ParsedBody } from './json.ts';
import type { Reply, StreamedReply } from './reply.ts';
import type { RequestHead } from './request-head.ts';
import { sendReply, sendStream } from './send.ts';

export interface HttpRequest {
  readonly request: RequestHead;
  readBody(rules: BodyRules): ParsedBody | Promise<ParsedBody>;
  /** Reads the body as bytes. Alternative to `readBody`. */
  readBytes(rules: Pick<BodyRules, 'limitBytes' | 'memory'>): Buffer | Promise<Buffer>;
  /** Returns Node's message objects, for forms, streamed responses and forwarded requests. */
  messages(): NodeMessages;
  /** Sends the reply. `headers` replace those of the reply and include them. */
  send(reply: Reply | StreamedReply, headers: Reply['headers']): void;
}

export interface NodeMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export function requestFromNode(request: IncomingMessage, response: ServerResponse): HttpRequest {
  const messages = { request, response };
  return {
    request,
    readBody: (rules) => readJsonBody(request, response, rules),
    readBytes: (rules) => readRawBody(request, response, rules),
    messages: () => messages,
    send: (reply, headers) => sendByNode(messages, reply, headers),
  };
}

export function sendByNode(
  { request, response }: NodeMessages,
  reply: Reply | StreamedReply,
  headers: Reply['headers'],
): void {
  const { body } = reply;
  if (typeof body === 'string') {
    sendReply(request, response, { ...reply, headers, body });
  } else {
    sendStream(request, response, { ...reply, headers, body });
  }
}
