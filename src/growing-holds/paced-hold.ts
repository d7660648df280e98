/**
 * The hold of a paced call: it covers what the provider can have generated since the request was sent, plus a lead. Hidden output is
 * covered too, because it takes time like any other.
 */
import { type PacedOutput, tokensWithin } from '../kernel/pace.ts';
import type { CallBounds } from '../kernel/providers/call-end.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { StreamCoverage } from './stream-coverage.ts';
import { UnsentOutput } from './unsent-output.ts';

export interface PacedHoldOptions {
  readonly output: PacedOutput;
  /** Output that the hold covers from its admission on. */
  readonly heldTokens: number;
  /** Increases the hold by this many output tokens. Resolves to false if a limit denies that. */
  increase(tokens: number): Promise<boolean>;
  /**
   * Returns the output that the hold covers in addition because the provider has counted less input than was held; undefined until it
   * has counted it.
   */
  unusedInput?(usage: StreamUsage): number | undefined;
  /** Called once if the hold cannot cover the call any longer. */
  onDenied(): void;
  /** True if the call continues while the ledger does not answer. */
  readonly isFailOpen: boolean;
  /** Returns the monotonic time. */
  nowMs(): number;
  /** Returns the time that the hold must be ahead. */
  leadMs(): number;
}

/** The hold is increased when it covers less than this part of the lead, and the call ends when it covers less than the smaller one. */
const increaseBelow = 0.5;
const endBelow = 0.375;
/** Part of the lead in which what has arrived may be read before the connection of an ended call is closed. */
const catchUpShare = 0.125;

export class PacedHold {
  readonly #options: PacedHoldOptions;
  /** Output of the attempt in progress that the hold covers. */
  #held: number;
  /** Output that the hold covers for the next attempt, if the last one may be charged. */
  #heldForNext: number | undefined;
  /** Time at which the attempt was sent; undefined before the first one. */
  #sentMs: number | undefined;
  /** Time at which the attempt failed. Nothing is generated until the next one is sent. */
  #failedMs: number | undefined;
  readonly #unsent = new UnsentOutput();
  /** Output that the part of the hold for input covers; undefined until the provider has counted the input. */
  #unusedInput: number | undefined;
  /** Output that was received before the pace allows it. */
  #receivedEarly = 0;
  #increasingSinceMs = 0;
  #increasing: Promise<boolean> | undefined;
  #isOver = false;
  #isOutputEnded: () => boolean = () => false;

  constructor(options: PacedHoldOptions) {
    this.#options = options;
    this.#held = options.heldTokens;
  }

  get heldTokens(): number {
    return this.#held;
  }

  /** Time in which the connection must be closed once the hold cannot cover the call any longer. */
  get catchUpMs(): number {
    return this.#options.leadMs() * catchUpShare;
  }

  /** Starts the time of an attempt. Time before it does not count, because nothing was generated. */
  begin(): void {
    this.#held = this.#heldForNext ?? this.#held;
    this.#heldForNext = undefined;
    this.#sentMs = this.#options.nowMs();
    this.#failedMs = undefined;
    this.#unsent.begin(this.#sentMs);
    this.#receivedEarly = 0;
  }

  /** Ends the time of a failed attempt, until another one begins. */
  fail(): void {
    this.#failedMs ??= this.#options.nowMs();
  }

  /** Notes that the hold was increased for another attempt in addition to the last one. */
  addAttempt(tokens: number): void {
    this.#heldForNext = tokens;
  }

  /** Ends the increases, because the call is settled. */
  end(): void {
    this.#isOver = true;
  }

  /**
   * Returns the most that the attempt can have generated when its connection is closed now. The provider may continue for a moment,
   * which the hold covers. After a late step the hold may be smaller than what was generated: that is charged in full.
   */
  get generatedTokens(): number {
    return Math.max(this.#within(0), Math.min(this.#covered, this.#within(this.#options.leadMs())));
  }

  /** Bounds of the output if the connection is closed now. A provider that sends nothing for a while may have generated all the time. */
  get outputBounds(): Pick<CallBounds, 'generatedOutputTokens' | 'unsentOutputTokens'> {
    const { output, nowMs } = this.#options;
    return {
      generatedOutputTokens: this.generatedTokens,
      unsentOutputTokens: this.#unsent.tokens(output, nowMs()),
    };
  }

  /** Increases the hold if it is not far enough ahead of the time. Called at each step of the clock. */
  step(): void {
    if (this.#isDone || this.#failedMs !== undefined) {
      return;
    }
    const leadMs = this.#options.leadMs();
    if (this.#increasing === undefined) {
      if (!this.#covers(leadMs * increaseBelow)) {
        void this.#increaseBy(this.#increaseAhead(leadMs));
      }
    } else if (
      !this.#options.isFailOpen &&
      this.#options.nowMs() - this.#increasingSinceMs > leadMs &&
      !this.#covers(0)
    ) {
      // The ledger does not respond, and the provider does not wait for it.
      this.#endDenied();
    }
  }

  /** Returns the coverage of a stream, which also notices output that arrives faster than the pace allows. */
  coverageOf(usage: StreamUsage, isOutputEnded: () => boolean): StreamCoverage {
    this.#isOutputEnded = isOutputEnded;
    return {
      cover: () => {
        this.#unusedInput ??= this.#options.unusedInput?.(usage);
        this.#unsent.note(usage.outputBound, this.#options.nowMs);
        return usage.outputBound <= this.#covered || this.#isDone ? undefined : this.#coverReceived(usage);
      },
      heldTokens: () => this.#held,
    };
  }

  get #covered(): number {
    return this.#held + (this.#unusedInput ?? 0);
  }

  get #isDone(): boolean {
    return this.#isOver || this.#covered >= this.#options.output.maxOutputTokens || this.#isOutputEnded();
  }

  /** Returns the output that can exist this long after now. */
  #within(aheadMs: number): number {
    const { output, nowMs } = this.#options;
    if (this.#sentMs === undefined) {
      return 0;
    }
    const elapsedMs = (this.#failedMs ?? nowMs()) - this.#sentMs;
    return Math.min(output.maxOutputTokens, this.#receivedEarly + tokensWithin(output, elapsedMs + aheadMs));
  }

  #covers(aheadMs: number): boolean {
    return this.#within(aheadMs) <= this.#covered;
  }

  /** Increases the hold by the whole lead. A denied increase is repeated by later steps for as long as the hold suffices. */
  async #increaseAhead(leadMs: number): Promise<boolean> {
    if (await this.#increaseTo(this.#within(leadMs))) {
      return true;
    }
    if (this.#isDone || this.#covers(leadMs * endBelow)) {
      return false;
    }
    const isIncreased = await this.#increaseTo(this.#within(leadMs * increaseBelow));
    if (!isIncreased && !this.#isDone) {
      this.#endDenied();
    }
    return isIncreased;
  }

  #endDenied(): void {
    this.#isOver = true;
    this.#options.onDenied();
  }

  async #coverReceived(usage: StreamUsage): Promise<boolean> {
    while (this.#increasing !== undefined) {
      await this.#increasing;
    }
    const received = Math.min(this.#options.output.maxOutputTokens, Math.ceil(usage.outputBound));
    this.#receivedEarly += Math.max(0, received - this.#within(0));
    return received <= this.#covered || this.#increaseBy(this.#increaseFrom(received));
  }

  /** Increases the hold by the lead from received output on, so that it need not be increased for each chunk. */
  async #increaseFrom(received: number): Promise<boolean> {
    const ahead = Math.max(received, this.#within(this.#options.leadMs()));
    return (await this.#increaseTo(ahead)) || this.#increaseTo(received);
  }

  /** Keeps an increase in progress, so that there is one at a time. */
  async #increaseBy(increase: Promise<boolean>): Promise<boolean> {
    this.#increasing = increase;
    this.#increasingSinceMs = this.#options.nowMs();
    try {
      return await increase;
    } finally {
      this.#increasing = undefined;
    }
  }

  async #increaseTo(tokens: number): Promise<boolean> {
    const more = tokens - this.#covered;
    if (more <= 0) {
      return true;
    }
    const isIncreased = await this.#options.increase(more);
    this.#held += isIncreased ? more : 0;
    return isIncreased;
  }
}
