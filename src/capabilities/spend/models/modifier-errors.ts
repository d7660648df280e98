/** Checks of modifiers that the schema cannot express. */
import type { FieldError } from '../../../contract/errors.ts';
import { type ModifierRequest, rateFields } from './rates.ts';

/** Tiers that mean the flat rates. */
const standardTiers: readonly string[] = ['auto', 'default', 'standard'];

export function modifierErrors(modifiers: readonly ModifierRequest[] | null | undefined): FieldError[] {
  return (modifiers ?? []).flatMap((modifier, index) =>
    errorsOf(modifier).map(([field, code, message]) => ({
      field: `modifiers[${index}]${field === '' ? '' : `.${field}`}`,
      code,
      message,
    })),
  );
}

function errorsOf(modifier: ModifierRequest): [string, FieldError['code'], string][] {
  const { tier, region, above_input_tokens, cache_write_ttl, multiplier } = modifier;
  const errors: [string, FieldError['code'], string][] = [];
  const rates = rateFields.filter((field) => modifier[field] != null);
  if ([tier, region, above_input_tokens, cache_write_ttl].every((condition) => condition === undefined)) {
    errors.push([
      '',
      'required',
      'Set at least one of `tier`, `above_input_tokens`, `cache_write_ttl` and `region`.',
    ]);
  }
  if (tier !== undefined && standardTiers.includes(tier)) {
    errors.push(['tier', 'invalid_value', 'This tier means the flat rates.']);
  }
  if (multiplier === undefined && rates.length === 0) {
    errors.push(['multiplier', 'required', 'Set rates, or `multiplier`.']);
  }
  if (multiplier !== undefined && rates.length > 0) {
    errors.push(['multiplier', 'invalid_value', 'Set either rates or `multiplier`.']);
  }
  if (cache_write_ttl !== undefined) {
    for (const field of rates.filter((one) => one !== 'cache_write_usd_per_million')) {
      errors.push([
        field,
        'invalid_value',
        'With `cache_write_ttl` only `cache_write_usd_per_million` is allowed.',
      ]);
    }
  }
  return errors;
}
