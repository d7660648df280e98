/**
 * Finds the request line of a request that Node's parser gives up on: its head is too large, malformed or does not end. The
 * parser's error holds at most the bytes it was reading then, so the line is kept from the bytes as they arrive.
 */
import type { Duplex } from 'node:stream';

export interface RequestLine {
  readonly method: string;
  /** Up to its query at least. */
  readonly target: string;
}

/** The headers of a response to a request that could not be read, beside those of every such response. */
export type HeadersOfUnread = (line: RequestLine) => Readonly<Record<string, string>>;

/** Longer lines are refused by the parser. */
const lineCharsMax = 16_384;
/** Methods of routes. An alternative of words, so that the search takes linear time on any bytes. */
const method = 'GET|HEAD|POST|PUT|PATCH|DELETE';
const wholeLine = new RegExp(`(${method}) (\\S+) HTTP/1\\.[01]\\r?\\n`);
const beginningOfLine = new RegExp(`(?:(?:${method}) \\S*(?: [HTP/.01]*\\r?)?|[A-Z]{1,6})$`);
const lineWithoutEnd = new RegExp(`^(${method}) ([^\\s?]+\\?)`);

/** What has arrived on one connection of the head that is not whole yet. */
export class UnreadHead {
  /** Its request line, or as much of it as has arrived. */
  #line = '';
  /** The bytes that the parser is reading now. */
  #chunk: Buffer | undefined;
  /** They began, or now are, behind the head that `#line` belongs to. */
  #isBehind = false;

  /** `isBody`: the body of a request that was read is not whole yet. To be made when the parser listens already. */
  constructor(socket: Duplex, isBody: () => boolean) {
    socket.prependListener('data', (chunk: Buffer) => {
      this.#chunk = chunk;
      this.#isBehind = isBody();
    });
    socket.on('data', () => {
      this.#line = isBody() ? '' : this.#unread();
      this.#chunk = undefined;
    });
  }

  /** A head has become a request. */
  requestRead(): void {
    this.#isBehind = true;
  }

  /**
   * Undefined where too little has arrived to tell its path. `bytesRead`: where in the latest bytes the parser has stopped; by
   * default behind them.
   */
  requestLine(bytesRead?: number): RequestLine | undefined {
    const text = this.#unread(bytesRead);
    const [, name, target] = wholeLine.exec(text) ?? lineWithoutEnd.exec(text) ?? [];
    return name === undefined || target === undefined ? undefined : { method: name, target };
  }

  #unread(bytesRead?: number): string {
    if (this.#chunk === undefined) {
      return this.#line;
    }
    const before = this.#isBehind ? '' : this.#line;
    const text = before + this.#chunk.toString('latin1', 0, bytesRead);
    // Where requests are pipelined, the last head begins behind the empty line of the one before it, or behind its body.
    const rest = behindLast('\n\n', behindLast('\r\n\r\n', text));
    const found = wholeLine.exec(rest)?.[0] ?? beginningOfLine.exec(rest)?.[0] ?? '';
    return found.slice(0, lineCharsMax);
  }
}

function behindLast(mark: string, text: string): string {
  const at = text.lastIndexOf(mark);
  return at === -1 ? text : text.slice(at + mark.length);
}
