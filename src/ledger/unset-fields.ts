/** The filter `without`: runs that have no value for a field, such as those without a customer. */
import { Type } from 'typebox';
import { invalidField } from '../contract/api-error.ts';
import { tagPrefix } from '../kernel/limits.ts';

/** Returns the query parameter for these fields. */
export function unsetParameter(fields: readonly string[]) {
  return Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: `Only runs without a value for these fields, separated by commas: ${[...fields, `${tagPrefix}<name>`].join(', ')}.`,
      examples: ['customer_id'],
    }),
  );
}

export interface UnsetFields<Field extends string> {
  readonly fields: readonly Field[];
  readonly tags: readonly string[];
}

/** Parses `without`. None of the other filters in `filters` may name the same field. */
export function parseUnset<Field extends string>(
  text: string | undefined,
  allowed: readonly Field[],
  filters: Readonly<Partial<Record<Field, unknown>>>,
): UnsetFields<Field> {
  const names = text === undefined ? [] : [...new Set(text.split(',').map((name) => name.trim()))];
  const fields: Field[] = [];
  const tags: string[] = [];
  for (const name of names) {
    const field = allowed.find((one) => one === name);
    if (field !== undefined && filters[field] !== undefined) {
      throw invalidField('without', 'invalid_value', `\`${field}\` has a filter with a value.`);
    }
    if (field !== undefined) {
      fields.push(field);
    } else if (name.startsWith(tagPrefix) && name.length > tagPrefix.length) {
      tags.push(name.slice(tagPrefix.length));
    } else {
      throw invalidField(
        'without',
        'invalid_value',
        `Must be a list of these: ${[...allowed, `${tagPrefix}<name>`].join(', ')}.`,
      );
    }
  }
  return { fields, tags };
}
