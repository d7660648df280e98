/** Forwards calls that providers do not charge for: token counting and stored responses. They take no hold. */
import { Readable } from 'node:stream';
import type { Connection } from '../capabilities/integration/connections/index.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import { CallMemory } from './body/call-memory.ts';
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
  const candidates = await context.connections.candidates(
    tenantId,
    operation.wanted,
    model as string | undefined,
  );
  if (candidates.length === 0) {
    throw new GatewayError(404, 'not_found', 'No connection of the organization serves this call.');
  }
  const result =
    operation.kind === 'stored-response'
      ? await findStored(context, candidates, request, operation, body)
      : await send(context, candidates, request, operation, body);
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
  const bytes = result.redaction.bytes(read.bytes);
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
): Promise<AttemptsResult> {
  return attemptCall(
    { client, connections, countAttempt: metrics.attempt },
    candidates,
    {
      method,
      pathFor: (connection) => providerPath(connection, operation, modelOf(operation)),
      headers,
      bodyFor: () => body,
    },
    new Cancellation(),
  );
}

function modelOf(operation: FreeOperation): string | undefined {
  return operation.kind === 'free' ? operation.deployment : undefined;
}
