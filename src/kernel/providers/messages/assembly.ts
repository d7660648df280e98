/** Assembles a streamed message. */
import { type Fields, fieldsOf } from '../fields.ts';
import {
  type AssembledStream,
  type AssemblyFormat,
  partsMax,
  type StreamAssembly,
} from '../stream-assembly.ts';

interface StreamedBlock {
  readonly content: Record<string, unknown>;
  /** Citations that have been added to those of its start. */
  citations: unknown[] | undefined;
  /** The JSON of the input of a tool so far. */
  input: string;
}

/** Statuses of the types of errors. */
const errorStatuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** The member that each kind of delta adds text to. */
const textMembers: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['compaction_delta', 'content'],
]);

export const messagesAssembly: AssemblyFormat = {
  mayAssemble: () => true,
  start: () => new MessagesAssembly(),
};

class MessagesAssembly implements StreamAssembly {
  #message: Record<string, unknown> | undefined;
  #usage: Record<string, unknown> = {};
  readonly #blocks = new Map<number, StreamedBlock>();
  #isStopped = false;
  #error: Fields | undefined;
  #unknown: string | undefined;

  read(event: Fields): void {
    switch (event.type) {
      case 'message_start': {
        if (this.#message !== undefined) {
          this.#unknown ??= 'a second message_start';
        }
        const { usage, ...message } = fieldsOf(event.message);
        this.#message = message;
        this.#addUsage(usage);
        break;
      }
      case 'content_block_start':
        this.#addBlock(Number(event.index), { ...fieldsOf(event.content_block) });
        break;
      case 'content_block_delta':
        this.#readDelta(this.#blocks.get(Number(event.index)), fieldsOf(event.delta));
        break;
      case 'message_delta': {
        const { type: _, delta, usage, ...more } = event;
        this.#message = { ...this.#message, ...fieldsOf(delta), ...more };
        this.#addUsage(usage);
        break;
      }
      case 'message_stop':
        this.#isStopped = true;
        break;
      case 'error':
        this.#error ??= event;
        break;
      case 'content_block_stop':
      case 'ping':
        break;
      default:
        this.#unknown ??= String(event.type ?? 'an event without a type');
    }
  }

  #addBlock(index: number, content: Record<string, unknown>): void {
    // A second block at the same place would replace the first.
    if (this.#blocks.size >= partsMax || !Number.isInteger(index) || this.#blocks.has(index)) {
      this.#unknown ??= 'content_block_start';
    } else {
      this.#blocks.set(index, { content, citations: undefined, input: '' });
    }
  }

  #readDelta(block: StreamedBlock | undefined, delta: Fields): void {
    const type = String(delta.type);
    const member = textMembers.get(type);
    if (block === undefined) {
      this.#unknown ??= 'a delta of no block';
    } else if (member !== undefined) {
      const text = delta[member];
      block.content[member] = `${block.content[member] ?? ''}${typeof text === 'string' ? text : ''}`;
      this.#noteUnknown(type, delta, member);
    } else if (type === 'signature_delta') {
      block.content.signature = delta.signature;
      this.#noteUnknown(type, delta, 'signature');
    } else if (type === 'citations_delta') {
      const { citations } = block.content;
      block.citations ??= Array.isArray(citations) ? [...citations] : [];
      block.citations.push(delta.citation);
      block.content.citations = block.citations;
      this.#noteUnknown(type, delta, 'citation');
    } else if (type === 'input_json_delta') {
      block.input += typeof delta.partial_json === 'string' ? delta.partial_json : '';
      this.#noteUnknown(type, delta, 'partial_json');
    } else {
      this.#unknown ??= type;
    }
  }

  #noteUnknown(type: string, delta: Fields, member: string): void {
    for (const name of Object.keys(delta)) {
      if (name !== 'type' && name !== member && delta[name] != null) {
        this.#unknown ??= `${type}.${name}`;
      }
    }
  }

  /** Counts are cumulative. A later event need not repeat them. */
  #addUsage(usage: unknown): void {
    for (const [name, value] of Object.entries(fieldsOf(usage))) {
      this.#usage[name] = value ?? this.#usage[name] ?? null;
    }
  }

  result(): AssembledStream {
    if (this.#error !== undefined) {
      const type = String(fieldsOf(this.#error.error).type);
      return { kind: 'error', status: errorStatuses.get(type) ?? 500, body: this.#error };
    }
    if (this.#unknown !== undefined) {
      return { kind: 'unknown', part: this.#unknown };
    }
    if (this.#message === undefined || !this.#isStopped) {
      return { kind: 'unended' };
    }
    const isCut = this.#message.stop_reason === 'max_tokens';
    const content: object[] = [];
    for (const [, block] of [...this.#blocks].sort(([a], [b]) => a - b)) {
      const input = block.input === '' ? undefined : parsedInput(block.input);
      if (input !== undefined) {
        content.push({ ...block.content, input });
      } else if (block.input === '') {
        content.push(block.content);
      } else if (!isCut) {
        return { kind: 'unknown', part: 'input of a tool' };
      }
      // A client could run a tool whose input is cut, so that block is left out.
    }
    return { kind: 'response', body: { ...this.#message, content, usage: this.#usage } };
  }
}

function parsedInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
