/** Reads the events of a streamed response. */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { calledTool, callsIn } from '../server-tools.ts';
import { boundOfText, largerUsage, StreamReader } from '../stream-usage.ts';
import { responsesUsage, withToolCalls } from './usage.ts';

const ends = new Set(['response.completed', 'response.incomplete', 'response.failed']);

export class ResponsesStream extends StreamReader {
  #usage: CallUsage | undefined;
  /**
   * Output indexes of the items whose output arrived as deltas; other items arrive as a whole. Contains undefined if a delta named
   * no index.
   */
  readonly #streamed = new Set<unknown>();

  read(event: Fields): boolean {
    const { type } = event;
    if (event.response !== undefined) {
      this.readResponse(fieldsOf(event.response));
    }
    this.hasFailed ||= type === 'response.failed' || type === 'error';
    const isEnd = typeof type === 'string' && ends.has(type);
    if (isEnd || fieldsOf(event.response).usage != null) {
      const { output } = fieldsOf(event.response);
      this.tally.raise(callsIn(output));
      const reported = responsesUsage(event.response);
      if (reported === undefined) {
        this.#addWhole(Array.isArray(output) ? output.filter((_, at) => !this.#isStreamed(at)) : []);
      } else {
        this.#usage = withToolCalls(largerUsage(reported, this.#usage), this.serverTools);
        this.markReported();
      }
    } else if (event.delta != null) {
      this.#streamed.add(event.output_index);
      this.addOutput(boundOfText(event.delta, this.boundOf));
    } else if (type === 'response.output_item.done') {
      if (!this.#isStreamed(event.output_index)) {
        this.#addWhole([event.item]);
      }
      this.tally.add(event.item);
      this.serverTools = this.tally.charged;
    } else if (type === undefined) {
      // An event of another format.
      this.addOutput(boundOfText(event, this.boundOf));
    } else if (event.response === undefined && !this.#isStreamed(event.output_index)) {
      this.addOutput(boundOfText(event.text ?? event.part, this.boundOf));
    }
    return false;
  }

  #isStreamed(position: unknown): boolean {
    return this.#streamed.has(position) || this.#streamed.has(undefined);
  }

  /** Adds the output of whole items. Results of tools are not output of the model. */
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
