/** Tracks the location of the open holds in the hold log. */

import type { Hold } from '../holds/hold.ts';
import type { LogLocation, OpenHold } from '../holds/org-ledger-state.ts';
import type { HoldLog } from './hold-log.ts';

export class DurableHolds {
  readonly #log: HoldLog;
  readonly #onLost: (lost: readonly OpenHold[], error: unknown) => void;
  /** Holds of this turn of the event loop that are not durable yet. */
  #batch: OpenHold[] = [];
  #flushing: Promise<void> | undefined;

  /**
   * `onLost` is called with batched holds that could not be made durable, before the promise of `addBatched`
   * rejects.
   */
  constructor(log: HoldLog, onLost: (lost: readonly OpenHold[], error: unknown) => void) {
    this.#log = log;
    this.#onLost = onLost;
  }

  /** Group commit: all holds of one turn of the event loop become durable together. */
  addBatched(open: OpenHold): Promise<void> {
    this.#batch.push(open);
    this.#flushing ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const batch = this.#batch;
        this.#batch = [];
        this.#flushing = undefined;
        try {
          this.add(batch);
        } catch (error) {
          this.#onLost(batch, error);
          reject(error);
          return;
        }
        resolve();
      });
    });
    return this.#flushing;
  }

  /** Appends holds; they are durable on return. Holds already in the log are written again in their current form. */
  add(opens: readonly OpenHold[]): void {
    this.#move(opens, this.#log.append(opens.map(({ hold }) => hold)));
  }

  /** Makes the new version of a hold durable before anything else changes. */
  replace(open: OpenHold, hold: Hold): void {
    this.#move([open], this.#log.append([hold]));
  }

  remove(opens: readonly OpenHold[]): void {
    this.#move(opens, undefined);
  }

  /** Each location is removed exactly once, because the log only counts the holds in a file. */
  #move(opens: readonly OpenHold[], location: LogLocation | undefined): void {
    const previous = opens.map((open) => open.logLocation);
    for (const open of opens) {
      open.logLocation = location;
    }
    this.#log.remove(previous);
  }

  async close(): Promise<void> {
    await this.#flushing?.catch(() => undefined);
    this.#log.close();
  }
}
