/**
 * Attribution of a key: the valid values, and the values that a caller may give to a key. The locked values of the caller apply to
 * every key that it creates, changes or rotates.
 */
import { apiErrorWithDetails, invalidField } from '../../../contract/api-error.ts';
import {
  type Attribution,
  type AttributionField,
  type AttributionValues,
  attributionFields,
} from '../../../contract/attribution.ts';
import { withDefaults } from '../../../ledger/attribution.ts';
import { tagsMax } from '../../../ledger/scope.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { isMember } from '../../../platform/http/routes/granting.ts';
import type { KeyAttributionInput, StatedAttribution } from './schema.ts';

export const noAttribution: Attribution = { values: {}, locked: [] };

/** Returns the attribution; undefined if it has no values, so that requests with such keys have no extra cost. */
export function attributionOf(values: AttributionValues, locked: readonly AttributionField[]) {
  return Object.keys(values).length === 0 ? undefined : { values, locked };
}

/** Returns the attribution of a signed-in member. */
export function memberAttribution(memberId: string): Attribution {
  return { values: { member_id: memberId }, locked: ['member_id'] };
}

/**
 * Returns the attribution of a new key, with values that the request leaves out: a signed-in member owns the key, unless
 * `member_id` is stated or null; the locked values of a calling key are passed on.
 */
export function newAttribution(caller: Caller, stated: KeyAttributionInput): Attribution {
  const { attribution = {}, attribution_locked: statedLocks } = stated;
  const values = withoutEmpty(attribution);
  if (isMember(caller)) {
    const owned = attribution.member_id === undefined ? { ...values, member_id: caller.keyId } : values;
    return checked(caller, {
      values: owned,
      locked: ordered([
        ...(statedLocks ?? []),
        ...(owned.member_id === caller.keyId ? (['member_id'] as const) : []),
      ]),
    });
  }
  const binding = caller.attribution ?? noAttribution;
  return checked(caller, {
    values: withDefaults(values, lockedValues(binding)),
    locked: ordered(statedLocks ?? binding.locked),
  });
}

/** Returns the attribution of a key after a change. Fields that the change leaves out are kept. */
export function changedAttribution(
  caller: Caller,
  before: Attribution,
  { attribution, attribution_locked }: KeyAttributionInput,
): Attribution {
  checkCovers(caller, before);
  return checked(caller, {
    values: attribution === undefined ? before.values : withoutEmpty(attribution),
    locked: attribution_locked === undefined ? before.locked : ordered(attribution_locked),
  });
}

/** Throws unless the key has the locked values of the caller, also locked. */
export function checkCovers(caller: Caller, { values, locked }: Attribution): void {
  if (isMember(caller) || caller.attribution === undefined) {
    return;
  }
  const { attribution } = caller;
  for (const field of attribution.locked) {
    if (!locked.includes(field) || !hasValue(values, attribution.values, field)) {
      throw apiErrorWithDetails(
        'forbidden',
        { field },
        `Your key fixes the value of \`${field}\`. It can only manage keys with the same value, locked.`,
      );
    }
  }
}

function checked(caller: Caller, attribution: Attribution): Attribution {
  const { values, locked } = attribution;
  if (Object.keys(values.tags ?? {}).length > tagsMax) {
    throw invalidField(
      'attribution.tags',
      'too_many',
      `At most ${tagsMax}, including the locked tags of your key.`,
    );
  }
  const missing = locked.filter((field) => values[field] === undefined);
  if (missing.length > 0) {
    throw invalidField(
      'attribution_locked',
      'invalid_value',
      `Without a value in \`attribution\`: ${missing.join(', ')}.`,
    );
  }
  checkCovers(caller, attribution);
  return attribution;
}

/** Returns true if the key has the wanted value. Tags match if the key has all wanted tags; it may have others. */
function hasValue(values: AttributionValues, wanted: AttributionValues, field: AttributionField): boolean {
  return field === 'tags'
    ? Object.entries(wanted.tags ?? {}).every(([name, value]) => values.tags?.[name] === value)
    : values[field] === wanted[field];
}

function lockedValues({ values, locked }: Attribution): AttributionValues {
  return Object.fromEntries(locked.map((field) => [field, values[field]])) as AttributionValues;
}

/** Returns the stated values without null and empty tags, which both mean no value. */
function withoutEmpty(stated: StatedAttribution): AttributionValues {
  return Object.fromEntries(
    Object.entries(stated).filter(
      ([, value]) => value !== null && (typeof value === 'string' || Object.keys(value).length > 0),
    ),
  ) as AttributionValues;
}

function ordered(locked: readonly AttributionField[]): readonly AttributionField[] {
  return attributionFields.filter((field) => locked.includes(field));
}
