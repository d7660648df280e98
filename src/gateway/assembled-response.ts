/** The response of a plain call that was streamed: put together from the relayed stream, which is settled and may be cut like any other. */
import type { AssemblyFormat } from '../kernel/providers/stream-assembly.ts';
import type { Reply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { assembleStream, type ReadAssembly } from './assemble/assemble-stream.ts';
import { callHeaders } from './call-headers.ts';
import type { CallInterruption } from './call-interruption.ts';
import type { CallStream } from './call-stream.ts';
import { responseInterrupted, responseNotAssembled } from './errors/call-errors.ts';
import type { ReceivedResponse } from './forward/attempts.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { SettledCall } from './settle/settlements.ts';
import type { StreamEnd } from './stream/relay-stream.ts';

export interface AssembledCall {
  readonly stream: CallStream;
  readonly interruption: CallInterruption;
  /** Resolves once the call is settled. */
  settled(): Promise<void>;
  /** Returns the settlement of a stream that has ended. */
  settlement(): Promise<SettledCall>;
}

export async function assembleResponse(
  { partialStreams, responseBytesMax }: Pick<GatewayContext, 'partialStreams' | 'responseBytesMax'>,
  given: AdmittedRequest,
  { response, attempts, connection }: ReceivedResponse,
  { stream: { relay, ended }, interruption, settled, settlement }: AssembledCall,
): Promise<Reply> {
  const { plan, operation } = given;
  const leave = () => relay.leave();
  interruption.left.onCancel(leave);
  let assembled: ReadAssembly;
  try {
    assembled = await assembleStream(
      relay.body,
      operation.format.response.assembly as AssemblyFormat,
      responseBytesMax,
    );
  } catch {
    // The client has left. The rest of the stream may be read for its usage.
    await settled();
    throw responseInterrupted();
  } finally {
    interruption.left.off(leave);
  }
  if (assembled.kind === 'unknown') {
    partialStreams.add(connection.id, plan.model);
    throw responseNotAssembled(assembled.part);
  }
  if (assembled.kind === 'unended' || assembled.kind === 'overlong' || isOwnError(assembled, ended())) {
    throw interruption.errorOr(responseInterrupted);
  }
  const { costUsd } = await settlement();
  return {
    status: assembled.kind === 'error' ? assembled.status : response.status,
    headers: {
      ...callHeaders(given, response, attempts),
      'content-type': 'application/json',
      ...(costUsd !== undefined && { 'x-svc-cost-usd': costUsd }),
    },
    body: assembled.text,
  };
}

/** Returns true if the gateway has ended the stream with an error, because it broke off or the process stops. */
function isOwnError({ kind }: ReadAssembly, end: StreamEnd | undefined): boolean {
  return kind === 'error' && (end === 'broken' || end === 'cut');
}
