/** Reads the usage of a response that was received as a whole: JSON, or the events of a stream that was not announced as one. */
import {
  type CallUsage,
  hasTokens,
  modelIn,
  responseIdOf,
  type ServerTools,
  type Shape,
  usageOfBody,
} from '../../kernel/providers/call-usage.ts';
import { type Fields, fieldsOf } from '../../kernel/providers/fields.ts';
import { callsIn } from '../../kernel/providers/server-tools.ts';
import { eventOf, withoutMark } from '../../kernel/providers/sse-reader.ts';
import { boundOfText, createStreamUsage, dataOf } from '../../kernel/providers/stream-usage.ts';
import { bytesOf } from '../usage/output-bound.ts';

export interface ReceivedText {
  readonly usage: CallUsage | undefined;
  readonly isFinal: boolean;
  /** Bytes of the output. */
  readonly outputBytes: number;
  readonly responseId: string | undefined;
  /** The model that the response names. */
  readonly servedModel: string | undefined;
  /** Calls of tools of the provider, by unit. */
  readonly toolCalls: ServerTools;
}

/** A stream starts with a field or a comment, maybe after a byte order mark. No JSON does. */
const startOfEvents = /^\ufeff?\s*(?:data|event|id|retry)?:/;

export function receivedOf(shape: Shape, text: string, choices: number): ReceivedText {
  return startOfEvents.test(text) ? ofEvents(shape, text, choices) : ofJson(shape, fieldsOf(parsed(text)));
}

function ofEvents(shape: Shape, text: string, choices: number): ReceivedText {
  const usage = createStreamUsage(shape, bytesOf, choices);
  for (const event of text.split(/(?:\r\n|\r|\n){2}/)) {
    usage.read(dataOf(eventOf(noBytes, event)));
  }
  const { isFinal, outputBound, responseId, servedModel, toolCalls } = usage;
  return { usage: usage.usage(), isFinal, outputBytes: outputBound, responseId, servedModel, toolCalls };
}

const noBytes = Buffer.alloc(0);

function ofJson(shape: Shape, answer: Fields): ReceivedText {
  const usage = usageOfBody(shape, answer);
  return {
    usage,
    isFinal: usage !== undefined,
    // Only counted if the usage is not known.
    outputBytes: usage === undefined || !hasTokens(usage) ? boundOfText(outputIn(shape, answer), bytesOf) : 0,
    responseId: responseIdOf(answer),
    servedModel: modelIn(answer),
    toolCalls: callsIn(outputIn(shape, answer)),
  };
}

function outputIn(shape: Shape, { choices, output, content }: Fields): unknown {
  switch (shape) {
    case 'chat':
      return choices;
    case 'responses':
      return output;
    case 'messages':
      return content;
    default:
      // The vectors of embeddings are not charged.
      return undefined;
  }
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(withoutMark(text));
  } catch {
    return undefined;
  }
}
