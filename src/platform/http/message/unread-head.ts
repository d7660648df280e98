/**
 * Finds the request line of a request that Node's parser rejects because its head is too large, malformed or incomplete. The
 * parser's error contains at most the latest bytes, so this module extracts the line from the bytes as they arrive.
 */
import type { Duplex } from 'node:stream';

export interface RequestLine {
  readonly method: string;
  /** Path and query. The query may be cut off after its `?`. */
  readonly target: string;
}

/** Returns additional response headers for a request that could not be read. */
export type HeadersOfUnread = (line: RequestLine) => Readonly<Record<string, string>>;

/** Maximum length of a request line. The parser rejects longer ones. */
const lineCharsMax = 16_384;
/** Maximum length of a head that the parser has not rejected. Earlier bytes belong to a previous body and are not searched. */
const headBytesMax = 16_384;
/** Methods of routes. They are an alternation of words, so that the search takes linear time on any input. */
const method = 'GET|HEAD|POST|PUT|PATCH|DELETE';
const wholeLine = new RegExp(`(${method}) (\\S+) HTTP/1\\.[01]\\r?\\n`);
const beginningOfLine = new RegExp(`(?:(?:${method}) \\S*(?: [HTP/.01]*\\r?)?|[A-Z]{1,6})$`);
const lineWithoutEnd = new RegExp(`^(${method}) ([^\\s?]+\\?)`);

/** The incomplete head of one connection. */
export class UnreadHead {
  /** The request line, or the part of it that has arrived. */
  #line = '';
  /** The bytes that the parser is reading now. */
  #chunk: Buffer | undefined;
  /** True if `#line` belongs to an earlier head, because `#chunk` starts after that head or the parser has read past it. */
  #isBehind = false;

  /** Must be created after the parser has added its listeners. `isBody` returns true while a request body is incomplete. */
  constructor(socket: Duplex, isBody: () => boolean) {
    socket.prependListener('data', (chunk: Buffer) => {
      this.#chunk = chunk;
      this.#isBehind = isBody();
    });
    socket.on('data', (chunk: Buffer) => {
      this.#line = isBody() ? '' : this.#unread(chunk.length - headBytesMax);
      this.#chunk = undefined;
    });
  }

  /** Called when the parser has read a complete head. */
  requestRead(): void {
    this.#isBehind = true;
  }

  /**
   * Returns the request line; undefined if too little of it has arrived to know the path. `bytesRead` is the position in the latest
   * bytes at which the parser stopped; default: their end.
   */
  requestLine(bytesRead?: number): RequestLine | undefined {
    const text = this.#unread(0, bytesRead);
    const [, name, target] = wholeLine.exec(text) ?? lineWithoutEnd.exec(text) ?? [];
    return name === undefined || target === undefined ? undefined : { method: name, target };
  }

  #unread(start: number, end?: number): string {
    if (this.#chunk === undefined) {
      return this.#line;
    }
    const before = this.#isBehind || start > 0 ? '' : this.#line;
    const text = before + this.#chunk.toString('latin1', Math.max(0, start), end);
    // With pipelined requests, the last head starts after an empty line: the one that ends the previous head, or one in its body.
    const rest = behindLast('\n\n', behindLast('\r\n\r\n', text));
    const found = wholeLine.exec(rest)?.[0] ?? beginningOfLine.exec(rest)?.[0] ?? '';
    return found.slice(0, lineCharsMax);
  }
}

function behindLast(mark: string, text: string): string {
  const at = text.lastIndexOf(mark);
  return at === -1 ? text : text.slice(at + mark.length);
}
