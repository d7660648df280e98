/**
 * Bounds what a provider has generated and not sent yet. Providers collect output before they send it: Anthropic each parameter of a tool, Azure what
 * its filters check, many hosts whole calls of tools. Such output was generated since the last output arrived.
 */
import { type PacedOutput, tokensWithin } from '../kernel/pace.ts';

export class UnsentOutput {
  /** Time at which the attempt was sent; undefined before the first one. */
  #sentMs: number | undefined;
  #received = 0;
  /** Time at which the last output of the attempt arrived; undefined before the first one. */
  #receivedMs: number | undefined;

  begin(nowMs: number): void {
    this.#sentMs = nowMs;
    this.#received = 0;
    this.#receivedMs = undefined;
  }

  /** Notes how much output has arrived. Events without output, such as pings, change nothing. */
  note(receivedTokens: number, nowMs: () => number): void {
    if (receivedTokens > this.#received) {
      this.#received = receivedTokens;
      this.#receivedMs = nowMs();
    }
  }

  /** Returns zero before the first attempt. One of several answers may have sent nothing, while others have. */
  tokens(output: PacedOutput, nowMs: number): number {
    const sinceMs = output.answers > 1 ? this.#sentMs : (this.#receivedMs ?? this.#sentMs);
    return sinceMs === undefined ? 0 : tokensWithin(output, nowMs - sinceMs);
  }
}
