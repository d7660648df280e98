/** A request as the pipeline sees it, with its body and the way back, whether Node's parser has read it or the lane. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BodyRules, readJsonBody } from './body.ts';
import type { ParsedBody } from './json.ts';
import type { Reply, StreamedReply } from './reply.ts';
import type { RequestHead } from './request-head.ts';
import { sendReply, sendStream } from './send.ts';

export interface HttpRequest {
  readonly request: RequestHead;
  readBody(rules: BodyRules): ParsedBody | Promise<ParsedBody>;
  /** Node's own, for what needs them: forms, answers that are streams, requests that are sent on. */
  messages(): NodeMessages;
  /** With these headers, which those of the reply are among. */
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
