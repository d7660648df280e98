/**
 * Recognizes events that repeat an earlier one with another text, as most events of a stream do. The earlier one was parsed. If all
 * other bytes are equal, only the text can differ, and parsing again would find nothing else.
 */
import type { ResponseFormat } from '../../kernel/providers/call-format.ts';
import type { Fields } from '../../kernel/providers/fields.ts';

/** The bytes before and after the text of an event. Some providers add padding after the text. */
interface Template {
  readonly before: Buffer;
  readonly between: Buffer;
  /** The bytes after the padding; undefined if there is none. */
  readonly after: Buffer | undefined;
}

export interface RepeatedEvent {
  readonly textStart: number;
  readonly textEnd: number;
  /** Position of the end of the event. */
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const lineFeed = 0x0a;
/** Number of learned events without a repetition after which a stream is no longer examined. */
const fruitlessMax = 8;

export class RepeatedDelta {
  readonly #textNameOf: ResponseFormat['repeatedText'];
  #template: Template | undefined;
  #learned = 0;
  #found = 0;

  constructor({ repeatedText }: ResponseFormat) {
    this.#textNameOf = repeatedText;
  }

  /** Stores a parsed event as the one that the next events may repeat. */
  learn(raw: Buffer, data: Fields): void {
    if (this.#learned > fruitlessMax && this.#found < this.#learned) {
      return;
    }
    const name = this.#textNameOf(data);
    if (name !== undefined) {
      this.#learned += 1;
      this.#template = templateOf(raw, name);
    }
  }

  /** Returns the event at a position of a chunk. Returns undefined if it differs in more than its text, or is incomplete. */
  find(chunk: Buffer, at: number): RepeatedEvent | undefined {
    const template = this.#template;
    if (template === undefined || !hasAt(chunk, at, template.before)) {
      return undefined;
    }
    const textStart = at + template.before.length;
    const textEnd = endOfText(chunk, textStart);
    if (textEnd === undefined || !hasAt(chunk, textEnd, template.between)) {
      return undefined;
    }
    let end = textEnd + template.between.length;
    if (template.after !== undefined) {
      const paddingEnd = endOfText(chunk, end);
      if (paddingEnd === undefined || !hasAt(chunk, paddingEnd, template.after)) {
        return undefined;
      }
      end = paddingEnd + template.after.length;
    }
    this.#found += 1;
    return { textStart, textEnd, end };
  }
}

/** Splits an event into a template. Quotes inside strings are escaped, so a match of the quoted name is really a name. */
function templateOf(raw: Buffer, name: string): Template | undefined {
  const textStart = onlyTextOf(raw, name);
  const textEnd = textStart === undefined ? undefined : endOfText(raw, textStart);
  if (textStart === undefined || textEnd === undefined || raw.at(-1) !== lineFeed) {
    return undefined;
  }
  const before = Buffer.from(raw.subarray(0, textStart));
  const paddingStart = onlyTextOf(raw, 'obfuscation');
  const paddingEnd = paddingStart === undefined ? undefined : endOfText(raw, paddingStart);
  return paddingStart === undefined || paddingEnd === undefined || paddingStart < textEnd
    ? { before, between: Buffer.from(raw.subarray(textEnd)), after: undefined }
    : {
        before,
        between: Buffer.from(raw.subarray(textEnd, paddingStart)),
        after: Buffer.from(raw.subarray(paddingEnd)),
      };
}

/** Returns the start of a member's text, if the name occurs only once. */
function onlyTextOf(raw: Buffer, name: string): number | undefined {
  const [first, ...more] = raw.toString('latin1').matchAll(new RegExp(`"${name}": ?"`, 'g'));
  return first === undefined || more.length > 0 ? undefined : first.index + first[0].length;
}

/** Returns the position of the quote that ends a text; undefined if the text has escapes. */
function endOfText(bytes: Buffer, start: number): number | undefined {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) {
      return at;
    }
    if (byte === backslash || byte < space) {
      return undefined;
    }
  }
  return undefined;
}

function hasAt(bytes: Buffer, at: number, part: Buffer): boolean {
  return at + part.length <= bytes.length && bytes.compare(part, 0, part.length, at, at + part.length) === 0;
}
