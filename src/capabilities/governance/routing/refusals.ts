/** What to answer where no model is left: the code of whatever took the last of them away. */
import { ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import type { ExcludedCandidate, Routed } from '../../../kernel/routing.ts';
import type { PolicyCheck } from '../policies/index.ts';
import type { Options, RouteCall } from './options.ts';

/** What a limit has against a model, as it would be answered, and how to tell whoever listens that it refused. */
export interface MoneyRefusal {
  readonly error: ApiError;
  tell(): void;
}

/** `moneyRefusals`: what limits have against each model. */
export async function refusalOf(
  { policies }: { readonly policies: PolicyCheck },
  call: RouteCall,
  { candidates }: Options,
  { emptiedBy, passedOver }: Routed,
  moneyRefusals: ReadonlyMap<string, MoneyRefusal>,
): Promise<ApiError> {
  const last = passedOver.filter(({ stage }) => stage === emptiedBy);
  // The one that the objective would have preferred is the one to speak of.
  const [best] = last;
  const model = best?.candidate.model;
  switch (emptiedBy) {
    case 'policies':
      return refuseByPolicy(
        policies,
        call,
        candidates.filter(({ candidate }) => candidate.model === model),
      );
    case 'residency':
      return apiError('residency_violation', `No candidate is known to be served there: ${namesOf(last)}.`);
    case 'size':
      return invalidField(
        best?.reason === 'output_too_long' ? 'max_output_tokens' : 'input_tokens',
        'out_of_range',
        `No candidate takes so many tokens: ${namesOf(last)}.`,
      );
    case 'capabilities':
      return invalidField(
        'capabilities',
        'invalid_value',
        `No candidate is known to be able to all of this: ${namesOf(last)}.`,
      );
    case 'money': {
      const refused = moneyRefusals.get(model ?? '');
      refused?.tell();
      return refused?.error ?? apiError('service_unavailable');
    }
    case 'evaluation':
      return apiError('no_model_passes_eval', `No candidate meets the eval bar: ${reasonsOf(last)}.`);
    default:
      return apiError('conflict', 'None of the candidates of the routing policy has a price.');
  }
}

/** Only now does the refusal count: whoever listens is told, and an approval is asked for. */
async function refuseByPolicy(
  policies: PolicyCheck,
  { caller, now }: RouteCall,
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
      ? 'This is approved for a run, and a hold does not use an approval up: post the run itself.'
      : message,
    details,
  );
}

const namesShown = 5;

function namesOf(passedOver: readonly ExcludedCandidate[]): string {
  const names = passedOver.slice(0, namesShown).map(({ candidate }) => candidate.model);
  const more = passedOver.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function reasonsOf(passedOver: readonly ExcludedCandidate[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of passedOver) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `${count} ${reason}`).join(', ');
}
