/** Reads the events of a streamed message. */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { boundOfText, StreamReader } from '../stream-usage.ts';
import { isCount } from '../usage-counts.ts';
import { type MessagesCounts, messagesCounts, usageOfCounts } from './usage.ts';

/** `message_start` has the input; `message_delta` events have cumulative counts, of which the last is final. */
export class MessagesStream extends StreamReader {
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
        this.tally.add(event.content_block);
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
        // An event of another format.
        this.addOutput(boundOfText(event, this.boundOf));
        break;
    }
    return false;
  }

  #readUsage(usage: unknown): void {
    this.#counts = messagesCounts(usage, this.#counts);
    this.#hasInput ||= isCount(fieldsOf(usage).input_tokens);
  }

  /** Returns undefined until the input was counted, because the input would be free otherwise. */
  usage(): CallUsage | undefined {
    return this.#counts && this.#hasInput ? usageOfCounts(this.#counts) : undefined;
  }

  get isFinal(): boolean {
    return this.#hasInput && this.#hasOutput && this.isReportCurrent;
  }
}
