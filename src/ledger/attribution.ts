/** Applies the attribution of a key to a request: locked values are enforced, the others are defaults. */
import { type ApiError, apiErrorWithDetails } from '../contract/api-error.ts';
import type { Attribution, AttributionValues } from '../contract/attribution.ts';

/**
 * Returns the request with the key's value in each field that the request leaves out. If the request contradicts a locked value,
 * returns the name of that field; stating the same value is allowed. Tags are merged by name.
 */
export function attributed<Body extends AttributionValues>(
  body: Body,
  attribution: Attribution | undefined,
): Body | string {
  return attribution === undefined
    ? body
    : (contradictedLock(body, attribution) ?? withDefaults(body, attribution.values));
}

/** Returns the request with the key's value in each field that the request leaves out. */
export function withDefaults<Body extends AttributionValues>(body: Body, values: AttributionValues): Body {
  return values.tags === undefined
    ? { ...values, ...body }
    : { ...values, ...body, tags: { ...values.tags, ...body.tags } };
}

/** Returns the first field of the request that contradicts a locked value, such as `team` or `tags.env`. */
export function contradictedLock(
  body: AttributionValues,
  { values, locked }: Attribution,
): string | undefined {
  for (const field of locked) {
    if (field === 'tags') {
      const name = contradictedTag(body.tags, values.tags);
      if (name !== undefined) {
        return `tags.${name}`;
      }
    } else if (body[field] !== undefined && body[field] !== values[field]) {
      return field;
    }
  }
  return undefined;
}

/** Only the tags that the key names are locked. */
function contradictedTag(
  stated: AttributionValues['tags'],
  locked: AttributionValues['tags'],
): string | undefined {
  return stated === undefined || locked === undefined
    ? undefined
    : Object.keys(locked).find((name) => Object.hasOwn(stated, name) && stated[name] !== locked[name]);
}

/** The error of a request that states another value than a locked one. `runIndex`: the run of a bulk request. */
export function lockedFieldError(field: string, runIndex?: number): ApiError {
  return apiErrorWithDetails(
    'forbidden',
    { field, ...(runIndex !== undefined && { run_index: runIndex }) },
    `The key fixes the value of \`${field}\`. Leave the field out, or use a key for this value.`,
  );
}
