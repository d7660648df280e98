/** Reads the events of `ConverseStream`. The type of each is the name of its only member. */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { boundOfText, largerUsage, StreamReader } from '../stream-usage.ts';
import { calledTool } from './tools.ts';
import { converseUsage } from './usage.ts';

const knownEvents = new Set(['messageStart', 'contentBlockStop', 'messageStop', 'metadata']);

export class ConverseStream extends StreamReader {
  #usage: CallUsage | undefined;
  #isStopped = false;

  read(event: Fields): boolean {
    for (const [type, value] of Object.entries(event)) {
      const fields = fieldsOf(value);
      if (type === 'contentBlockStart') {
        const { toolUse, ...others } = fieldsOf(fields.start);
        const { toolUseId: _, ...shown } = fieldsOf(toolUse);
        this.addOutput(boundOfText([shown, others], this.boundOf));
        this.tally.add(calledTool({ toolUse }));
      } else if (type === 'contentBlockDelta') {
        this.addOutput(boundOfText(fields.delta, this.boundOf));
      } else if (type.endsWith('Exception')) {
        this.hasFailed = true;
      } else if (!knownEvents.has(type) && !type.startsWith('amazon-bedrock-')) {
        // An event that is not known may be output.
        this.addOutput(boundOfText(value, this.boundOf));
      }
      this.#isStopped ||= type === 'messageStop';
      if (type === 'metadata') {
        this.#readUsage(value);
      }
    }
    return false;
  }

  #readUsage(metadata: unknown): void {
    const reported = converseUsage(metadata);
    if (reported !== undefined) {
      this.#usage = largerUsage(reported, this.#usage);
      this.markReported();
    }
  }

  usage(): CallUsage | undefined {
    return this.#usage;
  }

  get isFinal(): boolean {
    return this.#usage !== undefined && this.#isStopped && this.isReportCurrent;
  }
}
