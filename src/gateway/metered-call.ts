/** A call that may be charged, from its body to its settlement. */
import { isResponseId } from '../capabilities/spend/runs/index.ts';
import type { PacedHold } from '../growing-holds/paced-hold.ts';
import type { CallBounds, CallOutcome } from '../kernel/providers/call-end.ts';
import type { Reply, StreamedReply } from '../platform/http/message/reply.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { assembleResponse } from './assembled-response.ts';
import { bodyOf } from './body-to-send.ts';
import { CallAttempts } from './call-attempts.ts';
import { CallInterruption } from './call-interruption.ts';
import { type CallCharges, type CoveredOutput, chargesOf, settlementOf } from './call-settlement.ts';
import { type CallState, type CallStatus, statusOf } from './call-status.ts';
import { type CallStream, type RelayedCall, streamCall } from './call-stream.ts';
import { envelopeAt, envelopedBody, envelopedHeaders, framingIn } from './envelopes.ts';
import { unreachableError } from './errors/call-errors.ts';
import { attemptCall } from './forward/attempts.ts';
import type { GatewayContext, OngoingCall } from './gateway-context.ts';
import { outputCap } from './hold-coverage.ts';
import type { HoldingCall } from './holding-calls.ts';
import { learnDeployment } from './learn-deployment.ts';
import { learnFromCall } from './learn-from-call.ts';
import { paceOf } from './pace/rate-bounds.ts';
import { pacedHoldOf } from './paced-call.ts';
import { dropBytes } from './parse-call.ts';
import { providerPath } from './paths/operation.ts';
import { relayPlain } from './plain-response.ts';
import { isStreamed, tierOf } from './plan-call.ts';
import type { SettledCall } from './settle/settlements.ts';
import { isFramed } from './stream/framings.ts';

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
  readonly #interruption: CallInterruption;
  readonly paced: PacedHold | undefined;
  readonly #attempts: CallAttempts;
  /** Bounds of what can have been generated, fixed at the end of the call. */
  #outputBounds: Omit<CoveredOutput, 'heldTokens'> | undefined;
  #stream: CallStream | undefined;
  #settlement: Promise<SettledCall> | undefined;
  #resolveSettled: () => void = () => undefined;
  readonly #settled = new Promise<void>((resolve) => {
    this.#resolveSettled = resolve;
  });

  constructor(context: GatewayContext, given: AdmittedRequest) {
    this.#context = context;
    this.#given = given;
    this.paced = pacedHoldOf(context, given, () => this.#endDenied());
    this.#attempts = new CallAttempts(given, context, this.paced);
    this.#interruption = new CallInterruption(given.request.socket, this.#isClosing, () =>
      this.#stream?.relay.leave(),
    );
  }

  /** True if the call must end when its client has left. */
  get #isClosing(): boolean {
    return this.#given.plan.settings.onAbort === 'close';
  }

  async cut(): Promise<void> {
    this.#interruption.stop();
    await this.#stream?.relay.cut();
    this.#interruption.cut.cancel();
    await this.settled();
  }

  settled(): Promise<void> {
    return this.#settled;
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

  /** Ends the call because no limit allows to hold more for it. A response that has not begun becomes an error. */
  #endDenied(): void {
    if (this.#stream === undefined) {
      this.#interruption.deny();
    } else {
      this.#stream.relay.truncate();
    }
  }

  #state(): CallState {
    if (this.#settlement !== undefined) {
      return 'settling';
    }
    if (this.#context.drains.has(this)) {
      return 'draining';
    }
    return this.#stream === undefined ? 'waiting' : 'streaming';
  }

  async forward(): Promise<Reply | StreamedReply> {
    const { plan, operation, request, admitted } = this.#given;
    const { client, connections, metrics, responseBytesMax } = this.#context;
    const interruption = this.#interruption;
    const { left, cut } = interruption;
    const enveloped = {
      format: operation.format,
      sentIn: operation.envelope,
      betas: plan.betas,
      isStream: isStreamed(plan),
    };
    const cutUnanswered = () => cut.cancel();
    if (this.#isClosing) {
      left.onCancel(cutUnanswered);
    }
    const result = await attemptCall(
      { client, connections, countAttempt: metrics.attempt },
      plan.candidates,
      {
        method: request.method,
        pathFor: (connection) => providerPath(connection, operation, plan.model, isStreamed(plan)),
        headersFor: (connection) => envelopedHeaders(request.headers, connection, enveloped),
        bodyFor: (connection) =>
          envelopedBody(bodyOf(plan, connection, outputCap(plan, admitted)), connection, enveloped),
        observer: this.#attempts,
        cut,
      },
      // A client that leaves before the first byte ends the retries, but not the attempt in progress.
      left,
    );
    // From here on, the reader of the response ends it.
    left.off(cutUnanswered);
    // The request is not sent again, so its bytes are dropped.
    dropBytes(plan.call);
    this.#given.memory.release();
    if (result.kind === 'unreachable') {
      await this.settle({ ...nothingReceived, status: interruption.isByClient ? 'cancelled' : 'failed' });
      throw interruption.errorOr(() => unreachableError(result));
    }
    const framing = framingIn(envelopeAt(result.connection, operation.format), operation.format);
    const { headers, status } = result.response;
    if (!isFramed(framing, headers['content-type']) || status >= 300) {
      const settle = (outcome: CallOutcome) => this.settle(outcome);
      return relayPlain(this.#given, result, { responseBytesMax, interruption, settle });
    }
    const stream = streamCall(this.#context, this.#given, result, this);
    this.#stream = stream;
    if (!plan.isAssembled) {
      return stream.reply;
    }
    return assembleResponse(this.#context, this.#given, result, {
      stream,
      interruption,
      settled: () => this.settled(),
      settlement: () => this.#settlement as Promise<SettledCall>,
    });
  }

  /** Settles the call once. Later calls return the same settlement. */
  settle(outcome: CallOutcome): Promise<SettledCall> {
    this.#settlement ??= this.#settleNow(outcome);
    return this.#settlement;
  }

  get sentMs(): number {
    return this.#attempts.sentMs;
  }

  chargesOf(outcome: CallOutcome): CallCharges {
    this.#outputBounds ??=
      this.paced?.outputBounds ?? (outcome.isTruncated === true ? {} : this.#unsentBound());
    return chargesOf(this.#given, outcome, this.#attempts, {
      heldTokens: this.#heldTokens,
      ...this.#outputBounds,
    });
  }

  /**
   * Returns what the provider may have generated and not sent, for a stream whose hold does not follow its time. Not for one that is
   * ended because its hold cannot grow: that is decided when output has just arrived.
   */
  #unsentBound(): Pick<CallBounds, 'unsentOutputTokens'> {
    const { plan, admitted, caller } = this.#given;
    const { connection } = this.#attempts;
    if (this.#stream === undefined || connection === undefined) {
      return {};
    }
    const subject = { orgId: caller.tenantId, model: plan.model, tier: tierOf(plan.service) };
    const output = {
      pace: paceOf(this.#context.paces, { ...subject, candidates: [connection] }),
      maxOutputTokens: outputCap(plan, admitted),
      answers: plan.call.choices,
    };
    return { unsentOutputTokens: this.#stream.unsent.tokens(output, performance.now()) };
  }

  async #settleNow(outcome: CallOutcome): Promise<SettledCall> {
    const { operation, admitted, caller, release } = this.#given;
    const { settlements, storedResponses, inProgress, pacedHolds } = this.#context;
    try {
      const charges = this.chargesOf(outcome);
      if (this.paced !== undefined) {
        pacedHolds.remove(this.paced);
      }
      if (outcome.isFinal && outcome.usage !== undefined) {
        const hasWaited = this.#stream?.relay.hasWaited === true;
        learnFromCall(this.#context, this.#given, outcome.usage, this.#attempts, hasWaited);
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
      this.#interruption.close();
      inProgress.delete(this);
      release();
      this.#resolveSettled();
    }
  }
}

const nothingReceived = {
  usage: undefined,
  isFinal: false,
  outputBound: Number.POSITIVE_INFINITY,
  isAccepted: false,
};
