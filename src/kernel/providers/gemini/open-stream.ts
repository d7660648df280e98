/** A streamed answer of Gemini: each candidate ends with a finish reason, and the stream with its connection. */
import { modelIn, responseIdOf } from '../call-usage.ts';
import type { OpenStream, StreamedCall } from '../open-stream.ts';
import { unnamedEvent } from '../write-event.ts';
import { googleError } from './errors.ts';
import { candidatesOf } from './usage.ts';

/** The status of a stream that broke off. Clients raise errors for statuses of HTTP alone. */
const interruptedStatus = 503;

export function createOpenGemini({ choices }: Pick<StreamedCall, 'choices'>): OpenStream {
  let responseId: string | undefined;
  let modelVersion: string | undefined;
  let isBlocked = false;
  const open = new Set<number>();
  const ended = new Set<number>();
  return {
    read(event) {
      responseId ??= responseIdOf(event);
      modelVersion ??= modelIn(event);
      isBlocked ||= event.promptFeedback != null && event.candidates === undefined;
      for (const { index, finishReason } of candidatesOf(event)) {
        const number = typeof index === 'number' ? index : 0;
        if (finishReason == null) {
          open.add(number);
          ended.delete(number);
        } else {
          open.delete(number);
          ended.add(number);
        }
      }
    },
    get isOutputEnded() {
      return isBlocked || (ended.size >= choices && open.size === 0);
    },
    rest: () => '',
    truncated({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }) {
      const unended = Array.from({ length: choices }, (_, index) => index).filter(
        (index) => !ended.has(index),
      );
      const thoughts = Math.min(reasoningTokens, outputTokens);
      return unnamedEvent({
        candidates: [...new Set([...open, ...unended])].map((index) => ({
          content: { parts: [{ text: '' }], role: 'model' },
          finishReason: 'MAX_TOKENS',
          index,
        })),
        usageMetadata: {
          promptTokenCount: inputTokens,
          candidatesTokenCount: outputTokens - thoughts,
          totalTokenCount: inputTokens + outputTokens,
          ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
          ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
        },
        modelVersion,
        responseId,
      });
    },
    failed: (message, code) => unnamedEvent({ error: googleError(interruptedStatus, message, code) }),
  };
}
