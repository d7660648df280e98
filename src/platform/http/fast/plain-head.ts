/**
 * Parses the head of a plain request in a strict grammar. It accepts the usual requests of common clients, and nothing that two
 * HTTP parsers could read differently. A head outside the grammar is not an error, but is left to Node's parser. A plain request is
 * a GET without a body or a POST with a content length. It has one space after each colon, no header twice and only printable
 * ASCII. It keeps the connection open, and has no transfer or content coding.
 */
import { maxHeaderSize } from 'node:http';
import { forwardHeader } from '../pipeline/regions.ts';

export interface PlainHead {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  /** Values by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Alternating names and values, as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly bodyBytes: number;
}

export const headBytesMax = Math.min(8_192, maxHeaderSize);

const headersMax = 64;
const requestLine = /^(GET|POST) (\/[\w\-.~!$&'()*+,;=:@/%?]*) HTTP\/1\.1$/;
const headerLine = /^([A-Za-z][A-Za-z0-9-]*): ([!-~](?:[ -~]*[!-~])?)$/;
const plainLength = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Headers that Node or the reader of the body treats specially. Three other such headers are allowed and checked below: host,
 * connection and content-length.
 */
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
  forwardHeader,
]);

/** Parses the head without the empty line at its end. Returns undefined if it is not plain. */
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
