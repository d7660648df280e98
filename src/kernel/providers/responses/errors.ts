/** Errors of the Responses API. Codex needs a special answer to a denial: it shows that one properly and does not retry. */
import type { ErrorFormat } from '../call-format.ts';
import { openAiErrors } from '../openai-errors.ts';
import { messageOf, resetTimeOf, type ShownError } from '../shown-error.ts';

const isCodex = /^codex/i;

export const responsesErrors: ErrorFormat = {
  bodyOf: openAiErrors.bodyOf,
  limitReplyOf: ({ 'user-agent': userAgent, originator }, shown) =>
    isCodex.test(String(userAgent ?? '')) || isCodex.test(String(originator ?? ''))
      ? { status: 429, body: { error: limitReached(shown) } }
      : undefined,
};

function limitReached(shown: ShownError): object {
  const resetsAt = resetTimeOf(shown);
  return {
    type: 'usage_limit_reached',
    message: messageOf(shown),
    code: shown.code,
    ...(resetsAt !== undefined && { resets_at: Math.ceil(new Date(resetsAt).getTime() / 1_000) }),
    details: shown.details,
  };
}
