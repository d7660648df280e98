/** The memory that the body of a call takes, accounted before it is used (`platform/http/message/body-memory.ts`). */
import { type BodyMemory, HeldMemory } from '../../platform/http/message/body-memory.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** The bytes of the client, and the changed ones that are sent. */
const copies = 2;
/** The text of the body and its strings, with two bytes for each character. */
const parsedPerByte = 4;
/** An object with its place in a list, and its text scored. */
const parsedPerValue = 250;

export class CallMemory {
  readonly #held: HeldMemory;
  #bytes = 0;

  constructor(memory: BodyMemory) {
    this.#held = new HeldMemory(memory);
  }

  /** Throws if the memory of all calls is used up. */
  holdBytes(bytes: number): void {
    this.#bytes = bytes;
    this.keepBytes();
  }

  /** Before the bytes are parsed. */
  holdParsed(values: number): void {
    this.#resize((copies + parsedPerByte) * this.#bytes + parsedPerValue * values);
  }

  /** From now on the bytes are needed alone. */
  keepBytes(): void {
    this.#resize(copies * this.#bytes);
  }

  /** May be called again. */
  release(): void {
    this.#held.resize(0);
  }

  #resize(bytes: number): void {
    if (!this.#held.resize(bytes)) {
      throw new GatewayError(503, 'overloaded', 'Too many large bodies are in progress. Please try again.');
    }
  }
}
