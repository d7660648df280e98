/** Tokens and prices are bounded each by itself; what they make together may still be more than an amount can be. */
import type { FieldError } from '../../contract/errors.ts';
import { maxNanos } from '../../kernel/money.ts';

/** The cost of so many tokens, or what is wrong with their number. */
export function postableAmount(usd: bigint, model: string, field: string): bigint | FieldError {
  return usd <= maxNanos
    ? usd
    : { field, code: 'out_of_range', message: `So much of \`${model}\` costs more than the books can hold.` };
}
