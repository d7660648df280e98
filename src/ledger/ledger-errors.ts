/** Maps denials and rejected postings to API errors. */

import {
  ApiError,
  apiError,
  apiErrorWithDetails,
  apiErrorWithStatus,
  invalidField,
} from '../contract/api-error.ts';
import type { Denial } from '../kernel/denial.ts';
import { denialMessage } from '../kernel/denial-message.ts';
import { erasedResponseError } from '../platform/http/pipeline/idempotency.ts';
import type { Replay } from './holds/hold-keys.ts';
import type { PostingRejection } from './posting.ts';

/** On the edge, every exhausted quota is a 402, so that a proxy can relay the response without looking at the kind of quota. */
export function denialError(denial: Denial, surface: 'edge' | 'run'): ApiError {
  return errorOf(denial, surface).deniedBy(denial.by?.limit.id, denial.by?.key ?? undefined);
}

function errorOf(denial: Denial, surface: 'edge' | 'run'): ApiError {
  switch (denial.code) {
    case 'quota_exhausted': {
      const status = denial.details.quota_kind === 'window' && surface === 'run' ? 429 : 402;
      return apiErrorWithStatus(denial.code, status, denial.details, quotaMessage(denial.details));
    }
    case 'rate_limited':
      return apiErrorWithDetails(denial.code, denial.details, inFlightMessage(denial));
    case 'chain_budget_exceeded': {
      const status = denial.details.reason === 'depth' ? 429 : 402;
      return apiErrorWithStatus(denial.code, status, denial.details, denialMessage(denial));
    }
    case 'spend_cap_exceeded':
      return apiErrorWithDetails(denial.code, denial.details, denialMessage(denial));
    case 'budget_exceeded':
      return apiErrorWithDetails(denial.code, denial.details, denialMessage(denial));
    case 'plan_limit_exceeded':
      return apiErrorWithDetails(denial.code, denial.details, denialMessage(denial));
    case 'credits_exhausted':
      return apiErrorWithDetails(denial.code, denial.details, denialMessage(denial));
  }
}

/** The text is the same on every surface, although the statuses differ. */
function quotaMessage({ quota_kind }: { readonly quota_kind: 'prepaid' | 'window' }): string {
  return quota_kind === 'prepaid'
    ? 'The prepaid balance does not cover this request. Top it up.'
    : 'The quota of a rate-limit policy is exhausted until `details.window_end`. Retrying earlier will not help.';
}

function inFlightMessage({ by }: Denial): string {
  return `The limit of ${by?.limit.capacity} requests in flight is reached. Retry when one of them has ended.`;
}

/** Adds the index of the run in a bulk request to an error. */
export function withRunIndex(error: ApiError, index: number): ApiError {
  const { code, status, message, details, limitId } = error;
  return new ApiError(code, status, message, { ...details, run_index: index }).deniedBy(limitId);
}

/** Returns the stored response; throws if it was erased or belongs to a different request. */
export function replayedResponse(replay: Replay): { readonly text: string; readonly replayed: true } {
  switch (replay.kind) {
    case 'replayed':
      return { text: replay.response, replayed: true };
    case 'response_erased':
      throw erasedResponseError();
    case 'key_conflict':
      throw apiError('idempotency_key_conflict');
  }
}

/** Rejections that the ledger maps to errors. Errors about permits are created by the code that issues the permits. */
export type PostingErrorCause = Exclude<PostingRejection, { kind: 'permit_spent' }>;

/** Maps a rejected posting to an API error. For a bulk request, all but `settled_already` name the run. */
export function postingError(rejection: PostingErrorCause, bulk: boolean): ApiError {
  const pathOf = (field: string) => (bulk ? `runs[${rejection.index}].${field}` : field);
  switch (rejection.kind) {
    case 'denied': {
      const error = denialError(rejection.denial, 'run');
      return bulk ? withRunIndex(error, rejection.index) : error;
    }
    case 'unknown_decision':
      return invalidField(pathOf('decision_id'), 'invalid_value', 'No decision has this id.');
    case 'settled_already':
      return apiError('conflict', 'The decision belongs to another run, or was settled by one.');
    case 'external_id_conflict': {
      const error = apiError(
        'conflict',
        'A run with this `external_id` and different content exists already.',
      );
      return bulk ? withRunIndex(error, rejection.index) : error;
    }
    case 'contradiction':
      return invalidField(pathOf(rejection.field), 'invalid_value', 'Must match the decision.');
  }
}
