import { ApiError } from '../../contract/api-error.ts';

/**
 * A denial whose message in the response has an additional reason. The reason names members of the body, which may be content, so
 * it is neither recorded nor logged.
 */
export class ExplainedDenial extends ApiError {
  readonly explanation: string;

  constructor(denial: ApiError, explanation: string) {
    super(denial.code, denial.status, denial.message, denial.details);
    this.limitId = denial.limitId;
    this.explanation = explanation;
  }
}
