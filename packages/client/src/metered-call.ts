/** A call with its decision: its hold grows while it runs, if it has to, and is settled or voided once. */
import { coverOutput } from '../../../src/growing-holds/output-coverage.ts';
import type { PacedHold } from '../../../src/growing-holds/paced-hold.ts';
import type { StreamCoverage } from '../../../src/growing-holds/stream-coverage.ts';
import { UnsentOutput } from '../../../src/growing-holds/unsent-output.ts';
import {
  type CallBounds,
  type CallOutcome,
  type SettledUsage,
  settledUsage,
} from '../../../src/kernel/providers/call-end.ts';
import { otherModel } from '../../../src/kernel/providers/call-usage.ts';
import type { StreamUsage } from '../../../src/kernel/providers/stream-usage.ts';
import type { CallHolds } from './call-holds.ts';
import type { CallPlan } from './call-plan.ts';
import { chargedToolsOf } from './charged-tools.ts';
import type { Decision, DecisionRequest } from './generated/types.ts';
import type { Settlement } from './spool.ts';

export interface MeterDependencies {
  decide(request: DecisionRequest, signal: AbortSignal | undefined): Promise<Decision | undefined>;
  /** Holds more output for a decision. Returns false if that is denied. */
  increase(decisionId: string, outputTokens: number, withinMs: number): Promise<boolean>;
  /** `decision`: the request, with the attribution. */
  settle(settlement: Settlement): Promise<void>;
  void(decisionId: string): void;
  attributed(request: DecisionRequest): DecisionRequest;
}

export interface MeteredCallOptions {
  readonly deps: MeterDependencies;
  readonly holds: CallHolds;
  readonly holdLeadMs: number;
  readonly plan: CallPlan;
  readonly decision: Decision | undefined;
  /** True if the provider charges for containers in which nothing is run. */
  readonly chargesContainers: boolean;
  /** Called if no limit allows to hold more for the call. */
  onDenied(): void;
}

export class MeteredCall {
  readonly #options: MeteredCallOptions;
  readonly plan: CallPlan;
  readonly #decision: Decision | undefined;
  readonly #request: DecisionRequest;
  readonly #paced: PacedHold | undefined;
  readonly #startedMs = Date.now();
  #sentMs = performance.now();
  #coverage: StreamCoverage | undefined;
  readonly #unsent = new UnsentOutput();
  #isStreamed = false;
  /** Bounds of what can have been generated, fixed at the end of the call. */
  #outputBounds: Pick<CallBounds, 'generatedOutputTokens' | 'unsentOutputTokens'> | undefined;
  #isEnded = false;
  #isDenied = false;
  #resolveEnded: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => {
    this.#resolveEnded = resolve;
  });

  constructor(options: MeteredCallOptions) {
    const { deps, plan, decision, holds } = options;
    this.#options = options;
    this.plan = plan;
    this.#decision = decision;
    // The attribution is that of the caller: it may have changed once the response ends.
    this.#request = deps.attributed(plan.decision);
    // A smaller hold than the call needs at once cannot follow it, so it is the maximum of the call.
    if (this.#isLimited && plan.paced !== undefined && this.#heldAtFirst === plan.heldTokens) {
      this.#paced = holds.follow({
        output: plan.paced,
        heldTokens: plan.heldTokens,
        increase: (tokens) => this.#increase(tokens),
        onDenied: () => {
          this.#isDenied = true;
          options.onDenied();
        },
      });
    }
  }

  /** True if the call was ended because no more can be held for it. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** The maximum in the body: what is held, or the whole maximum if the hold grows or no limit was checked. */
  get maxOutputTokens(): number {
    const { maxOutputTokens, growsWithOutput } = this.plan;
    return this.#isLimited && this.#paced === undefined && !growsWithOutput
      ? this.#heldAtFirst
      : maxOutputTokens;
  }

  /** True if the hold grows, so that the call may be ended early. */
  get mayGrow(): boolean {
    return this.#paced !== undefined || (this.#isLimited && this.plan.growsWithOutput);
  }

  /** Notes that the request is sent. Nothing is generated before. */
  begin(): void {
    this.#sentMs = performance.now();
    this.#unsent.begin(this.#sentMs);
    this.#paced?.begin();
  }

  /** Notes how much output of a stream has arrived. */
  noteOutput(tokens: number): void {
    this.#unsent.note(tokens, () => performance.now());
  }

  /** Follows a stream. Returns its coverage if its hold grows. */
  coverageOf(usage: StreamUsage, isOutputEnded: () => boolean): StreamCoverage | undefined {
    const { growsWithOutput, maxOutputTokens } = this.plan;
    this.#isStreamed = true;
    if (this.#paced !== undefined) {
      this.#coverage = this.#paced.coverageOf(usage, isOutputEnded);
    } else if (this.#isLimited && growsWithOutput && this.#heldAtFirst < maxOutputTokens) {
      this.#coverage = coverOutput(usage, {
        heldTokens: this.#heldAtFirst,
        maxOutputTokens,
        increase: (tokens) => this.#increase(tokens),
      });
    }
    return this.#coverage;
  }

  /** Releases the hold of a call that the provider did not accept. */
  void(): void {
    if (this.#end() && this.#decision !== undefined) {
      this.#options.deps.void(this.#decision.decision_id);
    }
  }

  /** Returns what is charged for an outcome. */
  chargesOf(outcome: CallOutcome): SettledUsage {
    const { format, body, inputTokens } = this.plan;
    const { maxOutputTokens } = this;
    this.#outputBounds ??=
      this.#paced?.outputBounds ?? (outcome.isTruncated === true ? {} : this.#unsentBound());
    const tools = chargedToolsOf(format, body, this.#options.chargesContainers);
    const bounds: CallBounds = {
      inputTokens,
      maxOutputTokens,
      heldOutputTokens: this.#coverage?.heldTokens() ?? maxOutputTokens,
      ...this.#outputBounds,
      chargedTools: (usage) => ({
        serverTools: tools.charged(usage, outcome.toolCalls),
        toolModels: usage.toolModels,
      }),
    };
    return settledUsage(outcome, bounds, { attempts: [], isEstimated: false });
  }

  /**
   * Returns what the provider may have generated and not sent, for a stream whose hold does not follow its time. Not for one that is
   * ended because its hold cannot grow: that is decided when output has just arrived.
   */
  #unsentBound(): Pick<CallBounds, 'unsentOutputTokens'> {
    const { plan, maxOutputTokens } = this;
    if (!this.#isStreamed) {
      return {};
    }
    const output = { pace: this.#options.holds.paceOf(plan), maxOutputTokens, answers: plan.choices };
    return { unsentOutputTokens: this.#unsent.tokens(output, performance.now()) };
  }

  /** `hasWaited`: the provider had to wait, so that the duration says nothing about its pace. */
  async settle(outcome: CallOutcome, hasWaited = false): Promise<void> {
    if (this.#isEnded) {
      return;
    }
    const { fields, isFree, marks } = this.chargesOf(outcome);
    this.#end();
    const { deps, holds } = this.#options;
    if (outcome.isFinal && outcome.usage !== undefined) {
      const elapsedMs = hasWaited ? undefined : performance.now() - this.#sentMs;
      holds.learn(this.plan, outcome.usage.outputTokens, elapsedMs);
    }
    const servedModel = otherModel(outcome.servedModel, this.plan.model);
    const {
      input_tokens: _input,
      max_output_tokens: _output,
      min_output_tokens: _minimum,
      fit: _fit,
      expires_in_seconds: _expiry,
      units: _units,
      ...scope
    } = this.#request;
    await deps.settle({
      ...scope,
      ...fields,
      ...(servedModel !== undefined && { served_model: servedModel }),
      // Zero tokens would be taken for missing usage.
      ...(isFree && { cost_usd: '0' }),
      ...(marks.length > 0 && { metadata: Object.fromEntries(marks.map((mark) => [mark, true])) }),
      external_id: crypto.randomUUID(),
      status: outcome.status,
      latency_ms: Math.max(0, Date.now() - this.#startedMs),
      ...(this.#decision !== undefined && { decision_id: this.#decision.decision_id }),
    });
  }

  /** True if the limits were checked: the service could decide. */
  get #isLimited(): boolean {
    return this.#decision !== undefined && this.#decision.degraded !== true;
  }

  get #heldAtFirst(): number {
    return this.#decision?.max_output_tokens ?? this.plan.heldTokens;
  }

  #increase(tokens: number): Promise<boolean> {
    const { deps, decision, holdLeadMs } = this.#options;
    return decision === undefined
      ? Promise.resolve(true)
      : deps.increase(decision.decision_id, tokens, holdLeadMs);
  }

  #end(): boolean {
    const isFirst = !this.#isEnded;
    this.#isEnded = true;
    if (this.#paced !== undefined) {
      this.#options.holds.end(this.#paced);
    }
    this.#resolveEnded();
    return isFirst;
  }
}
