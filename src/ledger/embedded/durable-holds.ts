/** Writes open holds to the hold log with group commit, and tracks their location in it. */
import type { LogLocation, OpenHold } from '../holds/org-ledger-state.ts';
import type { HoldLog } from './hold-log.ts';

/** Holds that are written together, as one line. */
interface HoldBatch {
  readonly opens: OpenHold[];
  /** The holds of the batch that were just taken. They are released if they cannot be written. */
  readonly taken: OpenHold[];
  readonly written: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

export class DurableHolds {
  readonly #log: HoldLog;
  readonly #onLost: (lost: readonly OpenHold[], error: unknown) => void;
  readonly #onWritten: () => void;
  #waiting: HoldBatch | undefined;
  #writing: Promise<void> | undefined;

  /**
   * `onLost` is called with taken holds that could not be made durable, before the promise of `take` rejects. `onWritten` is called
   * after each successful write.
   */
  constructor(
    log: HoldLog,
    onLost: (lost: readonly OpenHold[], error: unknown) => void,
    onWritten: () => void = () => undefined,
  ) {
    this.#log = log;
    this.#onLost = onLost;
    this.#onWritten = onWritten;
  }

  /** Writes a hold that was just taken in memory. The response may be sent when the promise resolves. */
  take(open: OpenHold): Promise<void> {
    const batch = this.#nextBatch();
    batch.opens.push(open);
    batch.taken.push(open);
    return batch.written;
  }

  /** Writes holds in their current form. For holds that are already in the log, the new line replaces the earlier one. */
  add(opens: readonly OpenHold[]): Promise<void> {
    const batch = this.#nextBatch();
    for (const open of opens) {
      batch.opens.push(open);
    }
    return batch.written;
  }

  /** Removes holds whose end is in the database, or that were never acknowledged. */
  remove(opens: readonly OpenHold[]): void {
    const locations = opens.map(({ logLocation }) => logLocation);
    for (const open of opens) {
      open.logLocation = undefined;
      open.isForgotten = true;
    }
    this.#log.remove(locations);
  }

  /** All holds of one turn of the event loop, and all that arrive while a line is being written, form the next line. */
  #nextBatch(): HoldBatch {
    if (this.#waiting === undefined) {
      this.#waiting = newBatch();
      this.#writing ??= new Promise((resolve) => {
        setImmediate(async () => {
          await this.#writeWaiting();
          resolve();
        });
      });
    }
    return this.#waiting;
  }

  async #writeWaiting(): Promise<void> {
    for (let batch = this.#waiting; batch !== undefined; batch = this.#waiting) {
      this.#waiting = undefined;
      await this.#write(batch);
    }
    this.#writing = undefined;
  }

  async #write({ opens, taken, resolve, reject }: HoldBatch): Promise<void> {
    const unended = opens.filter(({ isForgotten }) => !isForgotten);
    if (unended.length > 0) {
      try {
        this.#move(unended, await this.#log.append(unended.map(({ hold }) => hold)));
        this.#onWritten();
      } catch (error) {
        for (const open of taken) {
          open.isForgotten = true;
        }
        this.#onLost(taken, error);
        reject(error);
        return;
      }
    }
    resolve();
  }

  /** Removes each location exactly once, because the log only counts the holds in a file. */
  #move(opens: readonly OpenHold[], location: LogLocation): void {
    const previous = opens.map((open) => {
      if (open.isForgotten) {
        // The hold ended while its line was being written.
        return location;
      }
      const { logLocation } = open;
      open.logLocation = location;
      return logLocation;
    });
    this.#log.remove(previous);
  }

  async close(): Promise<void> {
    await this.#writing;
    this.#log.close();
  }
}

function newBatch(): HoldBatch {
  let resolve = () => {};
  let reject: HoldBatch['reject'] = () => {};
  const written = new Promise<void>((onWritten, onError) => {
    resolve = onWritten;
    reject = onError;
  });
  return { opens: [], taken: [], written, resolve, reject };
}
