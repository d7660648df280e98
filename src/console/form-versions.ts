/**
 * Forms that change an existing resource send what the visitor has changed, for the version that they show. If someone else has changed
 * the resource meanwhile, nothing is overwritten: the form is shown again with both values.
 */
import { ApiFailure, type FormFieldError } from './api.ts';
import { type Field, submittedValues, textOf, type Values } from './forms.ts';
import { hiddenInputs } from './inputs.ts';

/** A form as it was shown: the entity tag of its resource, and the values of its fields. */
export interface ShownVersion {
  readonly etag: string;
  readonly values: Values;
}

const versionField = 'version';
const shownField = 'shown';

export function versionInputs({ etag, values }: ShownVersion) {
  return hiddenInputs({ [versionField]: etag, [shownField]: submissionOf(values).toString() });
}

/** Returns the version that a submitted form has shown; undefined for forms without one. */
export function versionIn(form: URLSearchParams, fields: readonly Field[]): ShownVersion | undefined {
  const etag = form.get(versionField);
  return etag === null
    ? undefined
    : { etag, values: submittedValues(fields, new URLSearchParams(form.get(shownField) ?? '')) };
}

/** Returns values as a browser submits them. */
export function submissionOf(values: Values): URLSearchParams {
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  );
}

/** Returns the members of a request body that differ from those of another one. */
export function changedMembers(body: object, before: object): Record<string, unknown> {
  const known = before as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => !isSame(value, known[name])));
}

/** Browsers submit the lines of a text with other ends than the API has. */
function isSame(one: unknown, other: unknown): boolean {
  const plain = (value: unknown) => JSON.stringify(value)?.replaceAll('\\r\\n', '\\n');
  return plain(one) === plain(other);
}

export interface MergedForm {
  readonly values: Values;
  readonly failure: ApiFailure;
}

/** Returns the form with what the visitor has changed, and with the current values of all other fields. */
export function mergedForm(entered: Values, shown: Values, current: Values, failure: ApiFailure): MergedForm {
  const values: Record<string, string | readonly string[]> = { ...current };
  const fields: FormFieldError[] = [];
  for (const name of new Set([...Object.keys(entered), ...Object.keys(shown)])) {
    const own = entered[name] ?? '';
    const now = current[name] ?? '';
    if (isSame(own, shown[name] ?? '')) {
      continue;
    }
    values[name] = own;
    if (!isSame(own, now) && !isSame(now, shown[name] ?? '')) {
      const message =
        textOf(now) === ''
          ? 'Someone else has cleared this.'
          : `Someone else has set this to ${textOf(now)}.`;
      fields.push({ field: name, code: 'conflict', message });
    }
  }
  const message =
    'Someone else changed this while you were editing. The form now has their values and what you have changed. Check it and save again.';
  return { values, failure: new ApiFailure(failure.status, failure.code, message, { fields }) };
}
