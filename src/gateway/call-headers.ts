/** The headers of a response: those of the provider, and what Purser says about the call. */
import { formatUsd } from '../kernel/money.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { ProviderResponse } from './forward/provider-client.ts';
import { responseHeaders } from './forward/provider-headers.ts';
import { outputCap } from './hold-coverage.ts';

export function callHeaders(
  { plan, admitted }: AdmittedRequest,
  { headers }: ProviderResponse,
  attempts: number,
): Record<string, string | string[]> {
  const isFitted = outputCap(plan, admitted) < plan.maxOutputTokens;
  return {
    ...responseHeaders(headers),
    'x-svc-run-id': admitted.runId ?? admitted.decisionId,
    'x-svc-held-usd': formatUsd(admitted.heldNanos),
    ...(admitted.remainingNanos !== undefined && {
      'x-svc-remaining-usd': formatUsd(admitted.remainingNanos),
    }),
    'x-svc-model': plan.model,
    'x-svc-attempts': String(attempts),
    ...(isFitted && {
      'x-svc-fitted-max-tokens': String(Math.floor(admitted.maxOutputTokens / plan.call.choices)),
    }),
  };
}
