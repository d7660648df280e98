/** Reads the usage of a complete response: JSON, or a stream of events that was not announced as one. */
import type { ResponseFormat } from './call-format.ts';
import { type CallUsage, countsOutput, modelIn, responseIdOf, type ServerTools } from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { callsIn } from './server-tools.ts';
import { eventOf, withoutMark } from './sse-reader.ts';
import { boundOfText, dataOf, type OutputBound, type StreamUsage } from './stream-usage.ts';

export interface ReceivedText {
  readonly usage: CallUsage | undefined;
  readonly isFinal: boolean;
  /** Upper bound of the output tokens. */
  readonly outputBound: number;
  readonly responseId: string | undefined;
  /** The model that the response names. */
  readonly servedModel: string | undefined;
  /** Calls of tools of the provider, by unit. */
  readonly toolCalls: ServerTools;
}

/** A stream starts with a field or a comment, possibly after a byte order mark. JSON never does. */
const startOfEvents = /^\ufeff?\s*(?:data|event|id|retry)?:/;

export function receivedOf(
  format: ResponseFormat,
  text: string,
  choices: number,
  boundOf: OutputBound,
): ReceivedText {
  return startOfEvents.test(text)
    ? ofEvents(format.readStream(boundOf, choices), text)
    : ofJson(format, fieldsOf(parsed(text)), boundOf);
}

function ofEvents(usage: StreamUsage, text: string): ReceivedText {
  for (const event of text.split(/(?:\r\n|\r|\n){2}/)) {
    usage.read(dataOf(eventOf(noBytes, event)));
  }
  const { isFinal, outputBound, responseId, servedModel, toolCalls } = usage;
  return { usage: usage.usage(), isFinal, outputBound, responseId, servedModel, toolCalls };
}

const noBytes = new Uint8Array();

function ofJson(format: ResponseFormat, answer: Fields, boundOf: OutputBound): ReceivedText {
  const usage = format.usageOf(answer);
  const output = format.outputIn(answer);
  return {
    usage,
    isFinal: usage !== undefined,
    // The output is only counted if the usage does not count it.
    outputBound: usage === undefined || !countsOutput(usage) ? boundOfText(output, boundOf) : 0,
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
