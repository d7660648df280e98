/** Rules of an org for its keys: their maximum lifetime, and the time after which an unused key is revoked. */
import { type Static, Type } from 'typebox';
import { invalidField } from '../../../contract/api-error.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { closed, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

const dayMs = 24 * 3_600_000;
const days = { minimum: 1, maximum: 3_650 };
const lifetimeDaysMax = nullable(
  Type.Integer({
    ...days,
    description:
      'Maximum lifetime in days of keys that are created or rotated from now on. A key without `expires_at` gets it. Null: no maximum.',
  }),
);
const unusedDaysMax = nullable(
  Type.Integer({
    ...days,
    description:
      'Days without use after which a key is revoked, at the earliest this long after this value was set. Null: never.',
  }),
);

const KeyRulesView = closed({
  lifetime_days_max: lifetimeDaysMax,
  unused_days_max: unusedDaysMax,
  updated_at: nullable(timestamp),
});
type KeyRulesView = Static<typeof KeyRulesView>;

const PutKeyRules = closed({ lifetime_days_max: lifetimeDaysMax, unused_days_max: unusedDaysMax });

interface KeyRulesRow {
  readonly org_id: string;
  readonly lifetime_days_max: number | null;
  readonly unused_days_max: number | null;
  /** When `unused_days_max` got its value. Null if it has none. */
  readonly unused_days_set_at: Date | null;
  readonly updated_at: Date;
}

const rules = tableOf<KeyRulesRow>()('key_rules', {
  columns: 'org_id, lifetime_days_max, unused_days_max, unused_days_set_at, updated_at',
  key: ['org_id'],
});

function view(row: KeyRulesRow | undefined): KeyRulesView {
  return {
    lifetime_days_max: row?.lifetime_days_max ?? null,
    unused_days_max: row?.unused_days_max ?? null,
    updated_at: row?.updated_at.toISOString() ?? null,
  };
}

/** The validity of a new key. */
export interface RuledValidity {
  readonly notBefore: Date | undefined;
  readonly expiresAt: Date | undefined;
  /** True if the time of expiry was not stated for this key. It is then shortened instead of rejected. */
  readonly isInherited: boolean;
}

/** Returns the time of expiry of a new key under the rules of its org. Throws for a stated time that is too late. */
export async function expiryUnderRules(
  tx: Queryable,
  orgId: string,
  { notBefore, expiresAt, isInherited }: RuledValidity,
  now: Date,
): Promise<Date | undefined> {
  const max = (await rules.find(tx, orgId))?.lifetime_days_max ?? null;
  if (max === null) {
    return expiresAt;
  }
  const latest = new Date(Math.max(now.getTime(), notBefore?.getTime() ?? 0) + max * dayMs);
  if (expiresAt === undefined || (isInherited && expiresAt > latest)) {
    return latest;
  }
  if (expiresAt > latest) {
    throw invalidField(
      'expires_at',
      'out_of_range',
      `Keys of this organization may last ${max} days at most.`,
    );
  }
  return expiresAt;
}

const path = '/v1/orgs/{id}/key-rules';

export function keyRuleRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'key_rules.read',
      path,
      summary: 'Get the rules for keys',
      access: { kind: 'org', scope: 'keys:read', role: 'viewer' },
      response: KeyRulesView,
      handler: async ({ params }) => view(await rules.find(db, params.id)),
    }),
    write({
      id: 'key_rules.put',
      method: 'PUT',
      path,
      summary: 'Set the rules for keys',
      description:
        'Keys that exist keep their time of expiry. List unused keys with `GET /v1/orgs/{id}/keys?unused_days=…` before you set ' +
        '`unused_days_max`.',
      access: { kind: 'org', scope: 'keys:write', role: 'owner' },
      body: PutKeyRules,
      response: KeyRulesView,
      async handler({ params, body, now }, tx) {
        const before = await rules.lock(tx, params.id);
        const after = ruled(before, { orgId: params.id, body, now });
        await rules.upsert(tx, after);
        const views = { before: view(before), after: view(after) };
        return settingChanged('key_rules', params.id, views);
      },
    }),
  ];
}

function ruled(
  before: KeyRulesRow | undefined,
  {
    orgId,
    body,
    now,
  }: { readonly orgId: string; readonly body: Static<typeof PutKeyRules>; readonly now: Date },
): KeyRulesRow {
  const isKept = before?.unused_days_max === body.unused_days_max;
  return {
    org_id: orgId,
    ...body,
    unused_days_set_at:
      body.unused_days_max === null ? null : isKept ? (before?.unused_days_set_at ?? now) : now,
    updated_at: now,
  };
}

/** Returns ids of keys that have not been used for longer than the rule of their org allows, with their orgs. */
export function findUnusedKeys(
  tx: Transaction,
  now: Date,
  limit: number,
): Promise<{ readonly org_id: string; readonly id: string }[]> {
  return tx.query(
    `SELECT k.org_id, k.id
       FROM key_rules r JOIN keys k ON k.org_id = r.org_id
      WHERE r.unused_days_max IS NOT NULL AND k.revoked_at IS NULL AND k.ends_at IS NULL
        AND coalesce(k.expires_at > $1, true)
        AND greatest(k.last_used_at, k.created_at, k.not_before, r.unused_days_set_at)
              <= $1 - make_interval(days => r.unused_days_max)
      ORDER BY k.org_id, k.id LIMIT $2`,
    [now, limit],
  );
}
