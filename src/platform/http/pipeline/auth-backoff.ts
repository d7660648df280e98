/**
 * Slows down guessing of tokens: an address that sent too many invalid tokens within a minute gets 429 instead of 401. Only
 * failures are counted and rejected, so a valid key from the same address keeps working.
 */
import type { Clock } from '../../time/clock.ts';
import { addressBlock } from '../message/address.ts';

const windowMs = 60_000;
const addressesMax = 10_000;

export class AuthBackoff {
  readonly #attempts: number;
  readonly #clock: Clock;
  readonly #failures = new Map<string, { count: number; readonly endsAtMs: number }>();

  constructor(attempts: number, clock: Clock) {
    this.#attempts = attempts;
    this.#clock = clock;
  }

  /** Counts a failure. Returns the seconds to wait if the address has failed too often. */
  failed(address: string): number | undefined {
    const nowMs = this.#clock.now().getTime();
    const block = addressBlock(address);
    let failures = this.#failures.get(block);
    if (failures === undefined || failures.endsAtMs <= nowMs) {
      failures = { count: 0, endsAtMs: nowMs + windowMs };
      this.#failures.delete(block);
      this.#makeRoom();
      this.#failures.set(block, failures);
    }
    failures.count += 1;
    return failures.count > this.#attempts ? secondsUntil(failures.endsAtMs, nowMs) : undefined;
  }

  /** Returns the seconds to wait if the address may not fail again now. Does not count anything. */
  secondsToWait(address: string): number | undefined {
    const nowMs = this.#clock.now().getTime();
    const failures = this.#failures.get(addressBlock(address));
    return failures !== undefined && failures.endsAtMs > nowMs && failures.count >= this.#attempts
      ? secondsUntil(failures.endsAtMs, nowMs)
      : undefined;
  }

  /** Evicts the entry whose minute ends first. It is the first one, because a Map keeps insertion order. */
  #makeRoom(): void {
    if (this.#failures.size >= addressesMax) {
      const [oldest] = this.#failures.keys();
      this.#failures.delete(oldest ?? '');
    }
  }
}

function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1_000));
}
