/** The headers of a response: those of the provider, and those that Purser adds about the call. */
import { warningOf } from '../kernel/limit-use.ts';
import { formatUsd } from '../kernel/money.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { ProviderResponse } from './forward/provider-client.ts';
import { responseHeaders } from './forward/provider-headers.ts';
import { outputCap } from './hold-coverage.ts';

export function callHeaders(
  { request, operation, plan, admitted }: AdmittedRequest,
  { headers }: ProviderResponse,
  attempts: number,
): Record<string, string | string[]> {
  const returned = responseHeaders(headers);
  returned['x-svc-run-id'] = admitted.runId ?? admitted.decisionId;
  returned['x-svc-held-usd'] = formatUsd(admitted.heldNanos);
  if (admitted.remainingNanos !== undefined) {
    returned['x-svc-remaining-usd'] = formatUsd(admitted.remainingNanos);
  }
  if (admitted.fullest !== undefined) {
    const warning = warningOf(admitted.fullest);
    returned['x-svc-budget-used-percent'] = String(admitted.fullest.percent);
    if (warning !== undefined) {
      returned['x-svc-budget-warning'] = String(warning);
    }
    Object.assign(returned, operation.format.errors.limitHeadersOf(request.headers, admitted.fullest));
  }
  returned['x-svc-model'] = headerText(plan.model);
  returned['x-svc-attempts'] = String(attempts);
  const cap = outputCap(plan, admitted);
  if (cap < plan.wantedOutputTokens) {
    returned['x-svc-fitted-max-tokens'] = String(Math.floor(cap / plan.call.choices));
  }
  return returned;
}

/** Encodes text for a header, because names of models may contain any character. */
function headerText(text: string): string {
  return text.replaceAll(/[^!-$&-~]/gu, encodeURIComponent);
}
