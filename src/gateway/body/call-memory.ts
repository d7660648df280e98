/** The memory of a call's body, which is accounted before it is used (`platform/http/message/body-memory.ts`). */
import { type BodyMemory, HeldMemory } from '../../platform/http/message/body-memory.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** Number of copies of the bytes: those of the client, and the changed ones that are sent. */
const copies = 2;
/** Bytes per byte of the body: its text and its strings, with two bytes for each character. */
const parsedPerByte = 4;
/** Bytes per value: an object with its place in a list, and the score of its text. */
const parsedPerValue = 250;

export class CallMemory {
  readonly #held: HeldMemory;
  #bytes = 0;

  constructor(memory: BodyMemory) {
    this.#held = new HeldMemory(memory);
  }

  /** Takes the memory of the bytes. Throws if the memory for calls is used up. */
  holdBytes(bytes: number): void {
    this.#bytes = bytes;
    this.keepBytes();
  }

  /** Takes the memory of the parsed body. Must be called before parsing. */
  holdParsed(values: number): void {
    this.#resize((copies + parsedPerByte) * this.#bytes + parsedPerValue * values);
  }

  /** Reduces the memory to that of the bytes, when the parsed body is no longer needed. */
  keepBytes(): void {
    this.#resize(copies * this.#bytes);
  }

  /** Can be called repeatedly. */
  release(): void {
    this.#held.resize(0);
  }

  #resize(bytes: number): void {
    if (!this.#held.resize(bytes)) {
      throw new GatewayError(503, 'overloaded', 'Too many large bodies are in progress. Please try again.');
    }
  }
}
