/** Reads a request's body, bounded in bytes, as sent and after decompression. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import { noBody, type ParsedBody, parseJsonLines, parseJsonObject } from './json.ts';
import { isStorable } from './json-errors.ts';
import type { JsonList } from './json-survey.ts';

const linesType = /^application\/(x-)?(ndjson|jsonl|json-lines)\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;
const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;
const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

const decompressors = new Map<string, () => NodeJS.ReadWriteStream & Readable>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

export interface BodyRules {
  readonly limitBytes: number;
  readonly optional: boolean;
  /** Lines of JSON are taken too, as the items of this field. */
  readonly lines?: JsonList | undefined;
}

/** Returns the body as an object; `{}` when it may be left out and was. */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  rules: BodyRules,
): Promise<ParsedBody> {
  invite(request, response, rules.limitBytes);
  const bytes = await readBytes(request, rules.limitBytes);
  return parseBody(bytes, request.headers['content-type'], rules);
}

/** The same of one that is at hand. */
export function parseBody(bytes: Buffer, contentType: string | undefined, rules: BodyRules): ParsedBody {
  if (bytes.length === 0 && rules.optional) {
    return noBody;
  }
  if (rules.lines !== undefined && contentType !== undefined && linesType.test(contentType)) {
    return parseJsonLines(bytes, rules.lines);
  }
  if (contentType === undefined ? bytes.length > 0 : !jsonType.test(contentType)) {
    throw invalidField(
      'body',
      'invalid_content_type',
      'The content type has to be application/json in UTF-8.',
    );
  }
  return parseJsonObject(bytes, rules.lines);
}

/** A browser sends one for each field, and one for each choice of a list. */
const formParametersMax = 1_000;

/**
 * Returns the fields of a form as browsers submit it. Browsers do not compress forms, and some of these are taken before it is
 * known who sends them: a kilobyte must not become a megabyte here.
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  limitBytes: number,
): Promise<URLSearchParams> {
  if (!formType.test(request.headers['content-type'] ?? '')) {
    throw invalidField('body', 'invalid_content_type', 'The content type has to be that of a form.');
  }
  if (encodingOf(request) !== 'identity') {
    throw invalidField('body', 'invalid_content_type', 'A form must not be compressed.');
  }
  invite(request, response, limitBytes);
  const bytes = await readBytes(request, limitBytes);
  if (countAmpersands(bytes) >= formParametersMax) {
    throw invalidField('body', 'too_many', `At most ${formParametersMax} fields are allowed.`);
  }
  return storableParameters(bytes.toString('utf8'));
}

function countAmpersands(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf('&'); at !== -1 && count < formParametersMax; at = bytes.indexOf('&', at + 1)) {
    count += 1;
  }
  return count;
}

/** The names and values of a form or a query, refused where one could not be stored. */
export function storableParameters(text: string): URLSearchParams {
  const parameters = new URLSearchParams(text);
  for (const [name, value] of parameters) {
    if (!isStorable(name) || !isStorable(value)) {
      throw invalidField(isStorable(name) ? name : 'body', 'invalid_value', 'NUL is not allowed.');
    }
  }
  return parameters;
}

/**
 * A client that waits for permission to send its body gets it only now, when everything before has passed, and not
 * at all for a body that it declares too large.
 */
function invite(request: IncomingMessage, response: ServerResponse, limitBytes: number): void {
  if (request.headers.expect !== undefined && declaredBytes(request) <= limitBytes) {
    response.writeContinue();
    // What it waited for has happened; from here on it is a client like any other.
    delete request.headers.expect;
  }
}

function declaredBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}

/** One message, since a body that is both cut short and damaged may be found to be either first. */
export const endedEarly = 'The body ended early or is damaged.';

/** Bodies whose framing broke while they arrived, and what is to be answered for it. */
const broken = new WeakMap<IncomingMessage, ApiError>();
const whenBroken = Symbol('when broken');

/** A request with what to call when its body breaks. */
interface Breakable extends IncomingMessage {
  [whenBroken]?: () => void;
}

/** Tells whoever reads this body, now or later, that the rest of it cannot be read. */
export function breakBody(request: Breakable, error: ApiError): void {
  broken.set(request, error);
  request[whenBroken]?.();
}

/** What is to be answered for a body that broke. */
export function breakageOf(request: IncomingMessage): ApiError | undefined {
  return broken.get(request);
}

export function isBroken(request: IncomingMessage): boolean {
  return broken.has(request);
}

/** Calls back if the rest of the body cannot be read. Whoever reads it last is told. */
export function onBroken(request: Breakable, heard: () => void): void {
  request[whenBroken] = heard;
}

function encodingOf({ headers }: IncomingMessage): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
}

async function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (declaredBytes(request) > limitBytes) {
    throw tooLarge(limitBytes);
  }
  const encoding = encodingOf(request);
  if (encoding === 'identity') {
    return collect(request, request, limitBytes);
  }
  const decompressor = decompressors.get(encoding)?.();
  if (decompressor === undefined) {
    throw invalidField(
      'body',
      'invalid_content_type',
      `The content encoding has to be one of ${[...decompressors.keys()].join(', ')}.`,
    );
  }
  return collect(request, request.pipe(decompressor), limitBytes);
}

/** Of all bodies that are being read at this moment. */
let bytesBeingRead = 0;
const bytesBeingReadMax = 1_073_741_824;
/** Up to here one is read however many large ones are. */
const smallBytes = 1_048_576;
const noBytes = Buffer.alloc(0);

/** `stream` is the request itself or what decompresses it. */
function collect(request: IncomingMessage, stream: Readable, limitBytes: number): Promise<Buffer> {
  // One buffer that grows: a list of chunks would cost hundreds of bytes for each that a client sends one byte of.
  let bytes: Buffer = noBytes;
  let size = 0;
  const hold = (others: Buffer) => {
    bytesBeingRead += others.length - bytes.length;
    bytes = others;
  };
  const declared = stream === request ? declaredBytes(request) : 0;
  const reading = new Promise<Buffer>((resolve, reject) => {
    const fail = (error: Error) => {
      // The rest is read and thrown away by the server, so that the client gets to read the answer.
      request.unpipe();
      stream.removeAllListeners('data');
      if (stream !== request) {
        stream.destroy();
      }
      request.resume();
      reject(error);
    };
    const brokenOff = () => {
      const error = broken.get(request);
      if (error !== undefined) {
        fail(error);
      }
    };
    stream.on('data', (chunk: Buffer) => {
      const end = size + chunk.length;
      if (end > limitBytes) {
        fail(tooLarge(limitBytes));
        return;
      }
      if (end > bytes.length) {
        const larger = Buffer.allocUnsafe(roomFor(end, declared, limitBytes));
        bytes.copy(larger, 0, 0, size);
        hold(larger);
      }
      if (bytesBeingRead > bytesBeingReadMax && bytes.length > smallBytes) {
        fail(apiError('service_unavailable', 'Too many large bodies are being read at once.'));
        return;
      }
      chunk.copy(bytes, size);
      size = end;
    });
    stream.on('end', () => {
      const whole = bytes.subarray(0, size);
      // The request keeps its listeners, and with them what they hold, until it is answered.
      hold(noBytes);
      resolve(whole);
    });
    const damaged = () => fail(invalidField('body', 'invalid_body', endedEarly));
    stream.on('error', damaged);
    request.on('error', damaged);
    request.on('aborted', damaged);
    onBroken(request, brokenOff);
    brokenOff();
  });
  return reading.finally(() => hold(noBytes));
}

/** What is only declared gets no room; but once a part of it has come, the rest is believed. */
const believedFrom = 1 / 8;

function roomFor(bytes: number, declared: number, limitBytes: number): number {
  return bytes <= declared && bytes >= declared * believedFrom
    ? declared
    : Math.min(Math.max(2 * bytes, 4_096), limitBytes);
}

export function tooLarge(limitBytes: number): ApiError {
  return apiError('payload_too_large', `The body exceeds the limit of ${limitBytes} bytes.`);
}
