/**
 * The head of a plain request, in a strict and closed grammar: what well-behaved clients send, and nothing about which two
 * readers of HTTP could disagree. Whatever is not in it is not wrong, only not plain, and is left to Node's parser.
 *
 * Plain is: GET without a body, or POST with a length; one blank behind each colon; no header twice; no character beyond
 * printable ASCII; a connection that stays open; a body that is what it looks like.
 */
import { maxHeaderSize } from 'node:http';

export interface PlainHead {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly bodyBytes: number;
}

export const headBytesMax = Math.min(8_192, maxHeaderSize);

const headersMax = 64;
const requestLine = /^(GET|POST) (\/[\w\-.~!$&'()*+,;=:@/%?]*) HTTP\/1\.1$/;
const headerLine = /^([A-Za-z][A-Za-z0-9-]*): ([!-~](?:[ -~]*[!-~])?)$/;
const plainLength = /^(?:0|[1-9]\d{0,8})$/;

/** They say how the message is to be read, or who may say so. The three that plain requests have are looked at below. */
const notPlain = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** `text` is the head without the empty line that ends it. Undefined: not plain. */
export function parsePlainHead(text: string): PlainHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const [, method, target] = requestLine.exec(first) ?? [];
  if (method === undefined || target === undefined || lines.length > headersMax) {
    return undefined;
  }
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (const line of lines) {
    const [, rawName, value] = headerLine.exec(line) ?? [];
    const name = rawName?.toLowerCase();
    if (rawName === undefined || name === undefined || value === undefined) {
      return undefined;
    }
    if (notPlain.has(name) || Object.hasOwn(headers, name)) {
      return undefined;
    }
    headers[name] = value;
    rawHeaders.push(rawName, value);
  }
  const bodyBytes = bodyBytesOf(method, headers['content-length']);
  const { host, connection = 'keep-alive' } = headers;
  if (host === undefined || bodyBytes === undefined || connection.toLowerCase() !== 'keep-alive') {
    return undefined;
  }
  return { method: method as PlainHead['method'], target, headers, rawHeaders, bodyBytes };
}

function bodyBytesOf(method: string, length: string | undefined): number | undefined {
  if (method === 'GET') {
    return length === undefined ? 0 : undefined;
  }
  return length !== undefined && plainLength.test(length) ? Number(length) : undefined;
}
