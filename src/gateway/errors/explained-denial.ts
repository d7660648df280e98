import { ApiError } from '../../contract/api-error.ts';
import type { ExpectedRetry } from '../../kernel/providers/shown-error.ts';

/**
 * A denial whose message in the response has an additional reason. The reason may name members of the body, which may be content, so
 * it is neither recorded nor logged.
 */
export class ExplainedDenial extends ApiError {
  readonly explanation: string;
  readonly retry: ExpectedRetry | undefined;

  constructor(denial: ApiError, explanation: string, retry?: ExpectedRetry) {
    super(denial.code, denial.status, denial.message, denial.details);
    this.deniedBy(denial.limitId, denial.counterKey);
    this.explanation =
      denial instanceof ExplainedDenial ? `${explanation} ${denial.explanation}` : explanation;
    this.retry = retry;
  }
}
