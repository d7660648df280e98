/** Assembles a streamed response: its last event contains the whole of it. */
import { type Fields, fieldsOf } from '../fields.ts';
import {
  type AssembledStream,
  type AssemblyFormat,
  openAiErrorStatus,
  type StreamAssembly,
} from '../stream-assembly.ts';

const ends = new Set<unknown>(['response.completed', 'response.incomplete']);

export const responsesAssembly: AssemblyFormat = {
  // A plain request must not have options of a stream.
  mayAssemble: ({ stream_options: options }) => options === undefined,
  start: () => new ResponsesAssembly(),
};

class ResponsesAssembly implements StreamAssembly {
  #response: object | undefined;
  #error: Fields | undefined;
  /** Number of items that were completed before. */
  #items = 0;

  read(event: Fields): void {
    if (ends.has(event.type)) {
      this.#response ??= fieldsOf(event.response);
    } else if (event.type === 'response.output_item.done') {
      this.#items += 1;
    } else if (event.type === 'response.failed') {
      this.#error ??= fieldsOf(fieldsOf(event.response).error);
    } else if (event.type === 'error') {
      this.#error ??= event.error == null ? event : fieldsOf(event.error);
    }
  }

  result(): AssembledStream {
    if (this.#error !== undefined) {
      const { message = 'The response has failed.', code = null, param = null, type } = this.#error;
      const status = openAiErrorStatus(this.#error);
      const named = type === undefined || type === 'error' ? errorTypeOf(status) : type;
      return { kind: 'error', status, body: { error: { message, type: named, param, code } } };
    }
    if (this.#response === undefined) {
      return { kind: 'unended' };
    }
    const { output } = this.#response as { readonly output?: unknown };
    // Some hosts leave the output out of the last event.
    return this.#items > (Array.isArray(output) ? output.length : 0)
      ? { kind: 'unknown', part: 'response.output_item.done' }
      : { kind: 'response', body: this.#response };
  }
}

function errorTypeOf(status: number): string {
  return status === 400 ? 'invalid_request_error' : status === 429 ? 'rate_limit_error' : 'server_error';
}
