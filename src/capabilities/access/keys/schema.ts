import { type Static, Type } from 'typebox';
import { orgRoles, type Scope, scopes } from '../../../contract/scopes.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

const overlapSecondsMax = 30 * 24 * 3_600;

export const keyStatuses = ['active', 'not_yet_valid', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof keyStatuses)[number];

const scopeList = Type.Array(choice(scopes) as ReturnType<typeof Type.Unsafe<Scope>>, {
  uniqueItems: true,
  maxItems: scopes.length,
  description: 'Fixed when the key is created.',
});

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
});
export type KeyView = Static<typeof KeyView>;

export const MintedKey = closed({
  ...KeyView.properties,
  secret: Type.String({ description: 'The key itself. It is shown only once.' }),
});
export type MintedKey = Static<typeof MintedKey>;

const validity = { not_before: Type.Optional(timestamp), expires_at: Type.Optional(timestamp) };

export const MintKey = closed({ name, role: choice(orgRoles), scopes: scopeList, ...validity });
export const MintOperatorKey = closed({ name, ...validity });

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
});
export type KeyFilters = Static<typeof KeyFilters>;
