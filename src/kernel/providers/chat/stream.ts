/** Reads the chunks of a streamed chat. */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { openAiUsage } from '../openai-usage.ts';
import { searchesOfModel, withServerTools } from '../server-tools.ts';
import { boundOfText, doneMarker, largerUsage, type OutputBound, StreamReader } from '../stream-usage.ts';

/**
 * Reads a stream of chat completions. OpenAI sends the usage in a last chunk without choices; other providers send it in the last chunk
 * with choices, or in every chunk as the count so far.
 */
export class ChatStream extends StreamReader {
  readonly #choices: number;
  readonly #ended = new Set<unknown>();
  #isOutputEnded = false;
  /** True once a chunk had choices. A stream without choices has another form, and all of its text may be output. */
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
    // Groq sends the usage also in `x_groq`, even if the request did not ask for it.
    const usage = chunk.usage ?? (chunk.x_groq == null ? undefined : fieldsOf(chunk.x_groq).usage);
    const reported = usage == null ? undefined : openAiUsage(usage, this.#serviceTier);
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

export function repeatedText({ usage, choices }: Fields): string | undefined {
  if (usage != null || !Array.isArray(choices) || choices.length !== 1) {
    return undefined;
  }
  const { delta, finish_reason: reason } = fieldsOf(choices[0]);
  const names = Object.keys(fieldsOf(delta));
  return reason == null && names.length === 1 && typeof fieldsOf(delta).content === 'string'
    ? 'content'
    : undefined;
}
