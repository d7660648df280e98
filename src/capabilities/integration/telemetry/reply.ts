/** Responses of OTLP over HTTP, in the encoding of the request. */
import { Readable } from 'node:stream';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ApiError } from '../../../contract/api-error.ts';
import type { Reply, StreamedReply } from '../../../platform/http/message/reply.ts';
import type { Signal } from './telemetry-record.ts';

export type Encoding = 'protobuf' | 'json';

const contentTypes: Record<Encoding, string> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/** Returns undefined for a content type that OTLP does not define. */
export function encodingOf(contentType: string | undefined): Encoding | undefined {
  const [type = ''] = (contentType ?? '').split(';', 1);
  switch (type.trim().toLowerCase()) {
    case 'application/x-protobuf':
    case 'application/protobuf':
      return 'protobuf';
    case 'application/json':
      return 'json';
    default:
      return undefined;
  }
}

export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

const rejectedNames: Record<Signal, string> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/** `partial` is undefined if everything was accepted. */
export function successReply(
  signal: Signal,
  encoding: Encoding,
  partial: PartialSuccess | undefined,
): Reply | StreamedReply {
  if (encoding === 'json') {
    const body =
      partial === undefined
        ? {}
        : {
            partialSuccess: {
              [rejectedNames[signal]]: String(partial.rejected),
              errorMessage: partial.message,
            },
          };
    return { status: 200, headers: headersOf('json'), body: JSON.stringify(body) };
  }
  if (partial === undefined) {
    return { status: 200, headers: headersOf('protobuf'), body: '' };
  }
  const message = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.Varint)
    .int64(partial.rejected)
    .tag(2, WireType.LengthDelimited)
    .string(partial.message)
    .join();
  return { status: 200, headers: headersOf('protobuf'), body: bytesBody(message.finish()) };
}

/** An error with a status of HTTP that the API has no code for. */
export class OtlpError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'OtlpError';
    this.status = status;
    this.code = code;
  }
}

/** Codes of google.rpc.Status by the status of HTTP. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 12,
  410: 16,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};
const internalCode = 13;
/** Exporters retry 429 and 503 after this time. */
const retryAfterSeconds = 1;

export function errorReply(error: ApiError | OtlpError, encoding: Encoding): Reply | StreamedReply {
  const { code, message } = shownError(error);
  // An invalid body is 400 in OTLP.
  const status = error.status === 422 ? 400 : error.status;
  const rpcCode = rpcCodes[status] ?? internalCode;
  const headers = {
    ...headersOf(encoding),
    ...((status === 429 || status === 503) && { 'retry-after': String(retryAfterOf(error)) }),
    ...(status === 401 && { 'www-authenticate': 'Bearer realm="purser"' }),
  };
  if (encoding === 'json') {
    return { status, headers, body: JSON.stringify({ code: rpcCode, message, details: [] }), code };
  }
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(rpcCode);
  writer.tag(2, WireType.LengthDelimited).string(message);
  return { status, headers, body: bytesBody(writer.finish()), code };
}

function shownError(error: ApiError | OtlpError): { readonly code: string; readonly message: string } {
  const { fields } = ('details' in error ? error.details : {}) as {
    readonly fields?: readonly { readonly field: string; readonly message: string }[];
  };
  const message = fields?.map((one) => `${one.field}: ${one.message}`).join(' ') ?? error.message;
  return { code: error.code, message };
}

function retryAfterOf(error: ApiError | OtlpError): number {
  const { retry_after_seconds: seconds = retryAfterSeconds } = ('details' in error ? error.details : {}) as {
    readonly retry_after_seconds?: number;
  };
  return seconds;
}

function headersOf(encoding: Encoding): Record<string, string> {
  return { 'content-type': contentTypes[encoding], 'cache-control': 'no-store' };
}

/** Returns the body as a stream of bytes, because the text of a reply would be encoded as UTF-8. */
function bytesBody(bytes: Uint8Array): Readable {
  return Readable.from([Buffer.from(bytes)], { objectMode: false });
}
