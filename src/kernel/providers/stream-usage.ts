/** Reads usage, the end and the amount of output from the events of a streamed response. */
import {
  type CallUsage,
  type Fields,
  fieldsOf,
  type MessagesCounts,
  messagesCounts,
  responseIdOf,
  type Shape,
  usageOf,
  usageOfCounts,
} from './call-usage.ts';
import type { SseEvent } from './sse-reader.ts';
import { hidesReasoning } from './visible-output.ts';

/** Returns an upper bound of the tokens of a text. */
export type OutputBound = (text: string) => number;

export interface StreamUsage {
  /** Reads the data of one event. Returns true if it is the chunk that only reports usage, which `include_usage` adds. */
  read(event: Fields): boolean;
  /** Adds output of an event that repeats one that was read, with another text. */
  addOutput(bound: number): void;
  /** The usage that was reported; undefined if none was. Before the end it may be a part. */
  usage(): CallUsage | undefined;
  /** True if the usage is that of the whole response. */
  readonly isFinal: boolean;
  /** The provider's id of the response; undefined if it sent none yet. */
  readonly responseId: string | undefined;
  /** An upper bound of the tokens in the output so far that can be seen. */
  readonly outputBound: number;
  /** True if the response names a model that does not show its reasoning, whatever name the request has used for it. */
  readonly isReasoningHidden: boolean;
}

export function createStreamUsage(shape: Shape, boundOf: OutputBound): StreamUsage {
  switch (shape) {
    case 'messages':
      return messagesStream(boundOf);
    case 'responses':
      return responsesStream(boundOf);
    default:
      return chatStream(boundOf);
  }
}

/** The data of the event that ends a chat. */
export const doneMarker: Fields = {};

/** Returns the fields of the data of an event; none if it has no JSON. */
export function dataOf({ data }: Pick<SseEvent, 'data'>): Fields {
  if (data === '') {
    return {};
  }
  if (data === '[DONE]') {
    return doneMarker;
  }
  try {
    return fieldsOf(JSON.parse(data));
  } catch {
    return {};
  }
}

/**
 * OpenAI sends the usage in a last chunk without choices; other providers in the last chunk with choices, or, as the count so far,
 * in every chunk.
 */
function chatStream(boundOf: OutputBound): StreamUsage {
  let usage: CallUsage | undefined;
  let isOutputEnded = false;
  let outputBound = 0;
  let responseId: string | undefined;
  let isReasoningHidden: boolean | undefined;
  return {
    read(chunk) {
      responseId ??= responseIdOf(chunk);
      isReasoningHidden ??= isHiddenIn(chunk.model);
      isOutputEnded ||= chunk === doneMarker;
      const reported = chunk.usage == null ? undefined : usageOf('chat', chunk.usage, chunk.service_tier);
      usage = reported ?? usage;
      const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
      for (const choice of choices) {
        const { delta, finish_reason: reason } = fieldsOf(choice);
        outputBound += boundOfText(delta, boundOf);
        isOutputEnded ||= reason != null;
      }
      const isUsageChunk = reported !== undefined && choices.length === 0;
      isOutputEnded ||= isUsageChunk;
      return isUsageChunk;
    },
    addOutput(bound) {
      outputBound += bound;
    },
    usage: () => usage,
    get isFinal() {
      return usage !== undefined && isOutputEnded;
    },
    get responseId() {
      return responseId;
    },
    get outputBound() {
      return Math.ceil(outputBound);
    },
    get isReasoningHidden() {
      return isReasoningHidden === true;
    },
  };
}

const responsesEnds = new Set(['response.completed', 'response.incomplete', 'response.failed']);

function responsesStream(boundOf: OutputBound): StreamUsage {
  let usage: CallUsage | undefined;
  let outputBound = 0;
  let responseId: string | undefined;
  let isReasoningHidden: boolean | undefined;
  return {
    read(event) {
      if (event.response !== undefined) {
        const response = fieldsOf(event.response);
        responseId ??= responseIdOf(response);
        isReasoningHidden ??= isHiddenIn(response.model);
      }
      if (typeof event.type === 'string' && responsesEnds.has(event.type)) {
        const response = fieldsOf(event.response);
        usage = usageOf('responses', response.usage, response.service_tier) ?? usage;
      } else if (typeof event.delta === 'string') {
        outputBound += boundOf(event.delta);
      }
      return false;
    },
    addOutput(bound) {
      outputBound += bound;
    },
    usage: () => usage,
    get isFinal() {
      return usage !== undefined;
    },
    get responseId() {
      return responseId;
    },
    get outputBound() {
      return Math.ceil(outputBound);
    },
    get isReasoningHidden() {
      return isReasoningHidden === true;
    },
  };
}

/** `message_start` has the input; `message_delta` events have cumulative counts, of which the last is final. */
function messagesStream(boundOf: OutputBound): StreamUsage {
  let counts: MessagesCounts | undefined;
  let isFinal = false;
  let outputBound = 0;
  let responseId: string | undefined;
  let isReasoningHidden: boolean | undefined;
  return {
    read(event) {
      switch (event.type) {
        case 'message_start': {
          const message = fieldsOf(event.message);
          counts = messagesCounts(message.usage, counts);
          responseId ??= responseIdOf(message);
          isReasoningHidden ??= isHiddenIn(message.model);
          break;
        }
        case 'message_delta':
          counts = messagesCounts(event.usage, counts);
          isFinal = true;
          break;
        case 'content_block_start':
          outputBound += boundOfText(event.content_block, boundOf);
          break;
        case 'content_block_delta':
          outputBound += boundOfText(event.delta, boundOf);
          break;
      }
      return false;
    },
    addOutput(bound) {
      outputBound += bound;
    },
    usage: () => counts && usageOfCounts(counts),
    get isFinal() {
      return isFinal;
    },
    get responseId() {
      return responseId;
    },
    get outputBound() {
      return Math.ceil(outputBound);
    },
    get isReasoningHidden() {
      return isReasoningHidden === true;
    },
  };
}

function isHiddenIn(model: unknown): boolean | undefined {
  return typeof model === 'string' ? hidesReasoning(model) : undefined;
}

/** Returns the bound of all text in a value, at any depth: text, reasoning, names and arguments of tools. */
function boundOfText(value: unknown, boundOf: OutputBound): number {
  if (typeof value === 'string') {
    return boundOf(value);
  }
  if (typeof value !== 'object' || value === null) {
    return 0;
  }
  let bound = 0;
  for (const inner of Object.values(value)) {
    bound += boundOfText(inner, boundOf);
  }
  return bound;
}
