/**
 * Reads and parses a request's body: bounded in bytes (as sent and after decompression) and in nesting,
 * valid UTF-8, an object, and free of what no store can hold.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { FieldError } from '../../contract/errors.ts';
import { type Refusal, refuse, refuseField, refuseFields } from '../../contract/refusal.ts';

const nestingMax = 64;
/** So that a body full of faults is not answered by one many times its size. */
const faultsMax = 10_000;
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
}

/** Returns the body as an object; `{}` when it may be left out and was. */
export async function readJsonBody(request: IncomingMessage, rules: BodyRules): Promise<object> {
  const bytes = await readBytes(request, rules.limitBytes);
  const contentType = request.headers['content-type'];
  if (bytes.length === 0 && rules.optional) {
    return {};
  }
  if (contentType === undefined ? bytes.length > 0 : !jsonType.test(contentType)) {
    throw refuseField(
      'body',
      'invalid_content_type',
      'The content type has to be application/json in UTF-8.',
    );
  }
  return parseJsonObject(bytes);
}

/** Bodies whose framing broke while they arrived, and what is to be answered for it. */
const broken = new WeakMap<IncomingMessage, Refusal>();
const brokenEvent = 'purser.broken';

/** Tells whoever reads this body, now or later, that the rest of it cannot be read. */
export function breakBody(request: IncomingMessage, refusal: Refusal): void {
  broken.set(request, refusal);
  request.emit(brokenEvent);
}

export function isBroken(request: IncomingMessage): boolean {
  return broken.has(request);
}

async function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
    throw tooLarge(limitBytes);
  }
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity') {
    return collect(request, request, limitBytes);
  }
  const decompressor = decompressors.get(encoding)?.();
  if (decompressor === undefined) {
    throw refuseField(
      'body',
      'invalid_content_type',
      `The content encoding has to be one of ${[...decompressors.keys()].join(', ')}.`,
    );
  }
  return collect(request, request.pipe(decompressor), limitBytes);
}

/** `stream` is the request itself or what decompresses it. */
function collect(request: IncomingMessage, stream: Readable, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
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
      const refusal = broken.get(request);
      if (refusal !== undefined) {
        fail(refusal);
      }
    };
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limitBytes) {
        fail(tooLarge(limitBytes));
      } else {
        chunks.push(chunk);
      }
    });
    stream.on('end', () => resolve(Buffer.concat(chunks, size)));
    const damaged = () => fail(refuseField('body', 'invalid_body', 'The body ended early or is damaged.'));
    stream.on('error', damaged);
    request.on('error', damaged);
    request.on('aborted', damaged);
    request.on(brokenEvent, brokenOff);
    brokenOff();
  });
}

function tooLarge(limitBytes: number) {
  return refuse('payload_too_large', `The body exceeds the limit of ${limitBytes} bytes.`);
}

export function parseJsonObject(bytes: Buffer): object {
  if (!isUtf8(bytes)) {
    throw refuseField('body', 'invalid_body', 'The body is not valid UTF-8.');
  }
  if (nesting(bytes) > nestingMax) {
    throw refuseField('body', 'invalid_body', `The body is nested more than ${nestingMax} levels deep.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refuseField(
      'body',
      'invalid_json',
      bytes.length === 0 ? 'The body is empty.' : 'The body is not valid JSON.',
    );
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw refuseField('body', 'invalid_type', 'The body has to be a JSON object.');
  }
  // Valid UTF-8 can hold these only as escapes, or by name; most bodies need no search.
  if (bytes.includes('\\u') || bytes.includes('__proto__')) {
    const faults: FieldError[] = [];
    findUnstorable(value, '', faults);
    if (faults.length > 0) {
      throw refuseFields(faults);
    }
  }
  return value;
}

/** Looked up before parsing: a parser would build millions of nested arrays before anyone could object. */
function nesting(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) {
        i += 1;
      } else if (byte === 0x22) {
        inString = false;
      }
    } else if (byte === 0x22) {
      inString = true;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      deepest = depth > deepest ? depth : deepest;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
  }
  return deepest;
}

/** PostgreSQL stores neither NUL nor half a surrogate pair, and a `__proto__` key is never meant well. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

function findUnstorable(value: unknown, path: string, faults: FieldError[]): void {
  if (faults.length === faultsMax) {
    return;
  }
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      faults.push({
        field: path,
        code: 'invalid_value',
        message: 'NUL and lone surrogates are not allowed.',
      });
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      findUnstorable(item, `${path}[${index}]`, faults);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      const field = path === '' ? key : `${path}.${key}`;
      if (key === '__proto__') {
        faults.push({ field, code: 'unknown_field', message: 'This name is not allowed.' });
      } else if (!isStorable(key)) {
        faults.push({
          field: path === '' ? 'body' : path,
          code: 'invalid_value',
          message: 'A name holds NUL or a lone surrogate.',
        });
      } else {
        findUnstorable(member, field, faults);
      }
    }
  }
}
