/** Reads usage, the end and the amount of output from the events of a streamed response. */
import { type CallUsage, modelIn, responseIdOf } from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { mostCalls, type ServerTools, ToolTally } from './server-tools.ts';
import type { SseEvent } from './sse-reader.ts';
import { hidesReasoning } from './visible-output.ts';

/** Returns an upper bound of the tokens of a text. */
export type OutputBound = (text: string) => number;

export interface StreamUsage {
  /** Reads the data of one event. Returns true if it is the usage-only chunk that `include_usage` adds. */
  read(event: Fields): boolean;
  /** Adds the output of an event that was not parsed, because it differs from an earlier event only in its text. */
  addOutput(bound: number): void;
  /** Notes that a part of the response could not be read. That part may contain any output and a larger usage. */
  markUnread(): void;
  /** Returns the reported usage; undefined if none was reported. Before the end of the stream it may be partial. */
  usage(): CallUsage | undefined;
  /** Calls of tools that were seen, but may be missing in `usage`. */
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
  /** An upper bound of the tokens in the visible output so far. */
  readonly outputBound: number;
  /** True if the response names a model that hides its reasoning, even if the request called it by another name. */
  readonly isReasoningHidden: boolean;
}

const noData: Fields = {};

/** The data of the event that ends a chat. */
export const doneMarker: Fields = {};

/** Returns the parsed data of an event; as a text if it is not JSON. */
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

/** The common part of the readers of all formats. */
export abstract class StreamReader implements StreamUsage {
  serverTools: ServerTools = {};
  protected readonly tally = new ToolTally();
  isUnread = false;
  hasFailed = false;
  responseId: string | undefined;
  servedModel: string | undefined;
  protected readonly boundOf: OutputBound;
  #bound = 0;
  /** The bound of the output at the time of the last reported usage. */
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

  /** True if no output followed the reported usage. Otherwise the usage is not that of the whole response. */
  protected get isReportCurrent(): boolean {
    return !this.isUnread && this.#bound === this.#reportedBound;
  }

  get toolCalls(): ServerTools {
    return this.tally.calls;
  }

  protected addSearch(): void {
    this.serverTools = { web_search: (this.serverTools.web_search ?? 0) + 1 };
  }
}

/**
 * Merges two usage reports of one stream. Counts are cumulative, so a smaller report does not replace a larger one, and each count
 * keeps its maximum. Some providers report input and output in different events.
 */
export function largerUsage(reported: CallUsage, before: CallUsage | undefined): CallUsage {
  if (before === undefined) {
    return reported;
  }
  return {
    ...(tokensOf(reported) >= tokensOf(before) ? reported : before),
    inputTokens: Math.max(reported.inputTokens, before.inputTokens),
    outputTokens: Math.max(reported.outputTokens, before.outputTokens),
    reasoningTokens: Math.max(reported.reasoningTokens, before.reasoningTokens),
    audioInputTokens: Math.max(reported.audioInputTokens, before.audioInputTokens),
    imageInputTokens: Math.max(reported.imageInputTokens, before.imageInputTokens),
    audioOutputTokens: Math.max(reported.audioOutputTokens, before.audioOutputTokens),
    serverTools: mostCalls(reported.serverTools, before.serverTools),
    statedNanos: larger(reported.statedNanos, before.statedNanos),
  };
}

function larger(one: bigint | null, other: bigint | null): bigint | null {
  return one === null || (other !== null && other > one) ? other : one;
}

function tokensOf({ inputTokens, outputTokens }: CallUsage): number {
  return inputTokens + outputTokens;
}

/** Members whose short values are keywords of the format, not output. */
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

/** Returns the bound of all text in a value at any depth: text, reasoning, names and arguments of tools. */
export function boundOfText(value: unknown, boundOf: OutputBound): number {
  let bound = typeof value === 'string' ? boundOf(value) : 0;
  // Not recursive: a provider may nest values deeper than the call stack allows.
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
