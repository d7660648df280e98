/** What the books refuse, as the contract words it. */

import {
  ApiError,
  apiError,
  apiErrorWithDetails,
  apiErrorWithStatus,
  invalidField,
} from '../contract/api-error.ts';
import type { Denial } from '../kernel/denial.ts';
import { throwIfErased } from '../platform/http/pipeline/idempotency.ts';
import type { Replay } from './holds/hold-keys.ts';
import type { PostingRejection } from './posting.ts';

/** On the edge every exhausted quota is 402, so that a proxy can relay it without asking which kind it was. */
export function denialError(denial: Denial, surface: 'edge' | 'run'): ApiError {
  switch (denial.code) {
    case 'quota_exhausted': {
      const status = denial.details.quota_kind === 'window' && surface === 'run' ? 429 : 402;
      return apiErrorWithStatus(denial.code, status, denial.details);
    }
    case 'chain_budget_exceeded':
      return apiErrorWithStatus(denial.code, denial.details.reason === 'depth' ? 429 : 402, denial.details);
    case 'spend_cap_exceeded':
      return apiErrorWithDetails(denial.code, denial.details);
    case 'budget_exceeded':
      return apiErrorWithDetails(denial.code, denial.details);
    case 'plan_limit_exceeded':
      return apiErrorWithDetails(denial.code, denial.details);
    case 'credits_exhausted':
      return apiErrorWithDetails(denial.code, denial.details);
  }
}

/** The same, saying which run of a bulk request it was. */
export function ofRun({ code, status, message, details }: ApiError, index: number): ApiError {
  return new ApiError(code, status, message, { ...details, run_index: index });
}

/** The response that a key has kept, or why there is none. */
export function replayedResponse(replay: Replay): { readonly text: string; readonly replayed: true } {
  switch (replay.kind) {
    case 'replayed':
      return { text: replay.response, replayed: true };
    case 'answer_erased':
      throw throwIfErased();
    case 'key_conflict':
      throw apiError('idempotency_key_conflict');
  }
}

/** What lies with the books. A permit is its giver's to speak of. */
export type PostingErrorCause = Exclude<PostingRejection, { kind: 'permit_spent' }>;

/** `pathOf` names a field of the run at an index; a bulk request also says which run it was. */
export function postingError(refused: PostingErrorCause, bulk: boolean): ApiError {
  const pathOf = (field: string) => (bulk ? `runs[${refused.index}].${field}` : field);
  switch (refused.kind) {
    case 'denied': {
      const error = denialError(refused.denial, 'run');
      return bulk ? ofRun(error, refused.index) : error;
    }
    case 'unknown_decision':
      return invalidField(pathOf('decision_id'), 'invalid_value', 'There is no such decision.');
    case 'settled_already':
      return apiError('conflict', 'The decision was settled by another run.');
    case 'external_id_conflict': {
      const refusal = apiError('conflict', 'Another run has this `external_id`, with other content.');
      return bulk ? ofRun(refusal, refused.index) : refusal;
    }
    case 'contradiction':
      return invalidField(
        pathOf(refused.field),
        'invalid_value',
        'This is not what the decision was made for.',
      );
  }
}
