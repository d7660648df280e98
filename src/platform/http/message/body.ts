/** Reads a request body. The byte limit applies to the declared length, and to the body after decompression. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import type { BodyMemory } from './body-memory.ts';
import { noBody, type ParsedBody, parseJsonLines, parseJsonObject } from './json.ts';
import { isStorable } from './json-errors.ts';
import type { JsonList } from './json-limits.ts';

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
  /** Maximum number of values in the JSON. Undefined: the default. */
  readonly valuesMax?: number | undefined;
  readonly optional: boolean;
  readonly memory: BodyMemory;
  /** The field whose items may also be sent as lines of JSON. */
  readonly lines?: JsonList | undefined;
}

/** Reads the body as a JSON object. An optional body that is absent is `{}`. */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  rules: BodyRules,
): Promise<ParsedBody> {
  sendContinue(request, response, rules.limitBytes);
  const bytes = await readBytes(request, rules);
  return parseBody(bytes, request.headers['content-type'], rules);
}

/** Reads the body as decompressed bytes. */
export async function readRawBody(
  request: IncomingMessage,
  response: ServerResponse,
  rules: Pick<BodyRules, 'limitBytes' | 'memory'>,
): Promise<Buffer> {
  sendContinue(request, response, rules.limitBytes);
  return readBytes(request, rules);
}

/** Parses a body that was already read, in the same way as `readJsonBody`. */
export function parseBody(
  bytes: Buffer,
  contentType: string | undefined,
  rules: Pick<BodyRules, 'optional' | 'lines' | 'valuesMax'>,
): ParsedBody {
  if (bytes.length === 0 && rules.optional) {
    return noBody;
  }
  if (rules.lines !== undefined && contentType !== undefined && linesType.test(contentType)) {
    return parseJsonLines(bytes, rules.lines);
  }
  if (contentType === undefined ? bytes.length > 0 : !jsonType.test(contentType)) {
    throw invalidField('body', 'invalid_content_type', 'The content type must be application/json in UTF-8.');
  }
  return parseJsonObject(bytes, rules.lines, rules.valuesMax);
}

/** Maximum number of parameters: a form has one for each field and each selected option of a list. */
const formParametersMax = 1_000;

/**
 * Reads the fields of a form as browsers submit it. Compressed forms are rejected: browsers do not compress forms. Some forms are
 * read before the caller is identified, when a kilobyte must not become a megabyte.
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  rules: Pick<BodyRules, 'limitBytes' | 'memory'>,
): Promise<URLSearchParams> {
  if (!formType.test(request.headers['content-type'] ?? '')) {
    throw invalidField(
      'body',
      'invalid_content_type',
      'The content type must be application/x-www-form-urlencoded in UTF-8.',
    );
  }
  if (encodingOf(request) !== 'identity') {
    throw invalidField('body', 'invalid_content_type', 'A form must not be compressed.');
  }
  sendContinue(request, response, rules.limitBytes);
  const bytes = await readBytes(request, rules);
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

/** Parses the names and values of a form or a query. Rejects values that cannot be stored. */
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
 * Sends `100 Continue` to a client that waits for it, unless the declared body is too large. Called only after all earlier checks
 * have passed.
 */
function sendContinue(request: IncomingMessage, response: ServerResponse, limitBytes: number): void {
  if (request.headers.expect !== undefined && declaredBytes(request) <= limitBytes) {
    response.writeContinue();
    // Removed, because from here on the request is like any other.
    delete request.headers.expect;
  }
}

function declaredBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0) - (trailers.get(request)?.bytes ?? 0);
}

/** Truncated and damaged bodies share one message, because either problem may be detected first. */
export const endedEarly = 'The body ended early or is damaged.';

/** The error to send, for each request whose body framing broke while it arrived. */
const broken = new WeakMap<IncomingMessage, ApiError>();
const whenBroken = Symbol('when broken');

/** A request with its callback for a broken body. */
interface Breakable extends IncomingMessage {
  [whenBroken]?: () => void;
}

/** Marks the rest of a body as unreadable, for its current or later reader. */
export function breakBody(request: Breakable, error: ApiError): void {
  broken.set(request, error);
  request[whenBroken]?.();
}

/** Returns the error of a broken body. */
export function breakageOf(request: IncomingMessage): ApiError | undefined {
  return broken.get(request);
}

export function isBroken(request: IncomingMessage): boolean {
  return broken.has(request);
}

/** Sets the callback for a broken body. A later call replaces an earlier one. */
export function onBroken(request: Breakable, listener: () => void): void {
  request[whenBroken] = listener;
}

/** Bytes at the end of a body that prove its origin. They do not belong to its content. */
export interface BodyTrailer {
  readonly bytes: number;
  isValid(body: Buffer, trailer: Buffer): boolean;
}

const trailers = new WeakMap<IncomingMessage, BodyTrailer>();

/** Requires that the body of the request ends with a valid trailer. Must be called before the body is read. */
export function requireTrailer(request: IncomingMessage, trailer: BodyTrailer): void {
  trailers.set(request, trailer);
}

function encodingOf({ headers }: IncomingMessage): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
}

type ReadingRules = Pick<BodyRules, 'limitBytes' | 'memory'>;

async function readBytes(request: IncomingMessage, rules: ReadingRules): Promise<Buffer> {
  const { limitBytes } = rules;
  if (declaredBytes(request) > limitBytes) {
    throw tooLarge(limitBytes);
  }
  const trailer = trailers.get(request);
  // Verified as a whole before any of it is used or decompressed.
  const verified = trailer && withoutTrailer(await collect(request, request, rules, trailer.bytes), trailer);
  const encoding = encodingOf(request);
  if (encoding === 'identity') {
    return verified ?? collect(request, request, rules);
  }
  const decompressor = decompressors.get(encoding)?.();
  if (decompressor === undefined) {
    throw invalidField(
      'body',
      'invalid_content_type',
      `The content encoding must be one of ${[...decompressors.keys()].join(', ')}.`,
    );
  }
  const compressed = verified === undefined ? request : Readable.from([verified]);
  return collect(request, compressed.pipe(decompressor), rules);
}

function withoutTrailer(bytes: Buffer, trailer: BodyTrailer): Buffer {
  const end = bytes.length - trailer.bytes;
  const body = bytes.subarray(0, Math.max(end, 0));
  if (end < 0 || !trailer.isValid(body, bytes.subarray(end))) {
    throw apiError('service_unavailable', 'The body is not the one that the forwarding region has signed.');
  }
  return body;
}

const noBytes = Buffer.alloc(0);

/** Reads the whole stream: the request itself or its decompressor. `trailingBytes` are allowed in addition to the limit. */
function collect(
  request: IncomingMessage,
  stream: Readable,
  { limitBytes, memory }: ReadingRules,
  trailingBytes = 0,
): Promise<Buffer> {
  const { pool, owner } = memory;
  const bytesMax = limitBytes + trailingBytes;
  // A single growing buffer, because a list would cost hundreds of bytes per chunk, even for chunks of one byte.
  let bytes: Buffer = noBytes;
  let size = 0;
  const releaseBuffer = () => {
    pool.release(owner, bytes.length);
    bytes = noBytes;
  };
  const declared = stream === request ? declaredBytes(request) : 0;
  const reading = new Promise<Buffer>((resolve, reject) => {
    const fail = (error: Error) => {
      // The rest is read and discarded, so that the client receives the response.
      request.unpipe();
      stream.removeAllListeners('data');
      if (stream !== request) {
        stream.destroy();
      }
      request.resume();
      reject(error);
    };
    const failIfBroken = () => {
      const error = broken.get(request);
      if (error !== undefined) {
        fail(error);
      }
    };
    stream.on('data', (chunk: Buffer) => {
      const end = size + chunk.length;
      if (end > bytesMax) {
        fail(tooLarge(limitBytes));
        return;
      }
      if (end > bytes.length) {
        const largerSize = bufferSizeFor(end, declared, bytesMax);
        if (!pool.tryTake(owner, largerSize - bytes.length)) {
          fail(apiError('service_unavailable', 'Too many large bodies are being read at once.'));
          return;
        }
        const larger = Buffer.allocUnsafe(largerSize);
        bytes.copy(larger, 0, 0, size);
        bytes = larger;
      }
      chunk.copy(bytes, size);
      size = end;
    });
    stream.on('end', () => {
      const body = bytes.subarray(0, size);
      // Released now, because the listeners keep a reference to this buffer until the request is answered.
      releaseBuffer();
      resolve(body);
    });
    const damaged = () => fail(invalidField('body', 'invalid_body', endedEarly));
    stream.on('error', damaged);
    request.on('error', damaged);
    request.on('aborted', damaged);
    onBroken(request, failIfBroken);
    failIfBroken();
  });
  return reading.finally(releaseBuffer);
}

/** Fraction of the body that must have arrived before its declared size is allocated. So a declaration alone costs no memory. */
const allocateDeclaredFrom = 1 / 8;

function bufferSizeFor(bytes: number, declared: number, limitBytes: number): number {
  return bytes <= declared && bytes >= declared * allocateDeclaredFrom
    ? declared
    : Math.min(Math.max(2 * bytes, 4_096), limitBytes);
}

export function tooLarge(limitBytes: number): ApiError {
  return apiError('payload_too_large', `The body exceeds the limit of ${limitBytes} bytes.`);
}
