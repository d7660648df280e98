/** Which open holds of the embedded engine are in the log, and where. */

import type { Hold } from '../holds/hold.ts';
import type { LogPlace, OpenHold } from '../holds/org-ledger-state.ts';
import type { HoldLog } from './hold-log.ts';

export class DurableHolds {
  readonly #log: HoldLog;
  readonly #onLost: (lost: readonly OpenHold[], error: unknown) => void;
  /** Holds of this turn of the event loop that are not durable yet. */
  #fresh: OpenHold[] = [];
  #flushing: Promise<void> | undefined;

  /** `onLost` hears of those that were to become durable soon and could not, before whoever waits for that. */
  constructor(log: HoldLog, onLost: (lost: readonly OpenHold[], error: unknown) => void) {
    this.#log = log;
    this.#onLost = onLost;
  }

  /** All holds of one turn of the event loop become durable together. */
  addSoon(open: OpenHold): Promise<void> {
    this.#fresh.push(open);
    this.#flushing ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const fresh = this.#fresh;
        this.#fresh = [];
        this.#flushing = undefined;
        try {
          this.add(fresh);
        } catch (error) {
          this.#onLost(fresh, error);
          reject(error);
          return;
        }
        resolve();
      });
    });
    return this.#flushing;
  }

  /** They are durable when this returns. Those that are there already are so as they are now. */
  add(opens: readonly OpenHold[]): void {
    this.#move(opens, this.#log.append(opens.map(({ hold }) => hold)));
  }

  /** The same hold as it is to be: durable before anything else changes. */
  replace(open: OpenHold, hold: Hold): void {
    this.#move([open], this.#log.append([hold]));
  }

  remove(opens: readonly OpenHold[]): void {
    this.#move(opens, undefined);
  }

  /** A place is left once: the log only counts who is there. */
  #move(opens: readonly OpenHold[], place: LogPlace | undefined): void {
    const left = opens.map((open) => open.place);
    for (const open of opens) {
      open.place = place;
    }
    this.#log.forget(left);
  }

  async close(): Promise<void> {
    await this.#flushing?.catch(() => undefined);
    this.#log.close();
  }
}
