/** A streamed message of Anthropic: content blocks, then `message_delta` with the stop reason, then `message_stop`. */
import { fieldsOf } from '../fields.ts';
import type { OpenStream } from '../open-stream.ts';
import { namedEvent } from '../write-event.ts';

const endedThinking =
  'The call was ended while the model was thinking, because no limit allows to hold more for it.';

export function createOpenMessage(): OpenStream {
  const openBlocks = new Set<unknown>();
  /** Blocks of reasoning without their signature. The provider rejects every later request that contains one. */
  const unsignedBlocks = new Set<unknown>();
  let isStarted = false;
  let isOutputEnded = false;
  let isStopped = false;
  return {
    read(event) {
      isStarted ||= event.type === 'message_start';
      switch (event.type) {
        case 'content_block_start':
          openBlocks.add(event.index);
          if (fieldsOf(event.content_block).type === 'thinking') {
            unsignedBlocks.add(event.index);
          }
          break;
        case 'content_block_stop':
          openBlocks.delete(event.index);
          unsignedBlocks.delete(event.index);
          break;
        case 'message_delta':
          isOutputEnded = true;
          break;
        case 'message_stop':
          isStopped = true;
          break;
      }
    },
    get isOutputEnded() {
      return isOutputEnded;
    },
    rest: () => (isStopped ? '' : namedEvent('message_stop', {})),
    truncated({ inputTokens, outputTokens }) {
      if (unsignedBlocks.size > 0) {
        return namedEvent('error', {
          error: { type: 'billing_error', message: endedThinking, code: 'hold_denied' },
        });
      }
      const start = isStarted ? '' : emptyMessage(inputTokens);
      const stops = [...openBlocks].map((index) => namedEvent('content_block_stop', { index }));
      const delta = { stop_reason: 'max_tokens', stop_sequence: null };
      return (
        start +
        stops.join('') +
        namedEvent('message_delta', { delta, usage: { output_tokens: outputTokens } }) +
        namedEvent('message_stop', {})
      );
    },
    failed: (message) => namedEvent('error', { error: { type: 'api_error', message } }),
  };
}

/** Returns the start of a message of which the provider had sent nothing. */
function emptyMessage(inputTokens: number): string {
  return namedEvent('message_start', {
    message: {
      id: 'msg_truncated',
      type: 'message',
      role: 'assistant',
      model: '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: inputTokens, output_tokens: 0 },
    },
  });
}
