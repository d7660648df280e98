/** Reads the chunks of `streamGenerateContent`. Each is a response with the next part of the answer and the usage so far. */
import type { CallUsage } from '../call-usage.ts';
import type { Fields } from '../fields.ts';
import { boundOfText, largerUsage, type OutputBound, StreamReader } from '../stream-usage.ts';
import { GroundingTally } from './grounding.ts';
import { outputOf } from './output.ts';
import { candidatesOf, usageOfMetadata } from './usage.ts';

export class GeminiStream extends StreamReader {
  readonly #choices: number;
  readonly #ended = new Set<unknown>();
  readonly #grounding = new GroundingTally();
  #isBlocked = false;
  #usage: CallUsage | undefined;

  constructor(boundOf: OutputBound, choices: number) {
    super(boundOf);
    this.#choices = choices;
  }

  read(chunk: Fields): boolean {
    this.readResponse(chunk);
    this.hasFailed ||= chunk.error != null;
    this.#isBlocked ||= chunk.promptFeedback != null && chunk.candidates === undefined;
    if (
      !('candidates' in chunk || 'usageMetadata' in chunk || 'promptFeedback' in chunk) &&
      !this.hasFailed
    ) {
      // A chunk of another format, all of which may be output.
      this.addOutput(boundOfText(chunk, this.boundOf));
    }
    for (const candidate of candidatesOf(chunk)) {
      const { parts, mediaTokens } = outputOf(candidate);
      this.addOutput(boundOfText(parts, this.boundOf) + mediaTokens);
      this.#grounding.add(candidate);
      if (candidate.finishReason == null) {
        this.#ended.delete(candidate.index ?? 0);
      } else {
        this.#ended.add(candidate.index ?? 0);
      }
    }
    this.serverTools = this.#grounding.callsOf(this.servedModel);
    const reported = usageOfMetadata(chunk.usageMetadata, this.serverTools);
    if (reported !== undefined) {
      this.#usage = largerUsage(reported, this.#usage);
      this.markReported();
    }
    return false;
  }

  usage(): CallUsage | undefined {
    return this.#usage;
  }

  get isFinal(): boolean {
    const isEnded = this.#isBlocked || this.#ended.size >= this.#choices;
    return this.#usage !== undefined && isEnded && this.isReportCurrent;
  }
}
