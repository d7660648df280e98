/** A streamed answer of Bedrock: blocks of content, then `messageStop` with the reason, then `metadata` with the usage. */
import { fieldsOf } from '../fields.ts';
import type { OpenStream } from '../open-stream.ts';
import { unnamedEvent } from '../write-event.ts';

const endedThinking =
  'The call was ended while the model was thinking, because no limit allows to hold more for it.';

export function createOpenConverse(): OpenStream {
  const openBlocks = new Set<unknown>();
  /** Blocks of reasoning without their signature. Models reject every later request that contains one. */
  const unsigned = new Set<unknown>();
  let isStarted = false;
  let isOutputEnded = false;
  return {
    read(event) {
      isStarted ||= event.messageStart !== undefined;
      isOutputEnded ||= event.messageStop !== undefined;
      const { contentBlockIndex: index } = fieldsOf(
        event.contentBlockStart ?? event.contentBlockDelta ?? event.contentBlockStop,
      );
      if (event.contentBlockStop !== undefined) {
        openBlocks.delete(index);
        unsigned.delete(index);
      } else if (index !== undefined) {
        openBlocks.add(index);
        const { reasoningContent } = fieldsOf(fieldsOf(event.contentBlockDelta).delta);
        if (fieldsOf(reasoningContent).text !== undefined) {
          unsigned.add(index);
        }
      }
    },
    get isOutputEnded() {
      return isOutputEnded;
    },
    rest: () => '',
    truncated({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }) {
      if (unsigned.size > 0) {
        return unnamedEvent({ validationException: { message: endedThinking } });
      }
      const stops = [...openBlocks].map((contentBlockIndex) =>
        unnamedEvent({ contentBlockStop: { contentBlockIndex } }),
      );
      const usage = {
        inputTokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        ...(cachedInputTokens > 0 && { cacheReadInputTokens: cachedInputTokens }),
        ...(cacheWriteTokens > 0 && { cacheWriteInputTokens: cacheWriteTokens }),
      };
      return [
        ...(isStarted ? [] : [unnamedEvent({ messageStart: { role: 'assistant' } })]),
        ...stops,
        unnamedEvent({ messageStop: { stopReason: 'max_tokens' } }),
        unnamedEvent({ metadata: { usage, metrics: { latencyMs: 0 } } }),
      ].join('');
    },
    failed: (message) => unnamedEvent({ internalServerException: { message } }),
  };
}
