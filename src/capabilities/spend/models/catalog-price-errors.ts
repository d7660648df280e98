/** Checks the price that an entry of a catalog stands for: `priceOf` combines tiers, long contexts and regions into modifiers. */
import { closed } from '../../../platform/http/routes/schemas.ts';
import { compileBody } from '../../../platform/http/routes/validation.ts';
import { modifierErrors } from './modifier-errors.ts';
import { otherTerms } from './price-terms-schema.ts';
import type { PriceRequest } from './rates.ts';

const validateTerms = compileBody(closed(otherTerms));

/** Returns the reasons why the API would reject the modifiers and units of this price; empty if it would accept them. */
export function catalogPriceErrors({ modifiers = [], units = {} }: PriceRequest): string[] {
  const errors = [...validateTerms({ modifiers, units }), ...modifierErrors(modifiers)];
  return errors.map(({ field, message }) => `${field}: ${message}`);
}
