/** For actions that delete a lot: the visitor types the name of what is deleted. */
import { ApiFailure } from './api.ts';
import type { Field } from './forms.ts';

const fieldName = 'typed_name';

export function typedNameField(name: string): Field {
  return { name: fieldName, label: `Type “${name}” to confirm`, kind: 'text', required: true };
}

/** Outer spaces do not matter: fields are sent without them. */
export function checkTypedName(
  body: Readonly<Record<string, unknown>>,
  name: string,
): ApiFailure | undefined {
  return body[fieldName] === name.trim()
    ? undefined
    : new ApiFailure(422, 'validation_failed', 'The name does not match.', {
        fields: [{ field: fieldName, code: 'invalid_value', message: `Must be “${name}”.` }],
      });
}
