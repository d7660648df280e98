/** A response that is not streamed: it is read as a whole, settled and passed on. */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { kindOf } from '../capabilities/integration/connections/index.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import { parsed, receivedOf } from '../kernel/providers/received-text.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { callHeaders } from './call-headers.ts';
import type { CallInterruption } from './call-interruption.ts';
import { keyRejected, responseInterrupted } from './errors/call-errors.ts';
import type { ReceivedResponse } from './forward/attempts.ts';
import { readAll } from './forward/read-all.ts';
import type { SettledCall } from './settle/settlements.ts';
import { bytesOf } from './usage/output-bound.ts';

export interface PlainCall {
  readonly responseBytesMax: number;
  readonly interruption: CallInterruption;
  settle(outcome: CallOutcome): Promise<SettledCall>;
}

export async function relayPlain(
  given: AdmittedRequest,
  result: ReceivedResponse,
  { responseBytesMax, interruption, settle }: PlainCall,
): Promise<Reply | StreamedReply> {
  const { operation, plan } = given;
  const { response, attempts, connection, redaction } = result;
  const { status, body } = response;
  const cancellation = plan.settings.onAbort === 'close' ? interruption.left : undefined;
  const total = setTimeout(() => body.destroy(), connection.timeouts.totalMs);
  const read = await readAll(body, responseBytesMax, cancellation);
  clearTimeout(total);
  const { isWhole } = read;
  const bytes = redaction.bytes(read.bytes);
  const text = bytes.toString('utf8');
  // A redirect does not count as accepted: it is not followed, so nothing was generated.
  const isAccepted = status < 300 || kindOf(connection).mayChargeFailure(response, parsed(text));
  const received = receivedOf(operation.format.response, text, plan.call.choices, bytesOf);
  // An answer that breaks off was generated completely before. The answer of an error response is lost. A response without output
  // may be generated later. Only a complete visible answer bounds the output.
  const showsAnswer =
    isWhole && plan.showsOutput && !response.isEncoded && status < 300 && received.outputBound > 0;
  const settled = await settle({
    status: status < 300 && isWhole ? 'succeeded' : interruption.isByClient ? 'cancelled' : 'failed',
    usage: received.usage,
    isFinal: received.isFinal,
    outputBound: showsAnswer ? bytes.length : Number.POSITIVE_INFINITY,
    receivedBytes: received.outputBound,
    toolCalls: received.toolCalls,
    isAccepted,
    responseId: received.responseId,
    servedModel: received.servedModel,
  });
  if (!isWhole) {
    throw interruption.errorOr(responseInterrupted);
  }
  if (status === 401) {
    // Replaced, because the provider's message contains a part of the key.
    throw keyRejected(connection);
  }
  const headers = callHeaders(given, response, attempts);
  if (settled.costUsd !== undefined) {
    headers['x-svc-cost-usd'] = settled.costUsd;
  }
  // Valid UTF-8 is sent as text, without a stream, and has the same bytes.
  return isUtf8(bytes)
    ? { status, headers, body: text }
    : { status, headers, body: Readable.from([bytes], { objectMode: false }) };
}
