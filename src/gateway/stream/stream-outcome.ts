/** Decides by the end of a stream how its call is settled, and how the response of the client ends. */
import type { GatewayErrorCode } from '../../contract/gateway-errors.ts';
import type { CallOutcome } from '../../kernel/providers/call-end.ts';
import type { CallUsage } from '../../kernel/providers/call-usage.ts';
import type { OpenStream } from '../../kernel/providers/open-stream.ts';
import type { StreamUsage } from '../../kernel/providers/stream-usage.ts';
import { stopping } from '../errors/call-errors.ts';
import type { StreamEnd } from './relay-stream.ts';

/** `isBounded` is false if more output may have been generated than what was received shows. */
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

/** The code of an error event. */
const interruptedCode: GatewayErrorCode = 'stream_interrupted';
const failureMessages = { broken: 'The stream of the provider broke off.', cut: stopping };

/** `posted` returns the usage that is posted for the call. */
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
