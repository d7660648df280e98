/** Reads the usage of a response that was received as a whole: JSON, or the events of a stream that was not announced as one. */
import type { ResponseFormat } from '../../kernel/providers/call-format.ts';
import {
  type CallUsage,
  hasTokens,
  modelIn,
  responseIdOf,
  type ServerTools,
} from '../../kernel/providers/call-usage.ts';
import { type Fields, fieldsOf } from '../../kernel/providers/fields.ts';
import { callsIn } from '../../kernel/providers/server-tools.ts';
import { eventOf, withoutMark } from '../../kernel/providers/sse-reader.ts';
import { boundOfText, dataOf } from '../../kernel/providers/stream-usage.ts';
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

export function receivedOf(format: ResponseFormat, text: string, choices: number): ReceivedText {
  return startOfEvents.test(text) ? ofEvents(format, text, choices) : ofJson(format, fieldsOf(parsed(text)));
}

function ofEvents(format: ResponseFormat, text: string, choices: number): ReceivedText {
  const usage = format.readStream(bytesOf, choices);
  for (const event of text.split(/(?:\r\n|\r|\n){2}/)) {
    usage.read(dataOf(eventOf(noBytes, event)));
  }
  const { isFinal, outputBound, responseId, servedModel, toolCalls } = usage;
  return { usage: usage.usage(), isFinal, outputBytes: outputBound, responseId, servedModel, toolCalls };
}

const noBytes = Buffer.alloc(0);

function ofJson(format: ResponseFormat, answer: Fields): ReceivedText {
  const usage = format.usageOf(answer);
  const output = format.outputIn(answer);
  return {
    usage,
    isFinal: usage !== undefined,
    // Only counted if the usage is not known.
    outputBytes: usage === undefined || !hasTokens(usage) ? boundOfText(output, bytesOf) : 0,
    responseId: responseIdOf(answer),
    servedModel: modelIn(answer),
    toolCalls: callsIn(output),
  };
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(withoutMark(text));
  } catch {
    return undefined;
  }
}
