/** A streamed chat completion: each choice ends with a finish reason, and the stream with `[DONE]`. */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { OpenStream, StreamedCall } from '../open-stream.ts';
import { doneMarker } from '../stream-usage.ts';
import { unnamedEvent } from '../write-event.ts';

/** SDKs read these members from the last chunk, so the chunks that the gateway writes repeat them. */
const repeatedFields = ['id', 'object', 'created', 'model', 'system_fingerprint', 'service_tier'] as const;
const done = 'data: [DONE]\n\n';

export function createOpenChat({
  choices,
  includesUsage,
}: Pick<StreamedCall, 'choices' | 'includesUsage'>): OpenStream {
  let head: Fields = {};
  const open = new Set<number>();
  const ended = new Set<number>();
  let isDone = false;
  const chunk = (fields: object) => unnamedEvent({ ...head, ...fields });
  return {
    read(event) {
      isDone ||= event === doneMarker;
      if (!Array.isArray(event.choices)) {
        return;
      }
      if (head.id === undefined) {
        head = Object.fromEntries(
          repeatedFields.flatMap((name) => (event[name] === undefined ? [] : [[name, event[name]]])),
        );
      }
      for (const choice of event.choices) {
        const { index, finish_reason: reason } = fieldsOf(choice);
        const number = typeof index === 'number' ? index : 0;
        if (reason != null) {
          open.delete(number);
          ended.add(number);
        } else if (!ended.has(number)) {
          open.add(number);
        }
      }
    },
    get isOutputEnded() {
      return ended.size >= choices && open.size === 0;
    },
    rest: () => (isDone ? '' : done),
    truncated(usage) {
      const withNull = includesUsage ? { usage: null } : {};
      // Choices of which the provider had sent nothing end too.
      const unended = Array.from({ length: choices }, (_, index) => index).filter(
        (index) => !ended.has(index),
      );
      const ends = [...new Set([...open, ...unended])].map((index) =>
        chunk({ choices: [{ index, delta: {}, finish_reason: 'length' }], ...withNull }),
      );
      return ends.join('') + (includesUsage ? chunk({ choices: [], usage: usageFields(usage) }) : '') + done;
    },
    failed: (message, code) => unnamedEvent({ error: { message, type: 'api_error', param: null, code } }),
  };
}

function usageFields({ inputTokens, outputTokens, cachedInputTokens }: CallUsage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  };
}
