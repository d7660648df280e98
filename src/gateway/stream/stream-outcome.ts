/** Derives from the end of a stream how its call is settled, and how the client's response ends. */
import type { GatewayErrorCode } from '../../contract/gateway-errors.ts';
import type { CallOutcome } from '../../kernel/providers/call-end.ts';
import type { CallUsage } from '../../kernel/providers/call-usage.ts';
import type { OpenStream } from '../../kernel/providers/open-stream.ts';
import type { StreamUsage } from '../../kernel/providers/stream-usage.ts';
import { stopping } from '../errors/call-errors.ts';
import type { StreamEnd } from './relay-stream.ts';

/** Returns the outcome for the settlement. `isBounded` is false if more output may have been generated than was received. */
export function streamOutcome(end: StreamEnd, usage: StreamUsage, isBounded: boolean): CallOutcome {
  return {
    status: statusOf(end, usage),
    usage: usage.usage(),
    isFinal: usage.isFinal,
    serverTools: usage.serverTools,
    toolCalls: usage.toolCalls,
    outputBound: isBounded ? usage.outputBound : Number.POSITIVE_INFINITY,
    receivedBytes: usage.outputBound,
    isAccepted: true,
    isTruncated: end === 'truncated',
    responseId: usage.responseId,
    servedModel: usage.servedModel,
  };
}

function statusOf(end: StreamEnd, { hasFailed }: StreamUsage): CallOutcome['status'] {
  if (hasFailed) {
    return 'failed';
  }
  switch (end) {
    case 'complete':
    case 'truncated':
      return 'succeeded';
    case 'left':
      return 'cancelled';
    default:
      return 'failed';
  }
}

/** Code of the error event that ends a stream. */
const interruptedCode: GatewayErrorCode = 'stream_interrupted';
const failureMessages = { broken: 'The stream of the provider broke off.', cut: stopping };

/** Returns the bytes that end the client's stream. `posted` returns the usage that is posted for the call. */
export function endingOf(end: StreamEnd, open: OpenStream, posted: () => CallUsage): string {
  switch (end) {
    case 'broken':
    case 'cut':
      return open.isOutputEnded ? open.rest() : open.failed(failureMessages[end], interruptedCode);
    case 'truncated':
      return open.truncated(posted());
    default:
      return '';
  }
}
