/** The attempts of a call: the latest connection, the usage of attempts without a response, and whether the hold covers another attempt. */
import { performance } from 'node:perf_hooks';
import { type Connection, kindOf } from '../capabilities/integration/connections/index.ts';
import type { PacedHold } from '../growing-holds/paced-hold.ts';
import type { PacedHolds } from '../growing-holds/paced-holds.ts';
import { formatUsd } from '../kernel/money.ts';
import type { DiscardedUsage } from '../kernel/providers/call-end.ts';
import { type CallUsage, noUsage } from '../kernel/providers/call-usage.ts';
import { fieldsOf } from '../kernel/providers/fields.ts';
import { parsed } from '../kernel/providers/received-text.ts';
import { callsIn } from '../kernel/providers/server-tools.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { toolChargesOf } from './call-tools.ts';
import type { AttemptObserver, FailedAttempt } from './forward/attempts.ts';
import { type IncreaseCallHold, outputCap } from './hold-coverage.ts';
import { attemptCost, inputBoundOf } from './plan-call.ts';

export interface AttemptHolds {
  readonly increaseHold: IncreaseCallHold;
  readonly pacedHolds: Pick<PacedHolds, 'firstTokens'>;
}

export class CallAttempts implements AttemptObserver {
  readonly #given: AdmittedRequest;
  readonly #increaseHold: IncreaseCallHold;
  readonly #pacedHolds: AttemptHolds['pacedHolds'];
  readonly #paced: PacedHold | undefined;
  #usage: DiscardedUsage = { attempts: [], isEstimated: false };
  #toolNanos = 0n;
  readonly #charged: Connection[] = [];
  /** Maximum cost of all attempts so far. */
  #boundNanos: bigint;
  /** The connection of the last attempt; undefined before the first one. */
  connection: Connection | undefined;
  count = 0;
  #sentMs = 0;

  constructor(
    given: AdmittedRequest,
    { increaseHold, pacedHolds }: AttemptHolds,
    paced: PacedHold | undefined,
  ) {
    this.#given = given;
    this.#increaseHold = increaseHold;
    this.#pacedHolds = pacedHolds;
    this.#paced = paced;
    this.#boundNanos = attemptCost(given.plan, outputCap(given.plan, given.admitted));
  }

  /** Time at which the last attempt was sent. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** Time since the last attempt was sent. */
  get elapsedMs(): number {
    return performance.now() - this.#sentMs;
  }

  /** Usage of the attempts before the one that is answered. */
  get usage(): DiscardedUsage {
    return this.#usage;
  }

  /** Maximum cost of tools without a price in unanswered attempts. */
  get toolNanos(): bigint {
    return this.#toolNanos;
  }

  /** Connections of the charged attempts before the one that is answered. */
  get charged(): readonly Connection[] {
    return this.#charged;
  }

  begin(connection: Connection): void {
    this.connection = connection;
    this.count += 1;
    this.#sentMs = performance.now();
    this.#paced?.begin();
  }

  fail(): void {
    this.#paced?.fail();
  }

  mayBeCharged({ connection, response, bytes }: FailedAttempt): boolean {
    const answer = parsed(bytes.toString('utf8'));
    return this.#usageIn(answer) !== undefined || kindOf(connection).mayChargeFailure(response, answer);
  }

  addDiscarded(failure: FailedAttempt): void {
    const answer = parsed(failure.bytes.toString('utf8'));
    const usage = this.#usageIn(answer);
    if (usage !== undefined) {
      this.#charged.push(failure.connection);
      this.#usage = { ...this.#usage, attempts: [...this.#usage.attempts, this.#withTools(usage, answer)] };
    } else if (this.mayBeCharged(failure)) {
      this.addUnanswered();
    }
  }

  #usageIn(answer: unknown): CallUsage | undefined {
    return this.#given.operation.format.response.usageOf(answer);
  }

  /** Adds the tools that a failed attempt reports or shows. */
  #withTools(usage: CallUsage, answer: unknown): CallUsage {
    const { plan, operation } = this.#given;
    const toolCalls = callsIn(operation.format.response.outputIn(fieldsOf(answer)));
    const outcome = { toolCalls, isFinal: true, isAccepted: true };
    const { units, toolModels, nanos } = toolChargesOf(plan.price, plan.tools, outcome, usage);
    this.#toolNanos += nanos;
    return { ...usage, serverTools: units, toolModels };
  }

  /** Charges an attempt without a response. The provider may have generated a whole answer that it did not send. */
  addUnanswered(): void {
    const { plan, admitted } = this.#given;
    if (this.connection !== undefined) {
      this.#charged.push(this.connection);
    }
    const bound = {
      ...noUsage,
      ...inputBoundOf(plan),
      outputTokens: (this.#paced?.generatedTokens ?? outputCap(plan, admitted)) + plan.predictedTokens,
      serverTools: plan.service.charged.units ?? {},
    };
    this.#usage = { attempts: [...this.#usage.attempts, bound], isEstimated: true };
    this.#toolNanos += plan.tools.nanos;
  }

  /**
   * Increases the hold for another attempt, because the failed one may be charged too. Returns false if that is denied, or if it
   * exceeds the client's maximum cost.
   */
  async coverAnother(): Promise<boolean> {
    const { plan, admitted, caller } = this.#given;
    const boundNanos = this.#boundNanos + attemptCost(plan, outputCap(plan, admitted));
    if (plan.maxCostNanos !== undefined && boundNanos > plan.maxCostNanos) {
      return false;
    }
    const outputTokens =
      this.#paced === undefined || plan.paced === undefined
        ? outputCap(plan, admitted)
        : this.#pacedHolds.firstTokens(plan.paced);
    const isCovered = await this.#increaseHold(
      caller.tenantId,
      admitted.decisionId,
      { cost_usd: formatUsd(attemptCost(plan, outputTokens)), tokens: plan.inputTokens + outputTokens },
      { attemptMaxNanos: attemptCost(plan, outputCap(plan, admitted)) },
    );
    if (isCovered) {
      this.#boundNanos = boundNanos;
      this.#paced?.addAttempt(outputTokens);
    }
    return isCovered;
  }
}
