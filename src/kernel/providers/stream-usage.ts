/** Reads usage, the end and the amount of output from the events of a streamed response. */
import {
  type CallUsage,
  isCount,
  type MessagesCounts,
  messagesCounts,
  modelIn,
  responseIdOf,
  type ServerTools,
  type Shape,
  usageOf,
  usageOfBody,
  usageOfCounts,
} from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';
import {
  calledTool,
  callsIn,
  isSearch,
  mostCalls,
  searchesOfModel,
  withServerTools,
} from './server-tools.ts';
import type { SseEvent } from './sse-reader.ts';
import { hidesReasoning } from './visible-output.ts';

/** Returns an upper bound of the tokens of a text. */
export type OutputBound = (text: string) => number;

export interface StreamUsage {
  /** Reads the data of one event. Returns true if it is the chunk that only reports usage, which `include_usage` adds. */
  read(event: Fields): boolean;
  /** Adds output of an event that repeats one that was read, with another text. */
  addOutput(bound: number): void;
  /** Notes that a part of the response could not be read: it may have any output, and a larger usage. */
  markUnread(): void;
  /** The usage that was reported; undefined if none was. Before the end it may be a part. */
  usage(): CallUsage | undefined;
  /** Calls of tools that were seen, and that `usage` may not report yet. */
  readonly serverTools: ServerTools;
  /** All calls of tools of the provider that were seen, by unit. */
  readonly toolCalls: ServerTools;
  /** True if the usage is that of the whole response. */
  readonly isFinal: boolean;
  /** True if a part of the response could not be read. */
  readonly isUnread: boolean;
  /** True if the provider has ended the response with an error. */
  readonly hasFailed: boolean;
  /** The provider's id of the response; undefined if it sent none yet. */
  readonly responseId: string | undefined;
  /** The model that the response names; undefined if it has named none yet. */
  readonly servedModel: string | undefined;
  /** An upper bound of the tokens in the output so far that can be seen. */
  readonly outputBound: number;
  /** True if the response names a model that does not show its reasoning, whatever name the request has used for it. */
  readonly isReasoningHidden: boolean;
}

/** `choices` is the number of alternative answers that a chat requests. */
export function createStreamUsage(shape: Shape, boundOf: OutputBound, choices = 1): StreamUsage {
  switch (shape) {
    case 'messages':
      return new MessagesStream(boundOf);
    case 'responses':
      return new ResponsesStream(boundOf);
    default:
      return new ChatStream(boundOf, choices);
  }
}

const noData: Fields = {};

/** The data of the event that ends a chat. */
export const doneMarker: Fields = {};

/** Returns the fields of the data of an event; as a text if it is no JSON. */
export function dataOf({ data }: Pick<SseEvent, 'data'>): Fields {
  if (data === '') {
    return noData;
  }
  if (data === '[DONE]') {
    return doneMarker;
  }
  try {
    const value: unknown = JSON.parse(data);
    return Array.isArray(value) ? { text: data } : fieldsOf(value);
  } catch {
    return { text: data };
  }
}

abstract class StreamReader implements StreamUsage {
  serverTools: ServerTools = {};
  toolCalls: ServerTools = {};
  isUnread = false;
  hasFailed = false;
  responseId: string | undefined;
  servedModel: string | undefined;
  protected readonly boundOf: OutputBound;
  #bound = 0;
  /** The output that was received when usage was reported last. */
  #reportedBound = 0;

  constructor(boundOf: OutputBound) {
    this.boundOf = boundOf;
  }

  abstract read(event: Fields): boolean;
  abstract usage(): CallUsage | undefined;
  abstract readonly isFinal: boolean;

  addOutput(bound: number): void {
    this.#bound += bound;
  }

  markUnread(): void {
    this.isUnread = true;
  }

  get outputBound(): number {
    return Math.ceil(this.#bound);
  }

  get isReasoningHidden(): boolean {
    return this.servedModel !== undefined && hidesReasoning(this.servedModel);
  }

  protected readResponse(response: Fields): void {
    this.responseId ??= responseIdOf(response);
    this.servedModel ??= modelIn(response);
  }

  protected markReported(): void {
    this.#reportedBound = this.#bound;
  }

  /** True if nothing followed the reported usage: usage before more output is not that of the whole response. */
  protected get isReportCurrent(): boolean {
    return !this.isUnread && this.#bound === this.#reportedBound;
  }

  protected addCall(item: unknown): void {
    const tool = calledTool(fieldsOf(item));
    if (tool !== undefined) {
      this.toolCalls = { ...this.toolCalls, [tool]: (this.toolCalls[tool] ?? 0) + 1 };
    }
  }

  protected addSearch(): void {
    this.serverTools = { web_search: (this.serverTools.web_search ?? 0) + 1 };
  }
}

/**
 * OpenAI sends the usage in a last chunk without choices; other providers in the last chunk with choices, or, as the count so far,
 * in every chunk.
 */
class ChatStream extends StreamReader {
  readonly #choices: number;
  readonly #ended = new Set<unknown>();
  #isOutputEnded = false;
  /** False while the stream has another form, whose text may all be output. */
  #hasChoices = false;
  #usage: CallUsage | undefined;
  #serviceTier: unknown;

  constructor(boundOf: OutputBound, choices: number) {
    super(boundOf);
    this.#choices = choices;
  }

  read(chunk: Fields): boolean {
    this.readResponse(chunk);
    if (typeof chunk.model === 'string') {
      this.serverTools = searchesOfModel(chunk.model);
    }
    this.hasFailed ||= chunk.error != null;
    this.#isOutputEnded ||= chunk === doneMarker;
    // Some providers name the tier in the first chunk only.
    this.#serviceTier = chunk.service_tier ?? this.#serviceTier;
    const reported = chunk.usage == null ? undefined : usageOf('chat', chunk.usage, this.#serviceTier);
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    this.#hasChoices ||= choices.length > 0;
    if (!this.#hasChoices && chunk.choices === undefined && chunk.error == null) {
      this.addOutput(boundOfText(chunk, this.boundOf));
    }
    for (const choice of choices) {
      const { delta, message, text, index, finish_reason: reason } = fieldsOf(choice);
      // Some providers send the answer so far, or completions, instead of deltas.
      this.addOutput(boundOfText(delta ?? message ?? text, this.boundOf));
      if (reason != null) {
        this.#ended.add(index);
      }
    }
    if (reported !== undefined) {
      this.#usage = withServerTools(largerUsage(reported, this.#usage), this.serverTools);
      this.markReported();
    }
    const isUsageChunk = reported !== undefined && choices.length === 0;
    this.#isOutputEnded ||= isUsageChunk || this.#ended.size >= this.#choices;
    return isUsageChunk;
  }

  usage(): CallUsage | undefined {
    return this.#usage;
  }

  get isFinal(): boolean {
    return this.#usage !== undefined && this.#isOutputEnded && this.isReportCurrent;
  }
}

const responsesEnds = new Set(['response.completed', 'response.incomplete', 'response.failed']);

class ResponsesStream extends StreamReader {
  #usage: CallUsage | undefined;
  /** Positions of the items that deltas show; the others are shown as a whole. Undefined of deltas that name none. */
  readonly #streamed = new Set<unknown>();

  read(event: Fields): boolean {
    const { type } = event;
    if (event.response !== undefined) {
      this.readResponse(fieldsOf(event.response));
    }
    this.hasFailed ||= type === 'response.failed' || type === 'error';
    const isEnd = typeof type === 'string' && responsesEnds.has(type);
    if (isEnd || fieldsOf(event.response).usage != null) {
      const { output } = fieldsOf(event.response);
      this.toolCalls = mostCalls(this.toolCalls, callsIn(output));
      const reported = usageOfBody('responses', event.response);
      if (reported === undefined) {
        this.#addWhole(Array.isArray(output) ? output.filter((_, at) => !this.#isStreamed(at)) : []);
      } else {
        this.#usage = withServerTools(largerUsage(reported, this.#usage), this.serverTools);
        this.markReported();
      }
    } else if (event.delta != null) {
      this.#streamed.add(event.output_index);
      this.addOutput(boundOfText(event.delta, this.boundOf));
    } else if (type === 'response.output_item.done') {
      if (!this.#isStreamed(event.output_index)) {
        this.#addWhole([event.item]);
      }
      this.addCall(event.item);
      if (isSearch(event.item)) {
        this.addSearch();
      }
    } else if (type === undefined) {
      // Of another format.
      this.addOutput(boundOfText(event, this.boundOf));
    } else if (event.response === undefined && !this.#isStreamed(event.output_index)) {
      this.addOutput(boundOfText(event.text ?? event.part, this.boundOf));
    }
    return false;
  }

  #isStreamed(position: unknown): boolean {
    return this.#streamed.has(position) || this.#streamed.has(undefined);
  }

  /** Results of tools are no output of the model. */
  #addWhole(items: readonly unknown[]): void {
    for (const item of items) {
      if (calledTool(fieldsOf(item)) === undefined) {
        this.addOutput(boundOfText(item, this.boundOf));
      }
    }
  }

  usage(): CallUsage | undefined {
    return this.#usage;
  }

  get isFinal(): boolean {
    return this.#usage !== undefined && this.isReportCurrent;
  }
}

/** `message_start` has the input; `message_delta` events have cumulative counts, of which the last is final. */
class MessagesStream extends StreamReader {
  #counts: MessagesCounts | undefined;
  #hasInput = false;
  #hasOutput = false;

  read(event: Fields): boolean {
    switch (event.type) {
      case 'message_start': {
        const message = fieldsOf(event.message);
        this.#readUsage(message.usage);
        this.readResponse(message);
        this.addOutput(boundOfText(message.content, this.boundOf));
        break;
      }
      case 'message_delta':
      case 'message_stop':
        this.#readUsage(event.usage);
        if (isCount(fieldsOf(event.usage).output_tokens)) {
          this.#hasOutput = true;
          this.markReported();
        }
        break;
      case 'content_block_start': {
        this.addOutput(boundOfText(event.content_block, this.boundOf));
        this.addCall(event.content_block);
        const { type, name } = fieldsOf(event.content_block);
        if (type === 'server_tool_use' && name === 'web_search') {
          this.addSearch();
        }
        break;
      }
      case 'content_block_delta':
        this.addOutput(boundOfText(event.delta, this.boundOf));
        break;
      case 'error':
        this.hasFailed = true;
        break;
      case undefined:
        // Of another format.
        this.addOutput(boundOfText(event, this.boundOf));
        break;
    }
    return false;
  }

  #readUsage(usage: unknown): void {
    this.#counts = messagesCounts(usage, this.#counts);
    this.#hasInput ||= isCount(fieldsOf(usage).input_tokens);
  }

  /** Counts without the input are no usage: the input would be free. */
  usage(): CallUsage | undefined {
    return this.#counts && this.#hasInput ? usageOfCounts(this.#counts) : undefined;
  }

  get isFinal(): boolean {
    return this.#hasInput && this.#hasOutput && this.isReportCurrent;
  }
}

/**
 * Counts of a stream are cumulative: a report with fewer tokens than an earlier one does not replace it, and no count of it is lost. Some
 * providers report input and output in different events.
 */
function largerUsage(reported: CallUsage, before: CallUsage | undefined): CallUsage {
  if (before === undefined) {
    return reported;
  }
  return {
    ...(tokensOf(reported) >= tokensOf(before) ? reported : before),
    inputTokens: Math.max(reported.inputTokens, before.inputTokens),
    outputTokens: Math.max(reported.outputTokens, before.outputTokens),
    audioInputTokens: Math.max(reported.audioInputTokens, before.audioInputTokens),
    audioOutputTokens: Math.max(reported.audioOutputTokens, before.audioOutputTokens),
    serverTools: mostCalls(reported.serverTools, before.serverTools),
  };
}

function tokensOf({ inputTokens, outputTokens }: CallUsage): number {
  return inputTokens + outputTokens;
}

/** Members whose short values are words of the format, and not output. */
const formatMembers = new Set([
  'type',
  'role',
  'id',
  'status',
  'finish_reason',
  'native_finish_reason',
  'phase',
]);
const formatWordMax = 80;

/** Returns the bound of all text in a value, at any depth: text, reasoning, names and arguments of tools. */
export function boundOfText(value: unknown, boundOf: OutputBound): number {
  let bound = typeof value === 'string' ? boundOf(value) : 0;
  // Not recursive: a provider may nest values deeper than calls can be.
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== 'object' || one === null) {
      continue;
    }
    for (const [name, inner] of Object.entries(one)) {
      if (typeof inner !== 'string') {
        left.push(inner);
      } else if (inner.length > formatWordMax || !formatMembers.has(name)) {
        bound += boundOf(inner);
      }
    }
  }
  return bound;
}
