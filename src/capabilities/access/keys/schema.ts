import { type Static, Type } from 'typebox';
import { attributionFields } from '../../../contract/attribution.ts';
import { type HoldMode, holdModes, reserveSeconds } from '../../../contract/hold-modes.ts';
import { attributionLabels, forEachName } from '../../../contract/run-dimensions.ts';
import { type KeyScope, orgRoles, scopes } from '../../../contract/scopes.ts';
import { label, tags } from '../../../ledger/scope.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  name,
  nullable,
  partial,
  timestamp,
} from '../../../platform/http/routes/schemas.ts';

const overlapSecondsMax = 30 * 24 * 3_600;

export const keyStatuses = ['active', 'not_yet_valid', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof keyStatuses)[number];

const scopeList = Type.Array(choice(scopes) as ReturnType<typeof Type.Unsafe<KeyScope>>, {
  uniqueItems: true,
  maxItems: scopes.length,
  description: 'Fixed when the key is created.',
});

const attributionTags = Type.Unsafe<Record<string, string>>({
  ...tags,
  description: 'Up to 20 tags, which decisions and runs get in addition to their own.',
});
const attributionValues = { ...forEachName(attributionLabels, Type.Optional(label)) };

const statedAttribution = Type.Object(
  {
    ...attributionValues,
    member_id: Type.Optional(
      Type.Unsafe<string | null>({
        ...label,
        type: ['string', 'null'],
        description:
          'Any value; it need not be the id of a member. A key that a signed-in member creates has the id of that member, ' +
          'locked, unless you set another value, or null for the key of a service.',
      }),
    ),
    tags: Type.Optional(attributionTags),
  },
  {
    additionalProperties: false,
    description:
      'The values of decisions and runs that do not state their own. They do not restrict what the key can read.',
  },
);
export type StatedAttribution = Static<typeof statedAttribution>;

const lockedFields = Type.Array(choice(attributionFields), {
  uniqueItems: true,
  maxItems: attributionFields.length,
  description:
    'The fields of `attribution` that are fixed: a request that states another value is 403 `forbidden`. Each needs a ' +
    'value. `tags` fixes the tags of the key; requests can add others.',
});

const holdMeaning = 'Overrides the gateway setting.';
const hold = choice(holdModes, holdMeaning);
const reserveForRunning = Type.Integer({
  minimum: 0,
  maximum: reserveSeconds.max,
  description: holdMeaning,
});
const statedReserve = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 0,
  maximum: reserveSeconds.max,
  description: `${holdMeaning} Null: that applies.`,
});
const statedHold = Type.Unsafe<HoldMode | null>({
  type: ['string', 'null'],
  enum: [...holdModes, null],
  description: `${holdMeaning} Null: that applies.`,
});

const attributionInput = {
  attribution: Type.Optional(statedAttribution),
  attribution_locked: Type.Optional(lockedFields),
};
export interface KeyAttributionInput {
  readonly attribution?: StatedAttribution;
  readonly attribution_locked?: Static<typeof lockedFields>;
}

export const KeyView = closed({
  id,
  org_id: nullable(Type.String({ description: 'Null for an operator key.' })),
  name: Type.String(),
  role: choice([...orgRoles, 'operator']),
  scopes: Type.Array(Type.String()),
  hint: Type.String({ description: 'First characters of the key, for identification.' }),
  status: choice(keyStatuses),
  not_before: nullable(timestamp),
  expires_at: nullable(timestamp),
  revoked_at: nullable(timestamp),
  rotated_from: nullable(Type.String({ description: 'The key that this key replaces.' })),
  created_at: timestamp,
  last_used_at: nullable(
    Type.String({
      format: 'date-time',
      description: 'Accurate to about a minute. Null: never used, or not recorded yet.',
    }),
  ),
  attribution: Type.Object(
    { ...attributionValues, tags: Type.Optional(attributionTags) },
    {
      additionalProperties: false,
      description:
        'The values that decisions and runs of the key get if they state none; only those that are set.',
    },
  ),
  attribution_locked: Type.Array(choice(attributionFields), {
    description: 'The fields of `attribution` that are fixed.',
  }),
  hold: Type.Optional(hold),
  reserve_for_running: Type.Optional(reserveForRunning),
});
export type KeyView = Static<typeof KeyView>;

export const MintedKey = closed({
  ...KeyView.properties,
  secret: Type.String({ description: 'The key itself. It is shown only once.' }),
});
export type MintedKey = Static<typeof MintedKey>;

const validity = { not_before: Type.Optional(timestamp), expires_at: Type.Optional(timestamp) };

export const MintKey = closed({
  name,
  role: choice(orgRoles),
  scopes: scopeList,
  ...validity,
  ...attributionInput,
  hold: Type.Optional(statedHold),
  reserve_for_running: Type.Optional(statedReserve),
});
export const MintOperatorKey = closed({ name, ...validity });

/** Schema of a change. `attribution` is replaced as a whole. */
export const PatchKey = partial({
  name,
  attribution: statedAttribution,
  attribution_locked: lockedFields,
  hold: statedHold,
  reserve_for_running: statedReserve,
});
export type PatchKey = Static<typeof PatchKey>;

export const RotateKey = closed({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      description: 'Seconds that the old key keeps working. Default: 0.',
    }),
  ),
  expires_at: Type.Optional(
    Type.String({
      ...timestamp,
      description: 'Default: the original lifetime of the old key.',
    }),
  ),
});
export type RotateKey = Static<typeof RotateKey>;

export const keySorts = { created_at: 'timestamptz', name: 'text' } as const;
export const KeyFilters = listParameters(keySorts, {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  role: Type.Optional(choice([...orgRoles, 'operator'])),
  status: Type.Optional(choice(keyStatuses)),
  unused_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 3_650,
      description: 'Only active keys without use in this many days.',
    }),
  ),
  ...forEachName(attributionLabels, Type.Optional(label)),
  ...searchFilter('the name or id'),
});
export type KeyFilters = Static<typeof KeyFilters>;
