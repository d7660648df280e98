/** `COPY` over a connection of `pg`, which calls these methods for the server's messages. */
import type { Connection, Submittable } from 'pg';

/** The part of a connection of `pg` that its types do not declare. */
interface CopyConnection extends Connection {
  query(sql: string): void;
  sync(): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

abstract class Copy<Result> implements Submittable {
  readonly result: Promise<Result>;
  readonly #sql: string;
  #resolve: (result: Result) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #failure: Error | undefined;

  constructor(sql: string) {
    this.#sql = sql;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  protected abstract finished(): Result;

  submit(connection: Connection): void {
    (connection as CopyConnection).query(this.#sql);
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#failure = error;
    // A lost connection sends no ReadyForQuery.
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    if (this.#failure === undefined) {
      this.#resolve(this.finished());
    }
  }
}

export class CopyOut extends Copy<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];

  handleCopyData({ chunk }: { chunk: Uint8Array }): void {
    // Copied, because the buffer of a message is reused for the next one.
    this.#chunks.push(Uint8Array.prototype.slice.call(chunk));
  }

  protected finished(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}

const messageBytes = 65_536;

export class CopyIn extends Copy<void> {
  readonly #rows: Buffer;

  constructor(sql: string, rows: Uint8Array) {
    super(sql);
    this.#rows = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  }

  handleCopyInResponse(connection: Connection): void {
    const to = connection as CopyConnection;
    for (let at = 0; at < this.#rows.length; at += messageBytes) {
      to.sendCopyFromChunk(this.#rows.subarray(at, at + messageBytes));
    }
    to.endCopyFrom();
  }

  protected finished(): void {}
}
