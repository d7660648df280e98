/** A call that may be charged, from its body to its settlement. */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { kindOf } from '../capabilities/integration/connections/index.ts';
import { isResponseId } from '../capabilities/spend/runs/index.ts';
import type { PacedHold } from '../growing-holds/paced-hold.ts';
import { formatUsd } from '../kernel/money.ts';
import { tokensWithin } from '../kernel/pace.ts';
import { worstCaseOutputCost } from '../kernel/prices.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import { parsed, receivedOf } from '../kernel/providers/received-text.ts';
import type { AssemblyFormat } from '../kernel/providers/stream-assembly.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { assembleStream, type ReadAssembly } from './assemble/assemble-stream.ts';
import { bodyOf } from './body-to-send.ts';
import { CallAttempts } from './call-attempts.ts';
import { callHeaders } from './call-headers.ts';
import { type CallCharges, chargesOf, settlementOf } from './call-settlement.ts';
import { type CallState, type CallStatus, statusOf } from './call-status.ts';
import { type CallStream, type RelayedCall, streamCall } from './call-stream.ts';
import {
  holdDenied,
  keyRejected,
  responseInterrupted,
  responseNotAssembled,
  stoppingError,
  unreachableError,
} from './errors/call-errors.ts';
import { attemptCall, type ReceivedResponse } from './forward/attempts.ts';
import { Cancellation } from './forward/cancellation.ts';
import type { ProviderResponse } from './forward/provider-client.ts';
import { readAll } from './forward/read-all.ts';
import type { GatewayContext, OngoingCall } from './gateway-context.ts';
import { outputCap } from './hold-coverage.ts';
import { growthOf } from './hold-growth.ts';
import type { HoldingCall } from './holding-calls.ts';
import { learnDeployment } from './learn-deployment.ts';
import { dropBytes } from './parse-call.ts';
import { providerPath } from './paths/operation.ts';
import { tierOf } from './plan-call.ts';
import type { SettledCall } from './settle/settlements.ts';
import type { StreamEnd } from './stream/relay-stream.ts';
import { outputOfUnusedInput } from './unused-input.ts';
import { bytesOf } from './usage/output-bound.ts';

export async function forwardCall(
  context: GatewayContext,
  admittedRequest: AdmittedRequest,
): Promise<Reply | StreamedReply> {
  const call = new CallInProgress(context, admittedRequest);
  context.inProgress.add(call);
  try {
    return await call.forward();
  } catch (error) {
    // Nothing of the response was sent to the client. The work of the provider is unknown, so it may be charged.
    await call.settle({ ...nothingReceived, status: 'failed', isAccepted: true });
    throw error;
  }
}

class CallInProgress implements OngoingCall, RelayedCall {
  readonly #context: GatewayContext;
  readonly #given: AdmittedRequest;
  readonly #attempts: CallAttempts;
  readonly paced: PacedHold | undefined;
  /** Bounds of what can have been generated, fixed at the end of the call. */
  #outputBounds: PacedHold['outputBounds'] | undefined;
  readonly #left = new Cancellation();
  /** Cancels the request to the provider. */
  readonly #cut = new Cancellation();
  readonly #onClose = () => this.#left.cancel();
  readonly #onHalfClose = () => {
    this.#left.cancel();
    this.#stream?.relay.leave();
  };
  #resolveSettled: () => void = () => undefined;
  readonly #hasSettled = new Promise<void>((resolve) => {
    this.#resolveSettled = resolve;
  });
  #settled: Promise<SettledCall> | undefined;
  #stream: CallStream | undefined;
  #isStopping = false;
  #isDenied = false;

  constructor(context: GatewayContext, given: AdmittedRequest) {
    this.#context = context;
    this.#given = given;
    this.paced = this.#pacedHold();
    this.#attempts = new CallAttempts(given, context, this.paced);
    const { socket } = given.request;
    socket.once('close', this.#onClose);
    // Most clients that close their sending side have left. With `drain`, this is only noticed at the next write, which loses
    // nothing.
    if (this.#isClosing) {
      socket.once('end', this.#onHalfClose);
    }
    // The client may have left during the admission.
    if (socket.destroyed || (this.#isClosing && socket.readableEnded)) {
      this.#left.cancel();
    }
  }

  /** True if the call must end when its client has left. */
  get #isClosing(): boolean {
    return this.#given.plan.settings.onAbort === 'close';
  }

  async cut(): Promise<void> {
    this.#isStopping = true;
    this.#left.cancel();
    await this.#stream?.relay.cut();
    this.#cut.cancel();
    await this.settled();
  }

  settled(): Promise<void> {
    return this.#hasSettled;
  }

  status(): CallStatus {
    return statusOf(this.#given, {
      state: this.#state(),
      connection: this.#attempts.connection,
      attempts: this.#attempts.count,
      heldTokens: this.#heldTokens,
      usage: this.#stream?.usage,
    });
  }

  holdingIn(orgId: string, counterKey: string): HoldingCall | undefined {
    const { caller, admitted, plan, startedMs } = this.#given;
    if (caller.tenantId !== orgId || !admitted.shares.some(({ key }) => key === counterKey)) {
      return undefined;
    }
    const elapsedMs = performance.now() - startedMs;
    return {
      heldNanos: this.status().heldNanos,
      restMs: this.#context.durations.expectedRestMs(orgId, plan.model, elapsedMs),
    };
  }

  get #heldTokens(): number | undefined {
    return this.paced?.heldTokens ?? this.#stream?.heldTokens?.();
  }

  /** Returns the hold if it follows the time of the call. Calls that were allowed without the ledger have none. */
  #pacedHold(): PacedHold | undefined {
    const { plan, admitted, caller } = this.#given;
    if (plan.paced === undefined || admitted.runId === null) {
      return undefined;
    }
    const { increaseHold, pacedHolds } = this.#context;
    return pacedHolds.add({
      output: plan.paced,
      heldTokens: admitted.maxOutputTokens,
      increase: (tokens) =>
        increaseHold(
          caller.tenantId,
          admitted.decisionId,
          { cost_usd: formatUsd(worstCaseOutputCost(plan.service.rates, BigInt(tokens))), tokens },
          { growth: growthOf(plan, (this.#heldTokens ?? 0) + tokens) },
        ),
      unusedInput: (usage) => {
        const counted = usage.usage()?.inputTokens ?? 0;
        return counted === 0 ? undefined : outputOfUnusedInput(plan, counted);
      },
      onDenied: () => this.#endDenied(),
    });
  }

  /** Ends the call because no limit allows to hold more for it. A response that has not begun becomes an error. */
  #endDenied(): void {
    if (this.#stream !== undefined) {
      this.#stream.relay.truncate();
      return;
    }
    this.#isDenied = true;
    this.#left.cancel();
    this.#cut.cancel();
  }

  #state(): CallState {
    if (this.#settled !== undefined) {
      return 'settling';
    }
    if (this.#context.drains.has(this)) {
      return 'draining';
    }
    return this.#stream === undefined ? 'waiting' : 'streaming';
  }

  async forward(): Promise<Reply | StreamedReply> {
    const { plan, operation, request, admitted } = this.#given;
    const { client, connections, metrics } = this.#context;
    const cutUnanswered = () => this.#cut.cancel();
    if (this.#isClosing) {
      this.#left.onCancel(cutUnanswered);
    }
    const result = await attemptCall(
      { client, connections, countAttempt: metrics.attempt },
      plan.candidates,
      {
        method: request.method,
        pathFor: (connection) => providerPath(connection, operation, plan.model),
        headers: request.headers,
        bodyFor: (connection) => bodyOf(plan, connection, outputCap(plan, admitted)),
        observer: this.#attempts,
        cut: this.#cut,
      },
      // A client that leaves before the first byte ends the retries, but not the attempt in progress.
      this.#left,
    );
    // From here on, the reader of the response ends it.
    this.#left.off(cutUnanswered);
    // The request is not sent again, so its bytes are dropped.
    dropBytes(plan.call);
    this.#given.memory.release();
    if (result.kind === 'unreachable') {
      await this.settle({ ...nothingReceived, status: this.#hasLeft ? 'cancelled' : 'failed' });
      throw this.#isStopping ? stoppingError() : this.#isDenied ? holdDenied() : unreachableError(result);
    }
    if (!isEventStream(result.response) || result.response.status >= 300) {
      return this.#plain(result);
    }
    this.#stream = streamCall(this.#context, this.#given, result, this);
    return plan.isAssembled ? this.#assembled(result, this.#stream) : this.#stream.reply;
  }

  /** Puts the stream of a plain call together. It is settled and may be cut like any stream. */
  async #assembled(
    { response, attempts, connection }: ReceivedResponse,
    { relay, ended }: CallStream,
  ): Promise<Reply> {
    const { plan, operation } = this.#given;
    const { partialStreams, responseBytesMax } = this.#context;
    const leave = () => relay.leave();
    this.#left.onCancel(leave);
    let assembled: ReadAssembly;
    try {
      assembled = await assembleStream(
        relay.body,
        operation.format.response.assembly as AssemblyFormat,
        responseBytesMax,
      );
    } catch {
      // The client has left. The rest of the stream may be read for its usage.
      await this.settled();
      throw responseInterrupted();
    } finally {
      this.#left.off(leave);
    }
    if (assembled.kind === 'unknown') {
      partialStreams.add(connection.id, plan.model);
      throw responseNotAssembled(assembled.part);
    }
    if (assembled.kind === 'unended' || assembled.kind === 'overlong' || isOwnError(assembled, ended())) {
      throw this.#isStopping ? stoppingError() : responseInterrupted();
    }
    const { costUsd } = await (this.#settled as Promise<SettledCall>);
    return {
      status: assembled.kind === 'error' ? assembled.status : response.status,
      headers: {
        ...callHeaders(this.#given, response, attempts),
        'content-type': 'application/json',
        ...(costUsd !== undefined && { 'x-svc-cost-usd': costUsd }),
      },
      body: JSON.stringify(assembled.body),
    };
  }

  /** True if the client has left, and the gateway has not ended the call. */
  get #hasLeft(): boolean {
    return this.#left.isCancelled && !this.#isStopping && !this.#isDenied;
  }

  /** Settles the call once. Later calls return the same settlement. */
  settle(outcome: CallOutcome): Promise<SettledCall> {
    this.#settled ??= this.#settleNow(outcome);
    return this.#settled;
  }

  chargesOf(outcome: CallOutcome): CallCharges {
    this.#outputBounds ??= this.paced?.outputBounds;
    return chargesOf(this.#given, outcome, this.#attempts, {
      heldTokens: this.#heldTokens,
      ...this.#outputBounds,
    });
  }

  async #settleNow(outcome: CallOutcome): Promise<SettledCall> {
    const { plan, operation, admitted, caller, request, startedMs, release } = this.#given;
    const { settlements, storedResponses, ratios, outputs, durations, inProgress, pacedHolds } =
      this.#context;
    try {
      const charges = this.chargesOf(outcome);
      if (this.paced !== undefined) {
        pacedHolds.remove(this.paced);
      }
      if (outcome.isFinal && outcome.usage !== undefined) {
        const subject = { orgId: caller.tenantId, keyId: caller.keyId, model: plan.model };
        outputs.learn(subject, outcome.usage.outputTokens);
        durations.learn(caller.tenantId, plan.model, performance.now() - startedMs);
        if (!plan.input.hasUnseen && plan.input.imageTokens === 0) {
          ratios.learn(subject, plan.input, outcome.usage.inputTokens);
        }
        this.#learnPace(outcome.usage.outputTokens);
      }
      learnDeployment(this.#context, this.#given, this.#attempts.connection, outcome.servedModel);
      const { responseId: named } = outcome;
      const responseId = named !== undefined && isResponseId(named) ? named : undefined;
      if (responseId !== undefined && operation.format.response.isStored) {
        storedResponses.add(caller, responseId);
      }
      const settlement = settlementOf(this.#given, outcome, charges, this.#attempts, responseId);
      return await settlements.settle(settlement, admitted.heldNanos);
    } finally {
      request.socket.removeListener('close', this.#onClose);
      request.socket.removeListener('end', this.#onHalfClose);
      inProgress.delete(this);
      release();
      this.#resolveSettled();
    }
  }

  /** Learns the pace of the model, and notes a call that was faster than its hold assumed. */
  #learnPace(outputTokens: number): void {
    const { plan, admitted, caller } = this.#given;
    const { paces, paceEvents, metrics } = this.#context;
    const { connection, elapsedMs } = this.#attempts;
    if (plan.settings.hold !== 'paced' || connection === undefined) {
      return;
    }
    const subject = {
      orgId: caller.tenantId,
      connectionId: connection.id,
      model: plan.model,
      tier: tierOf(plan.service),
    };
    const assumedTokens = plan.paced && tokensWithin(plan.paced, elapsedMs);
    if (assumedTokens !== undefined && outputTokens > assumedTokens) {
      metrics.paceExceeded();
      paceEvents.exceeded({ ...subject, runId: admitted.runId, outputTokens, assumedTokens, elapsedMs });
    }
    if (this.#stream?.relay.hasWaited !== true) {
      paces.learn(subject, { outputTokens, elapsedMs, answers: plan.call.choices });
    }
  }

  async #plain(result: ReceivedResponse): Promise<Reply | StreamedReply> {
    const { operation, plan } = this.#given;
    const { response, attempts, connection, redaction } = result;
    const { status, body } = response;
    const cancellation = this.#isClosing ? this.#left : undefined;
    const total = setTimeout(() => body.destroy(), connection.timeouts.totalMs);
    const read = await readAll(body, this.#context.responseBytesMax, cancellation);
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
    const settled = await this.settle({
      status: status < 300 && isWhole ? 'succeeded' : this.#hasLeft ? 'cancelled' : 'failed',
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
      throw this.#isStopping ? stoppingError() : this.#isDenied ? holdDenied() : responseInterrupted();
    }
    if (status === 401) {
      // Replaced, because the provider's message contains a part of the key.
      throw keyRejected(connection);
    }
    const headers = callHeaders(this.#given, response, attempts);
    if (settled.costUsd !== undefined) {
      headers['x-svc-cost-usd'] = settled.costUsd;
    }
    // Valid UTF-8 is sent as text, without a stream, and has the same bytes.
    return isUtf8(bytes)
      ? { status, headers, body: text }
      : { status, headers, body: Readable.from([bytes], { objectMode: false }) };
  }
}

const nothingReceived = {
  usage: undefined,
  isFinal: false,
  outputBound: Number.POSITIVE_INFINITY,
  isAccepted: false,
};

/** Returns true if the gateway has ended the stream with an error, because it broke off or the process stops. */
function isOwnError({ kind }: ReadAssembly, end: StreamEnd | undefined): boolean {
  return kind === 'error' && (end === 'broken' || end === 'cut');
}

function isEventStream({ headers }: ProviderResponse): boolean {
  return /^text\/event-stream\b/i.test(String(headers['content-type'] ?? ''));
}
