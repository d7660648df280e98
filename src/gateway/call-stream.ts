/** The streamed response of a call. It is relayed to the client, read for its usage, and settled at its end. */

import { performance } from 'node:perf_hooks';
import type { PacedHold } from '../growing-holds/paced-hold.ts';
import { UnsentOutput } from '../growing-holds/unsent-output.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import type { StreamedReply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { addsUsageChunk } from './body-to-send.ts';
import { callHeaders } from './call-headers.ts';
import type { CallCharges } from './call-settlement.ts';
import { envelopeAt, framingIn } from './envelopes.ts';
import type { ReceivedResponse } from './forward/attempts.ts';
import type { GatewayContext } from './gateway-context.ts';
import { coversOutput } from './hold-coverage.ts';
import { scoreBoundOf } from './output-score.ts';
import { createFrameFilter, framedEvents } from './stream/frame-filter.ts';
import { framings } from './stream/framings.ts';
import { createJsonArray } from './stream/json-array.ts';
import { createRelayFilter } from './stream/relay-filter.ts';
import { relayStream, type StreamEnd } from './stream/relay-stream.ts';
import { endingOf, streamOutcome } from './stream/stream-outcome.ts';
import { bytesOf } from './usage/output-bound.ts';

const nowMs = () => performance.now();

/** Time to read the rest of a response after its client has left. */
const drainMs = 30_000;
/** Time by which the client's connection may be silent for longer than that of the provider. */
const silenceMarginMs = 30_000;

/** The call of the stream. It occupies a place while the stream is drained, and is settled at the end. */
export interface RelayedCall {
  /** Set if the hold follows the time of the call. */
  readonly paced: PacedHold | undefined;
  /** Time at which the attempt that is answered was sent. */
  readonly sentMs: number;
  settle(outcome: CallOutcome): Promise<unknown>;
  chargesOf(outcome: CallOutcome): CallCharges;
}

export type CallStream = ReturnType<typeof streamCall>;

export function streamCall(
  { coverage: coverageOf, metrics, drains, turns }: GatewayContext,
  given: AdmittedRequest,
  { response, attempts, connection, redaction }: ReceivedResponse,
  call: RelayedCall,
) {
  const { operation, plan, admitted, caller } = given;
  const format = operation.format.response;
  const isWhole = coversOutput(plan, admitted) && call.paced === undefined;
  const bound = isWhole ? bytesOf : scoreBoundOf(plan.model);
  const usage = format.readStream(bound, plan.call.choices);
  const { timeouts } = connection;
  const grown = coverageOf({ orgId: caller.tenantId, plan, admitted }, usage);
  const { choices } = plan.call;
  // A plain response has the usage.
  const includesUsage = plan.call.includesUsage || plan.isAssembled;
  const mayTruncate = grown !== undefined || call.paced !== undefined;
  const open = format.openStream({ choices, includesUsage, mayTruncate });
  const coverage = call.paced?.coverageOf(usage, () => open.isOutputEnded) ?? grown;
  const unsent = new UnsentOutput();
  unsent.begin(call.sentMs);
  metrics.streamOpened();
  const outcomeOf = (end: StreamEnd, isBehind: boolean) => {
    if (response.isEncoded || response.body.isUndecodable) {
      usage.markUnread();
    }
    const isSeen = !usage.isUnread && !usage.isReasoningHidden;
    return streamOutcome(end, usage, isSeen && !isBehind && plan.showsOutput);
  };
  const dropUsageChunk = addsUsageChunk(plan) && !plan.isAssembled;
  const from = framingIn(envelopeAt(connection, operation.format), operation.format);
  const to = plan.isAssembled ? 'sse' : framingIn(operation.envelope, operation.format);
  const filter =
    from === 'sse' && to === 'sse'
      ? redaction.filter(createRelayFilter({ usage, open, format, bound, dropUsageChunk }))
      : createFrameFilter({ usage, open, from, to, redaction });
  const array = operation.isArray === true ? createJsonArray() : undefined;
  let ended: StreamEnd | undefined;
  const relay = relayStream({
    source: response.body,
    filter: array === undefined ? filter : array.filter(filter),
    totalMs: timeouts.totalMs,
    drainMs,
    mayDrain: () => plan.settings.onAbort === 'drain' && drains.tryTake(call),
    ...(call.paced !== undefined && { catchUpMsMax: call.paced.catchUpMs }),
    cover() {
      unsent.note(usage.outputBound, nowMs);
      // The hold need not grow once the output has ended, because only the usage follows.
      return open.isOutputEnded ? undefined : coverage?.cover();
    },
    endingOf(end, isBehind) {
      const posted = () => call.chargesOf(outcomeOf(end, isBehind)).settled.usage;
      const ending = redaction.text(endingOf(end, open, posted));
      return array === undefined ? framedEvents(ending, to) : Buffer.from(array.ending(ending));
    },
    onEnd: async (end, isBehind) => {
      ended = end;
      metrics.streamClosed();
      drains.release(call);
      // Waits for a turn while other streams are open, because many streams may end together and delay the tokens of others.
      const turn = metrics.hasStreams() ? turns.next() : undefined;
      if (turn !== undefined) {
        await turn;
      }
      await call.settle(outcomeOf(end, isBehind));
    },
  });
  const reply: StreamedReply = {
    status: response.status,
    headers: {
      ...callHeaders(given, response, attempts),
      ...(from !== to && { 'content-type': framings[to].contentType }),
      ...(array !== undefined && { 'content-type': 'application/json; charset=UTF-8' }),
    },
    body: relay.body,
    silentMsMax: timeouts.idleMs + silenceMarginMs,
  };
  // `heldTokens` is undefined if the hold does not grow.
  return { reply, relay, usage, unsent, heldTokens: coverage?.heldTokens, ended: () => ended };
}
