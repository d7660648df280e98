/** Tracks a streamed response, so that the gateway can end it properly after a failure, or when its hold cannot be increased. */
import type { CallUsage } from './call-usage.ts';
import type { Fields } from './fields.ts';

export interface OpenStream {
  /** Reads the data of an event that was sent to the client. */
  read(event: Fields): void;
  /** True once the provider has ended its output. Only usage and the end of the stream may follow. */
  readonly isOutputEnded: boolean;
  /** Returns the missing events at the end of a stream whose output has ended. */
  rest(): string;
  /**
   * Returns the events that end the stream as if the maximum output had been reached, or an error if a client could not continue with
   * such an end. `usage` is what is posted.
   */
  truncated(usage: CallUsage): string;
  /** Returns the event that tells the client that the stream has failed. */
  failed(message: string, code: string): string;
}

export interface StreamedCall {
  /** Number of alternative answers. */
  readonly choices: number;
  /** True if the client requested the usage of a chat. */
  readonly includesUsage: boolean;
  /** True if the gateway may end the stream before the provider does. Only then is output kept, to write the end of the stream. */
  readonly mayTruncate: boolean;
}
