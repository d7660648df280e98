/** The events with which the gateway ends a stream itself: after a failure, or when its hold cannot be increased. */
import type { Shape } from '../usage/call-usage.ts';

/** Returns the event that tells the client that the stream has failed. */
export function errorEvent(shape: Shape, message: string): string {
  switch (shape) {
    case 'messages':
      return named('error', { type: 'error', error: { type: 'api_error', message } });
    case 'responses':
      return named('error', { type: 'error', code: 'stream_interrupted', message, param: null });
    default:
      return unnamed({ error: { message, type: 'api_error', param: null, code: 'stream_interrupted' } });
  }
}

function named(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function unnamed(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Returns the events that end a stream as if the maximum output had been reached. */
export function truncatedEnding(shape: Shape, model: string, id: string, outputTokens: number): string {
  switch (shape) {
    case 'messages':
      return (
        named('message_delta', {
          type: 'message_delta',
          delta: { stop_reason: 'max_tokens', stop_sequence: null },
          usage: { output_tokens: outputTokens },
        }) + named('message_stop', { type: 'message_stop' })
      );
    case 'responses':
      return named('response.incomplete', {
        type: 'response.incomplete',
        response: {
          id,
          object: 'response',
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          model,
          output: [],
        },
      });
    default:
      return `${unnamed({
        id,
        object: 'chat.completion.chunk',
        created: 0,
        model,
        choices: [{ index: 0, delta: {}, finish_reason: 'length' }],
      })}data: [DONE]\n\n`;
  }
}
