/**
 * Range check for computed costs: tokens and prices are bounded separately, but their product may exceed the
 * maximum amount.
 */
import type { FieldError } from '../../contract/errors.ts';
import { maxNanos } from '../../kernel/money.ts';

/** Returns the cost, or a field error if it is too large. */
export function postableAmount(usd: bigint, model: string, field: string): bigint | FieldError {
  return usd <= maxNanos
    ? usd
    : {
        field,
        code: 'out_of_range',
        message: `The cost for \`${model}\` exceeds the maximum amount. Reduce the number of tokens.`,
      };
}
