/** Ends a call early: its client leaves, the process stops, or no limit allows to hold more for it. */
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import { holdDenied, stoppingError } from './errors/call-errors.ts';
import type { GatewayError } from './errors/gateway-error.ts';
import { Cancellation } from './forward/cancellation.ts';

export class CallInterruption {
  /** Cancelled when the client leaves, and when the gateway ends the call. */
  readonly left = new Cancellation();
  /** Cancels the request to the provider. */
  readonly cut = new Cancellation();
  readonly #socket: RawRequest['socket'];
  readonly #onHalfClose: () => void;
  readonly #onClose = () => this.left.cancel();
  /** Why the gateway has ended the call. */
  #cause: 'stop' | 'denial' | undefined;

  /**
   * `endsAtHalfClose`: the client leaves already by closing its sending side, as most clients do. Otherwise this is only noticed at the
   * next write to it, which loses nothing.
   */
  constructor(socket: RawRequest['socket'], endsAtHalfClose: boolean, onHalfClose: () => void) {
    this.#socket = socket;
    this.#onHalfClose = () => {
      this.left.cancel();
      onHalfClose();
    };
    socket.once('close', this.#onClose);
    if (endsAtHalfClose) {
      socket.once('end', this.#onHalfClose);
    }
    // The client may have left during the admission.
    if (socket.destroyed || (endsAtHalfClose && socket.readableEnded)) {
      this.left.cancel();
    }
  }

  /** True if the client has left, and the gateway has not ended the call. */
  get isByClient(): boolean {
    return this.left.isCancelled && this.#cause === undefined;
  }

  /** The process stops. A response that is streamed gets its ending before the request to the provider is cancelled. */
  stop(): void {
    this.#cause = 'stop';
    this.left.cancel();
  }

  /** No limit allows to hold more, and the response has not begun. */
  deny(): void {
    this.#cause ??= 'denial';
    this.left.cancel();
    this.cut.cancel();
  }

  /** Returns the error that says why the gateway ended the call, or `otherwise` if it did not. */
  errorOr(otherwise: () => GatewayError): GatewayError {
    if (this.#cause === undefined) {
      return otherwise();
    }
    return this.#cause === 'stop' ? stoppingError() : holdDenied();
  }

  /** Stops watching the client, because the call is settled. */
  close(): void {
    this.#socket.removeListener('close', this.#onClose);
    this.#socket.removeListener('end', this.#onHalfClose);
  }
}
