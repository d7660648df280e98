/**
 * Errors of the Responses API. Codex needs a special answer to a denial: it shows that one properly and does not retry. It also shows
 * how much of a limit is used, from headers.
 */
import type { LimitUse } from '../../limit-use.ts';
import type { ErrorFormat } from '../call-format.ts';
import type { Fields } from '../fields.ts';
import { openAiErrors } from '../openai-errors.ts';
import { messageOf, resetTimeOf, type ShownError } from '../shown-error.ts';

const isCodex = /^codex/i;

export const responsesErrors: ErrorFormat = {
  bodyOf: openAiErrors.bodyOf,
  headersOf: () => ({}),
  limitReplyOf: (headers, shown) =>
    isFromCodex(headers) ? { status: 429, body: { error: limitReached(shown) } } : undefined,
  limitHeadersOf: (headers, use) => (isFromCodex(headers) ? codexLimit(use) : {}),
};

function isFromCodex({ 'user-agent': userAgent, originator }: Fields): boolean {
  return isCodex.test(String(userAgent ?? '')) || isCodex.test(String(originator ?? ''));
}

/** Codex names the limit by the length of its window, and warns at 75, 90 and 95 %. */
function codexLimit({ percent, window }: LimitUse): Record<string, string> {
  return {
    'x-codex-primary-used-percent': String(percent),
    ...(window !== null && {
      'x-codex-primary-window-minutes': String(Math.round((window.endMs - window.startMs) / 60_000)),
      'x-codex-primary-reset-at': String(Math.ceil(window.endMs / 1_000)),
    }),
  };
}

function limitReached(shown: ShownError): object {
  // Codex shows no message, only this time.
  const resetsAt = shown.retry?.at ?? resetTimeOf(shown);
  return {
    type: 'usage_limit_reached',
    message: messageOf(shown),
    code: shown.code,
    ...(resetsAt !== undefined && { resets_at: Math.ceil(new Date(resetsAt).getTime() / 1_000) }),
    details: shown.details,
  };
}
