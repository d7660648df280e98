/** Errors of providers: whether the provider may have generated an answer, and charge for it, although it answered with an error. */
import { fieldsOf } from '../../../../kernel/providers/fields.ts';
import type { FailedResponse } from './provider-kind.ts';

/** Errors with which a provider says that it did not start: it is busy, or does not serve the request. */
const notStarted = /overload|unavailable|capacity|rate.?limit|quota|not.?found|loading|busy/i;

/** A 4xx is a rejection before any work, except for a timeout. */
export function isRejection({ status }: FailedResponse): boolean {
  return status < 500 && status !== 408;
}

/**
 * OpenAI, Anthropic and Azure do not charge for requests that they answer with an error of their API; an error without it comes from a proxy
 * before them.
 */
export function isLostByProxy(response: FailedResponse, answer: unknown): boolean {
  return !isRejection(response) && fieldsOf(answer).error == null;
}

/** Any provider may be such a proxy itself, and have lost the answer of the model behind it. */
export function mayBeLost(response: FailedResponse, answer: unknown): boolean {
  const { status, headers } = response;
  const { error, type } = fieldsOf(answer);
  const { type: errorType, code } = fieldsOf(error);
  const says = [errorType, code, type].some((word) => typeof word === 'string' && notStarted.test(word));
  const isPutOff = (status === 503 || status === 529) && headers['retry-after'] !== undefined;
  return !isRejection(response) && !says && !isPutOff;
}
