/** Forwards calls that providers do not charge for: token counting and stored responses. They take no hold. */
import { Readable } from 'node:stream';
import {
  type Connection,
  modelIdAt,
  type TokenCounting,
} from '../capabilities/integration/connections/index.ts';
import { fieldsOf } from '../kernel/providers/fields.ts';
import { parsed } from '../kernel/providers/received-text.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import { CallMemory } from './body/call-memory.ts';
import { editBody } from './body/edit-body.ts';
import { envelopeAt, envelopedBody, envelopedHeaders } from './envelopes.ts';
import { keyRejected } from './errors/call-errors.ts';
import { GatewayError } from './errors/gateway-error.ts';
import { type AttemptsResult, attemptCall, notAttempted } from './forward/attempts.ts';
import { Cancellation } from './forward/cancellation.ts';
import { responseHeaders } from './forward/provider-headers.ts';
import { readAll } from './forward/read-all.ts';
import type { GatewayContext } from './gateway-context.ts';
import { parseObject } from './parse-call.ts';
import { type FreeOperation, providerPath } from './paths/operation.ts';

export interface FreeCall {
  readonly request: RawRequest;
  readonly operation: FreeOperation;
  readonly caller: Caller;
  readonly bodyBytesMax: number;
}

export async function forwardFree(context: GatewayContext, call: FreeCall): Promise<Reply | StreamedReply> {
  const memory = new CallMemory(workMemoryOf(call.caller.tenantId));
  try {
    return await forward(context, call, memory);
  } finally {
    memory.release();
  }
}

async function forward(
  context: GatewayContext,
  { request, operation, caller, bodyBytesMax }: FreeCall,
  memory: CallMemory,
): Promise<Reply | StreamedReply> {
  const { tenantId } = caller;
  if (operation.kind === 'stored-response') {
    await context.storedResponses.requireOwn(caller, operation.responseId);
  }
  const body = request.method === 'POST' ? await request.readBody(bodyBytesMax, tenantId) : undefined;
  memory.holdBytes(body?.length ?? 0);
  const inPath = operation.kind === 'free' ? operation.deployment : undefined;
  const model =
    operation.kind === 'free' && body !== undefined && inPath === undefined
      ? (await context.work.run(tenantId, parseObject(body, memory))).model
      : inPath;
  if (operation.kind === 'free' && typeof model !== 'string') {
    throw new GatewayError(400, 'invalid_value', '`model` must be a string.', { field: 'model' });
  }
  memory.keepBytes();
  const named = model as string | undefined;
  const serving = await context.connections.candidates(tenantId, operation.wanted, named);
  const candidates = serving.filter((connection) => mayAnswer(connection, operation));
  if (candidates.length === 0) {
    throw new GatewayError(404, 'not_found', 'No connection of the organization serves this call.');
  }
  const result =
    operation.kind === 'stored-response'
      ? await findStored(context, candidates, request, operation, body)
      : await send(context, candidates, request, operation, body, named);
  if (result.kind === 'unreachable') {
    throw new GatewayError(502, 'provider_unreachable', 'The provider could not be reached.');
  }
  const { status, headers, body: source } = result.response;
  if (status === 401) {
    source.destroy();
    throw keyRejected(result.connection);
  }
  const read = await readAll(source, context.responseBytesMax);
  if (!read.isWhole) {
    throw new GatewayError(502, 'response_interrupted', 'The response of the provider broke off.');
  }
  const redacted = result.redaction.bytes(read.bytes);
  const counting = status < 300 ? countingAt(result.connection, operation) : undefined;
  const bytes =
    counting === undefined
      ? redacted
      : Buffer.from(JSON.stringify(counting.answerOf(fieldsOf(parsed(redacted.toString('utf8'))))));
  return {
    status,
    headers: { ...responseHeaders(headers), 'content-length': String(bytes.length) },
    body: Readable.from([bytes], { objectMode: false }),
  };
}

/**
 * Finds a stored response. Its connection is unknown, so each one is tried. If none has it, an unclear failure of one connection
 * takes precedence over the "not found" of others.
 */
async function findStored(
  context: GatewayContext,
  candidates: readonly Connection[],
  request: RawRequest,
  operation: FreeOperation,
  body: Buffer | undefined,
): Promise<AttemptsResult> {
  let kept: AttemptsResult = notAttempted;
  for (const candidate of candidates) {
    const result = await send(context, [candidate], request, operation, body);
    if (!mayBeElsewhere(result)) {
      dispose(kept);
      return result;
    }
    if (kept === notAttempted || isUnknown(kept)) {
      dispose(kept);
      kept = result;
    } else {
      dispose(result);
    }
  }
  return kept;
}

function isUnknown(result: AttemptsResult): boolean {
  return result.kind === 'response' && result.response.status === 404;
}

function mayBeElsewhere(result: AttemptsResult): boolean {
  if (result.kind !== 'response') {
    return true;
  }
  const { status } = result.response;
  return status === 404 || status === 401 || status === 403 || status === 429 || status >= 500;
}

function dispose(result: AttemptsResult): void {
  if (result.kind === 'response') {
    result.response.body.destroy();
  }
}

function send(
  { client, connections, metrics }: GatewayContext,
  candidates: readonly Connection[],
  { method, headers }: RawRequest,
  operation: FreeOperation,
  body: Buffer | undefined,
  model?: string,
): Promise<AttemptsResult> {
  return attemptCall(
    { client, connections, countAttempt: metrics.attempt },
    candidates,
    {
      method,
      pathFor: (connection) =>
        countingPath(connection, operation, model) ??
        providerPath(connection, operation, modelOf(operation), false),
      headersFor: (connection) =>
        envelopedHeaders(headers, connection, {
          ...operation,
          sentIn: operation.envelope,
          betas: [],
          isStream: false,
        }),
      bodyFor: (connection) => bodyToCount(connection, operation, body, model),
    },
    new Cancellation(),
  );
}

/** Returns how a connection with an envelope counts tokens; undefined if it takes the request as it is. */
function countingAt(connection: Connection, { format }: FreeOperation): TokenCounting | undefined {
  return envelopeAt(connection, format)?.countTokens;
}

/** Returns true if the connection can answer: one with an envelope may have no operation that counts tokens. */
function mayAnswer(connection: Connection, operation: FreeOperation): boolean {
  return (
    envelopeAt(connection, operation.format) === undefined || countingAt(connection, operation) !== undefined
  );
}

function countingPath(
  connection: Connection,
  operation: FreeOperation,
  model: string | undefined,
): string | undefined {
  const counting = countingAt(connection, operation);
  if (counting === undefined || model === undefined) {
    return undefined;
  }
  const id = modelIdAt(connection, model);
  return counting.path.replace('{model}', () => encodeURIComponent(counting.modelOf?.(id) ?? id));
}

function bodyToCount(
  connection: Connection,
  operation: FreeOperation,
  body: Buffer | undefined,
  model: string | undefined,
): Buffer | undefined {
  const counting = countingAt(connection, operation);
  const { format, envelope } = operation;
  if (body === undefined || model === undefined || (counting === undefined && envelope === undefined)) {
    return body;
  }
  const named = editBody(body, { model: modelIdAt(connection, envelope?.nameOf?.(model) ?? model) });
  return (
    counting?.bodyOf(named) ??
    envelopedBody(named, connection, { format, sentIn: envelope, betas: [], isStream: false })
  );
}

function modelOf(operation: FreeOperation): string | undefined {
  return operation.kind === 'free' ? operation.deployment : undefined;
}
