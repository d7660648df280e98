/** Counts what a request has, and notes what in it cannot be seen or is read differently by parsers. */
import type { NameStyle, RequestFormat } from './call-format.ts';
import type { ImageSize } from './image-tokens.ts';
import { knownNameLike } from './known-members.ts';

export interface TextScore {
  /** Bytes of the text in UTF-8. No tokenizer makes more tokens than bytes. */
  readonly bytes: number;
  /** The tokens that the text may have, for a ratio of one. */
  readonly score: number;
  /** The fewest tokens to expect of a tokenizer that is not known, whatever the ratio. */
  readonly floor: number;
}

/** Reads the parts of a request that only some runtimes can read well. */
export interface InputReaders {
  scoreOfText(text: string): TextScore;
  /** There are few names of fields, so their scores can be cached. */
  scoreOfName(name: string): TextScore;
  /** Returns the size of an image in base64; undefined if it is not known. */
  sizeOfImage(base64: string): ImageSize | undefined;
}

/**
 * `tool`: results of a tool that the provider runs. `reference`: content that is not in the request. `media`: content whose tokens do not
 * follow from its size. `unknown`: a member that no table has.
 */
export type UnseenCause = 'tool' | 'reference' | 'media' | 'unknown';

export interface UnseenInput {
  /** Path of the member, such as `input[3].content[0]`. */
  readonly path: string;
  readonly cause: UnseenCause;
}

/** A member that parsers disagree about, so that the request must not be sent. */
export interface AmbiguousMember {
  readonly path: string;
  /** The known name that some parsers take the member for; undefined for a limit of the output in an unusual place. */
  readonly known: string | undefined;
}

/** A data URL. Its base64 is not read as text. */
const data = /^data:[^,]{0,200},/i;
const pathMax = 200;

export class InputTally {
  textBytes = 0;
  textScore = 0;
  textFloor = 0;
  textLength = 0;
  imageTokens = 0;
  /** Number of objects: messages, parts, tools. */
  parts = 0;
  /** The first unseen member that is not a tool of the provider; the first tool if there is no other. */
  unseen: UnseenInput | undefined;
  ambiguous: AmbiguousMember | undefined;
  readonly #tokensPerNumber: number | undefined;
  readonly #nameStyle: NameStyle;
  readonly #readers: InputReaders;
  readonly #path: (string | number)[] = [];
  #toolDepth = 0;

  constructor({ takesTokenIds, nameStyle }: RequestFormat, readers: InputReaders) {
    this.#tokensPerNumber = takesTokenIds ? 1 : undefined;
    this.#nameStyle = nameStyle;
    this.#readers = readers;
  }

  /** Must be followed by `leave`. */
  enter(step: string | number): void {
    this.#path.push(step);
    if (typeof step === 'string') {
      this.#addName(step);
    }
  }

  leave(): void {
    this.#path.pop();
  }

  addScalar(value: unknown): void {
    if (typeof value === 'string') {
      this.addText(value);
    } else {
      this.addTokens(typeof value === 'number' ? (this.#tokensPerNumber ?? String(value).length) : 1);
    }
  }

  addTextUnlessData(text: string): void {
    if (data.test(text)) {
      this.addTokens(1);
    } else {
      this.addText(text);
    }
  }

  addTokens(tokens: number): void {
    this.textBytes += tokens;
    this.textScore += tokens;
    this.textFloor += tokens;
    this.textLength += tokens;
  }

  addText(text: string): void {
    const { bytes, score, floor } = this.#readers.scoreOfText(text);
    this.textBytes += bytes + 1;
    this.textScore += score;
    this.textFloor += floor;
    this.textLength += text.length + 1;
  }

  #addName(name: string): void {
    const { bytes, score, floor } = this.#readers.scoreOfName(name);
    this.textBytes += bytes + 1;
    this.textScore += score + 1;
    this.textFloor += floor + 1;
    this.textLength += name.length + 1;
  }

  sizeOfImage(base64: string): ImageSize | undefined {
    return this.#readers.sizeOfImage(base64);
  }

  /** Notes the member if its name is another spelling of a known one. */
  checkName(name: string): void {
    const known = knownNameLike(name, this.#nameStyle);
    if (known !== undefined) {
      this.markAmbiguous(known);
    }
  }

  markAmbiguous(known: string | undefined): void {
    this.ambiguous ??= { path: this.#here(), known };
  }

  markUnseen(cause: UnseenCause): void {
    const isOfTool = cause === 'tool' || this.#toolDepth > 0;
    if (this.unseen === undefined || (this.unseen.cause === 'tool' && !isOfTool)) {
      this.unseen = { path: this.#here(), cause: isOfTool ? 'tool' : cause };
    }
  }

  /** Reads a tool that the provider runs, or the result of one. Unseen content in it is attributed to the tool. */
  ofTool(read: () => void): void {
    this.#toolDepth += 1;
    read();
    this.#toolDepth -= 1;
  }

  #here(): string {
    let text = '';
    for (const step of this.#path) {
      text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
    }
    return text.length <= pathMax ? text : `${text.slice(0, pathMax)}…`;
  }
}
