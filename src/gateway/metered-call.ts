/** A call that costs money, from its body to its settlement. */
import { isUtf8 } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { type Connection, kindOf } from '../capabilities/integration/connections/index.ts';
import { isResponseId } from '../capabilities/spend/runs/index.ts';
import { formatUsd } from '../kernel/money.ts';
import { type CallOutcome, type SettledUsage, settledUsage } from '../kernel/providers/call-end.ts';
import type { CallUsage } from '../kernel/providers/call-usage.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { addsUsageChunk, bodyOf } from './body-to-send.ts';
import { callHeaders } from './call-headers.ts';
import { type CallState, type CallStatus, statusOf } from './call-status.ts';
import { toolChargesOf } from './call-tools.ts';
import { EarlierAttempts } from './earlier-attempts.ts';
import { keyRejected, stoppingError, unreachableError } from './errors/call-errors.ts';
import { GatewayError } from './errors/gateway-error.ts';
import { type AttemptsResult, attemptCall } from './forward/attempts.ts';
import { Cancellation } from './forward/cancellation.ts';
import type { ProviderResponse } from './forward/provider-client.ts';
import { readAll } from './forward/read-all.ts';
import type { GatewayContext, OngoingCall } from './gateway-context.ts';
import { coversOutput, outputCap } from './hold-coverage.ts';
import { scoreBoundOf } from './output-score.ts';
import { dropBytes, isLabel } from './parse-call.ts';
import { providerPath } from './paths/operation.ts';
import { inputBoundOf } from './plan-call.ts';
import type { Settlement } from './settle/settlement.ts';
import type { SettledCall } from './settle/settlements.ts';
import { parsed, receivedOf } from './stream/received-text.ts';
import { createRelayFilter } from './stream/relay-filter.ts';
import { type Relay, relayStream, type StreamEnd } from './stream/relay-stream.ts';
import { endingOf, streamOutcome } from './stream/stream-outcome.ts';
import { bytesOf } from './usage/output-bound.ts';

/** Time to read the rest of a response after its client has left. */
const drainMs = 30_000;
/** A stream may be silent for as long as its connection allows, and a little longer. */
const silenceMarginMs = 30_000;

export async function forwardCall(
  context: GatewayContext,
  admittedRequest: AdmittedRequest,
): Promise<Reply | StreamedReply> {
  const call = new CallInProgress(context, admittedRequest);
  context.inProgress.add(call);
  try {
    return await call.forward();
  } catch (error) {
    // Nothing of the response was passed on. What the provider has done is not known, so nothing is assumed to be free.
    await call.settle({ ...nothingReceived, status: 'failed', isAccepted: true });
    throw error;
  }
}

export class CallInProgress implements OngoingCall {
  readonly #context: GatewayContext;
  readonly #given: AdmittedRequest;
  readonly #left = new Cancellation();
  /** Ends the request to the provider. */
  readonly #cut = new Cancellation();
  readonly #onClose = () => this.#left.cancel();
  readonly #onHalfClose = () => {
    this.#left.cancel();
    this.#relay?.leave();
  };
  readonly #earlier: EarlierAttempts;
  #settled: Promise<SettledCall> | undefined;
  #resolveSettled: () => void = () => undefined;
  readonly #hasSettled = new Promise<void>((resolve) => {
    this.#resolveSettled = resolve;
  });
  #relay: Relay | undefined;
  /** Set for a stream whose hold is increased while it lasts. */
  #heldTokens: (() => number) | undefined;
  #connection: Connection | undefined;
  #attempts = 0;
  #isAnswered = false;
  #isStopping = false;
  /** Set once a response is streamed. */
  #streamUsage: StreamUsage | undefined;

  constructor(context: GatewayContext, given: AdmittedRequest) {
    this.#context = context;
    this.#given = given;
    this.#earlier = new EarlierAttempts(given, context.increaseHold);
    const { socket } = given.request;
    // Most clients that close their sending side have left. With `drain` nothing is lost by finding out at the next write.
    const isClosing = given.plan.settings.onAbort === 'close';
    if (isClosing) {
      this.#left.onCancel(() => this.#cutUnanswered());
      socket.once('end', this.#onHalfClose);
    }
    socket.once('close', this.#onClose);
    // The client may have left during the admission.
    if (socket.destroyed || (isClosing && socket.readableEnded)) {
      this.#left.cancel();
    }
  }

  /** Ends a request whose response has not started. A response that has started is ended by those who read it. */
  #cutUnanswered(): void {
    if (!this.#isAnswered) {
      this.#cut.cancel();
    }
  }

  async cut(): Promise<void> {
    this.#isStopping = true;
    this.#left.cancel();
    await this.#relay?.cut();
    this.#cut.cancel();
    await this.settled();
  }

  settled(): Promise<void> {
    return this.#hasSettled;
  }

  status(): CallStatus {
    return statusOf(this.#given, {
      state: this.#state(),
      connection: this.#connection,
      attempts: this.#attempts,
      heldTokens: this.#heldTokens?.(),
      usage: this.#streamUsage,
    });
  }

  #state(): CallState {
    if (this.#settled !== undefined) {
      return 'settling';
    }
    if (this.#context.drains.has(this)) {
      return 'draining';
    }
    return this.#streamUsage === undefined ? 'waiting' : 'streaming';
  }

  async forward(): Promise<Reply | StreamedReply> {
    const { plan, operation, request, admitted } = this.#given;
    const { client, connections, metrics } = this.#context;
    const result = await attemptCall(
      { client, connections, countAttempt: metrics.attempt },
      plan.candidates,
      {
        method: request.method,
        pathFor: (connection) => providerPath(connection, operation),
        headers: request.headers,
        bodyFor: (connection) => bodyOf(plan, connection, outputCap(plan, admitted)),
        onAttempt: (connection) => {
          this.#connection = connection;
          this.#attempts += 1;
        },
        mayBeCharged: (failure) => this.#earlier.mayBeCharged(failure),
        onDiscarded: (failure) => this.#earlier.add(failure),
        onUnanswered: () => this.#earlier.addUnanswered(),
        coverAnother: () => this.#earlier.coverAnother(),
        cut: this.#cut,
      },
      // A client that leaves before the first byte ends the retries, and not the attempt in progress.
      this.#left,
    );
    // Nothing is sent again.
    dropBytes(plan.call);
    this.#given.memory.release();
    if (result.kind === 'unreachable') {
      await this.settle({ ...nothingReceived, status: this.#hasLeft ? 'cancelled' : 'failed' });
      throw this.#isStopping ? stoppingError() : unreachableError(result);
    }
    this.#isAnswered = true;
    return isEventStream(result.response) && result.response.status < 300
      ? this.#stream(result)
      : this.#plain(result);
  }

  /** True if the client has left by itself. */
  get #hasLeft(): boolean {
    return this.#left.isCancelled && !this.#isStopping;
  }

  /** Settles once; later calls return the same settlement. */
  settle(outcome: CallOutcome): Promise<SettledCall> {
    this.#settled ??= this.#settleNow(outcome);
    return this.#settled;
  }

  #usageOf(outcome: CallOutcome): { readonly settled: SettledUsage; readonly toolNanos: bigint } {
    const { plan, admitted } = this.#given;
    const maxOutputTokens = outputCap(plan, admitted);
    let { toolNanos } = this.#earlier;
    const bounds = {
      ...inputBoundOf(plan),
      inputGrows: plan.input.hasUnseen,
      serverTools: plan.service.searches,
      maxOutputTokens,
      heldOutputTokens: this.#heldTokens?.() ?? maxOutputTokens,
      unseenOutputTokens: plan.predictedTokens,
      chargedTools: (usage: CallUsage) => {
        const charges = toolChargesOf(plan.price, plan.tools, outcome, usage);
        toolNanos += charges.nanos;
        return charges.units;
      },
    };
    return { settled: settledUsage(outcome, bounds, this.#earlier.usage), toolNanos };
  }

  async #settleNow(outcome: CallOutcome): Promise<SettledCall> {
    const { plan, operation, admitted, caller, attribution, request, startedMs, release } = this.#given;
    const { settlements, storedResponses, ratios, outputs, inProgress } = this.#context;
    const { settled, toolNanos } = this.#usageOf(outcome);
    const { fields, attempts, isFree, marks } = settled;
    if (outcome.isFinal && outcome.usage !== undefined) {
      const subject = { orgId: caller.tenantId, keyId: caller.keyId, model: plan.model };
      outputs.learn(subject, outcome.usage.outputTokens);
      if (!plan.input.hasUnseen && plan.input.imageTokens === 0) {
        ratios.learn(subject, plan.input, outcome.usage.inputTokens);
      }
    }
    const { responseId: named } = outcome;
    const responseId = named !== undefined && isResponseId(named) ? named : undefined;
    if (responseId !== undefined && operation.format.response.isStored) {
      storedResponses.add(caller, responseId);
    }
    try {
      const settlement: Settlement = {
        orgId: caller.tenantId,
        keyId: caller.keyId,
        runId: admitted.runId,
        isStored: admitted.isStored,
        decisionId: admitted.decisionId,
        priceVersion: admitted.priceVersion,
        model: plan.model,
        attribution: admitted.chainId === null ? attribution : { chain_id: admitted.chainId, ...attribution },
        depth: admitted.depth,
        admittedAtMs: request.now.getTime(),
        body: {
          status: outcome.status,
          ...plan.service.stated,
          // Stated with the hold, so that it must not be left out here.
          ...(plan.service.charged.cache_write_1h_tokens !== undefined && { cache_write_1h_tokens: 0 }),
          ...fields,
          ...servedModelOf(outcome, plan.model),
          ...(attempts !== undefined && { attempts }),
          // Zero tokens would be taken for missing usage, and posted at the held amount.
          ...(isFree && { cost_usd: '0' }),
          latency_ms: Math.max(0, Math.round(performance.now() - startedMs)),
        },
        marks,
        ...(toolNanos > 0n && { toolUsd: formatUsd(toolNanos) }),
        ...(responseId !== undefined && { responseId }),
        ...(isFree && toolNanos === 0n && outcome.status !== 'succeeded' && { releasesKey: true }),
      };
      return await settlements.settle(settlement, admitted.heldNanos);
    } finally {
      request.socket.removeListener('close', this.#onClose);
      request.socket.removeListener('end', this.#onHalfClose);
      inProgress.delete(this);
      release();
      this.#resolveSettled();
    }
  }

  async #plain(result: Extract<AttemptsResult, { kind: 'response' }>) {
    const { operation, plan } = this.#given;
    const { response, attempts, connection, redaction } = result;
    const { status, body } = response;
    const cancellation = plan.settings.onAbort === 'close' ? this.#left : undefined;
    const total = setTimeout(() => body.destroy(), connection.timeouts.totalMs);
    const read = await readAll(body, this.#context.responseBytesMax, cancellation);
    clearTimeout(total);
    const { isWhole } = read;
    const bytes = redaction.bytes(read.bytes);
    const text = bytes.toString('utf8');
    // A redirect is not followed, and nothing was generated for it.
    const isAccepted = status < 300 || kindOf(connection).mayChargeFailure(response, parsed(text));
    const received = receivedOf(operation.format.response, text, plan.call.choices);
    // An answer that breaks off was generated completely before, and one that is an error was lost. One without output may be generated later.
    const showsAnswer =
      isWhole && plan.showsOutput && !response.isEncoded && status < 300 && received.outputBytes > 0;
    const settled = await this.settle({
      status: status < 300 && isWhole ? 'succeeded' : this.#hasLeft ? 'cancelled' : 'failed',
      usage: received.usage,
      isFinal: received.isFinal,
      outputBound: showsAnswer ? bytes.length : Number.POSITIVE_INFINITY,
      receivedBytes: received.outputBytes,
      toolCalls: received.toolCalls,
      isAccepted,
      responseId: received.responseId,
      servedModel: received.servedModel,
    });
    if (!isWhole) {
      throw this.#isStopping
        ? stoppingError()
        : new GatewayError(502, 'response_interrupted', 'The response of the provider broke off.');
    }
    if (status === 401) {
      // The message of the provider contains a part of the key.
      throw keyRejected(connection);
    }
    const headers = callHeaders(this.#given, response, attempts);
    if (settled.costUsd !== undefined) {
      headers['x-svc-cost-usd'] = settled.costUsd;
    }
    // Text is sent at once, without the machinery of a stream; its bytes are those of the provider if they are valid UTF-8.
    return isUtf8(bytes)
      ? { status, headers, body: text }
      : { status, headers, body: Readable.from([bytes], { objectMode: false }) };
  }

  #stream(result: Extract<AttemptsResult, { kind: 'response' }>): StreamedReply {
    const { response, attempts, connection, redaction } = result;
    const { operation, plan, admitted } = this.#given;
    const format = operation.format.response;
    const bound = coversOutput(plan, admitted) ? bytesOf : scoreBoundOf(plan.model);
    const usage = format.readStream(bound, plan.call.choices);
    this.#streamUsage = usage;
    const { timeouts } = connection;
    const coverage = this.#context.coverage({ orgId: this.#given.caller.tenantId, plan, admitted }, usage);
    this.#heldTokens = coverage?.heldTokens;
    const { choices, includesUsage } = plan.call;
    const open = format.openStream({ choices, includesUsage, mayTruncate: coverage !== undefined });
    this.#context.metrics.streamOpened();
    const outcomeOf = (end: StreamEnd, isBehind: boolean) => {
      if (response.isEncoded || response.body.isUndecodable) {
        usage.markUnread();
      }
      const isSeen = !usage.isUnread && !usage.isReasoningHidden;
      return streamOutcome(end, usage, isSeen && !isBehind && plan.showsOutput);
    };
    const dropUsageChunk = addsUsageChunk(plan.call);
    const relay = relayStream({
      source: response.body,
      filter: redaction.filter(createRelayFilter({ usage, open, format, bound, dropUsageChunk })),
      totalMs: timeouts.totalMs,
      drainMs,
      mayDrain: () => plan.settings.onAbort === 'drain' && this.#context.drains.tryTake(this),
      // Output that has ended needs no larger hold: its usage follows.
      ...(coverage !== undefined && { cover: () => (open.isOutputEnded ? undefined : coverage.cover()) }),
      endingOf: (end, isBehind) =>
        redaction.text(endingOf(end, open, () => this.#usageOf(outcomeOf(end, isBehind)).settled.usage)),
      onEnd: async (end, isBehind) => {
        this.#context.metrics.streamClosed();
        this.#context.drains.release(this);
        // The last tokens of other streams come first: many streams may end together.
        const turn = this.#context.metrics.hasStreams() ? this.#context.turns.next() : undefined;
        if (turn !== undefined) {
          await turn;
        }
        await this.settle(outcomeOf(end, isBehind));
      },
    });
    this.#relay = relay;
    return {
      status: response.status,
      headers: callHeaders(this.#given, response, attempts),
      body: relay.body,
      silentMsMax: timeouts.idleMs + silenceMarginMs,
    };
  }
}

/** Returns the field of the run for a response that names another model than the call. A name that cannot be stored is left out. */
function servedModelOf({ servedModel: name }: CallOutcome, called: string): { served_model?: string } {
  return name === undefined || name === called || !isLabel(name) ? {} : { served_model: name };
}

const nothingReceived = {
  usage: undefined,
  isFinal: false,
  outputBound: Number.POSITIVE_INFINITY,
  isAccepted: false,
};

function isEventStream({ headers }: ProviderResponse): boolean {
  return /^text\/event-stream\b/i.test(String(headers['content-type'] ?? ''));
}
