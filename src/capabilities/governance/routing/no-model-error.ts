/** Builds the error for a request without any remaining model, according to the filter that rejected the last candidates. */
import { ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import type { ExcludedCandidate, Routed } from '../../../kernel/routing.ts';
import type { PolicyCheck } from '../policies/index.ts';
import type { Options, RoutingCall } from './options.ts';

/** A limit's denial of a model: the error, and a function that emits the event for it. */
export interface LimitDenial {
  readonly error: ApiError;
  emitEvent(): void;
}

/** Returns the error. `limitDenials` has the denials by model. */
export async function noModelError(
  { policies }: { readonly policies: PolicyCheck },
  call: RoutingCall,
  { candidates }: Options,
  { emptiedBy, passedOver: rejected }: Routed,
  limitDenials: ReadonlyMap<string, LimitDenial>,
): Promise<ApiError> {
  const last = rejected.filter(({ stage }) => stage === emptiedBy);
  // The objective's preferred candidate determines the error.
  const [best] = last;
  const model = best?.candidate.model;
  switch (emptiedBy) {
    case 'policies':
      return policyError(
        policies,
        call,
        candidates.filter(({ candidate }) => candidate.model === model),
      );
    case 'residency':
      return apiError(
        'residency_violation',
        `No candidate is known to be served in the required region: ${namesOf(last)}.`,
      );
    case 'size':
      return invalidField(
        best?.reason === 'output_too_long' ? 'max_output_tokens' : 'input_tokens',
        'out_of_range',
        `No candidate supports this number of tokens: ${namesOf(last)}.`,
      );
    case 'capabilities':
      return invalidField(
        'capabilities',
        'invalid_value',
        `No candidate is known to have all of these capabilities: ${namesOf(last)}.`,
      );
    case 'money': {
      const denial = limitDenials.get(model ?? '');
      denial?.emitEvent();
      return denial?.error ?? apiError('service_unavailable');
    }
    case 'evaluation':
      return apiError(
        'no_model_passes_eval',
        `No candidate meets the minimum eval score: ${reasonsOf(last)}.`,
      );
    default:
      return apiError('conflict', 'No candidate of the routing policy has a price.');
  }
}

/** Repeats the policy check with its side effects: it emits events and requests an approval. */
async function policyError(
  policies: PolicyCheck,
  { caller, now }: RoutingCall,
  [option]: Options['candidates'],
): Promise<ApiError> {
  if (option === undefined) {
    return apiError('service_unavailable');
  }
  const request = {
    orgId: caller.tenantId,
    now,
    attempts: [option.attempt],
    bulk: false,
    isKnown: async () => false,
  };
  try {
    await policies.check(request);
  } catch (error) {
    if (error instanceof ApiError) {
      return error;
    }
    throw error;
  }
  const { code, status, message, details } = await policies.permitSpentError(request, 0);
  return new ApiError(
    code,
    status,
    code === 'policy_approval_required'
      ? 'The approval is for a run, and a hold cannot use it. Post the run itself.'
      : message,
    details,
  );
}

const namesShown = 5;

function namesOf(rejected: readonly ExcludedCandidate[]): string {
  const names = rejected.slice(0, namesShown).map(({ candidate }) => candidate.model);
  const more = rejected.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function reasonsOf(rejected: readonly ExcludedCandidate[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of rejected) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `${count} ${reason}`).join(', ');
}
