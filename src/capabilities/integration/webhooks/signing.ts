/**
 * Secrets that sign deliveries: one per org (deprecated), and one for each subscription that has created its own. After
 * a rotation the previous secret of a subscription also signs for a day, so that receivers can be updated.
 */
import { apiError, found } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findOrg, lockOrg } from '../../access/orgs/index.ts';
import {
  findOrgSecret,
  insertOrgSecret,
  type OrgSecretRow,
  replaceOrgSecret,
  type SubscriptionRow,
  selectSubscriptions,
  webhooksChanged,
} from './queries.ts';
import type { OrgSecretView, RotatedSigning, SigningView } from './schema.ts';
import { fingerprintOf, generateSecret } from './signatures.ts';
import { changeSubscription, type SubscriptionName } from './subscriptions.ts';

export const overlapMs = 24 * 3_600_000;

export const subscriptionContext = (orgId: string, id: string) => `webhook_subscription ${orgId} ${id}`;
export const orgContext = (orgId: string) => `webhook_org ${orgId}`;

export function viewSigning(secrets: Secrets, row: SubscriptionRow, now: Date): SigningView {
  const context = subscriptionContext(row.org_id, row.id);
  const fingerprint = (sealed: Uint8Array | null) =>
    sealed === null ? null : fingerprintOf(secrets.decrypt(sealed, context));
  const overlaps = row.previous_until !== null && now < row.previous_until;
  return {
    event_version: row.secret === null ? 1 : 2,
    fingerprint: fingerprint(row.secret),
    created_at: row.secret_created_at?.toISOString() ?? null,
    age_seconds:
      row.secret_created_at === null
        ? null
        : Math.max(0, Math.floor((now.getTime() - row.secret_created_at.getTime()) / 1_000)),
    overlap_ends_at: overlaps ? (row.previous_until?.toISOString() ?? null) : null,
    previous_fingerprint: overlaps ? fingerprint(row.previous_secret) : null,
  };
}

export interface RotatedSecret {
  readonly before: SigningView;
  readonly after: SigningView;
  readonly answer: RotatedSigning;
  readonly row: SubscriptionRow;
}

export async function rotateSigning(
  tx: Transaction,
  secrets: Secrets,
  name: SubscriptionName,
  now: Date,
  force: boolean,
): Promise<RotatedSecret> {
  const secret = generateSecret();
  const change = await changeSubscription(tx, name, now, (row) => {
    if (row.previous_until !== null && now < row.previous_until && !force) {
      throw apiError(
        'conflict',
        'The secret was rotated less than a day ago, and the previous one signs until ' +
          `${row.previous_until.toISOString()}. Set \`force\` to end it now.`,
      );
    }
    return {
      secret: secrets.encrypt(secret, subscriptionContext(name.orgId, name.id)),
      secret_created_at: now,
      previous_secret: row.secret,
      // The first secret of a subscription has no predecessor.
      previous_until: row.secret === null ? null : new Date(now.getTime() + overlapMs),
    };
  });
  const after = viewSigning(secrets, change.after, now);
  const before = viewSigning(secrets, change.before, now);
  return { before, after, answer: { ...after, secret }, row: change.after };
}

function viewOrgSecret(secrets: Secrets, orgId: string, row: OrgSecretRow): OrgSecretView {
  const secret = secrets.decrypt(row.secret, orgContext(orgId));
  return { secret, fingerprint: fingerprintOf(secret), created_at: row.created_at.toISOString() };
}

function newOrgSecret(secrets: Secrets, orgId: string, now: Date): OrgSecretRow {
  return { secret: secrets.encrypt(generateSecret(), orgContext(orgId)), created_at: now };
}

/** Returns the org's secret, which is generated on first use. */
export async function orgSecretOf(
  db: Queryable,
  secrets: Secrets,
  orgId: string,
  now: Date,
): Promise<OrgSecretRow> {
  const there = await findOrgSecret(db, orgId);
  if (there !== undefined) {
    return there;
  }
  await insertOrgSecret(db, orgId, newOrgSecret(secrets, orgId, now));
  const made = await findOrgSecret(db, orgId);
  if (made === undefined) {
    throw new Error('webhook secret not found after it was created');
  }
  return made;
}

export async function readOrgSecret(
  db: Queryable,
  secrets: Secrets,
  orgId: string,
  now: Date,
): Promise<OrgSecretView> {
  found(await findOrg(db, orgId));
  return viewOrgSecret(secrets, orgId, await orgSecretOf(db, secrets, orgId, now));
}

export interface OrgSecretChange {
  readonly changed: boolean;
  readonly before: OrgSecretView;
  readonly after: OrgSecretView;
}

/**
 * Rotates the org's secret. Has no effect while there are subscriptions and each has its own secret: no delivery is
 * signed with the org's secret then.
 */
export async function rotateOrgSecret(
  tx: Transaction,
  secrets: Secrets,
  orgId: string,
  now: Date,
): Promise<OrgSecretChange> {
  found(await lockOrg(tx, orgId));
  const before = viewOrgSecret(secrets, orgId, await orgSecretOf(tx, secrets, orgId, now));
  const subscriptions = (await selectSubscriptions(tx, [orgId])).filter(({ format }) => format !== 'email');
  if (subscriptions.length > 0 && subscriptions.every(({ secret }) => secret !== null)) {
    return { changed: false, before, after: before };
  }
  const row = newOrgSecret(secrets, orgId, now);
  await replaceOrgSecret(tx, orgId, row);
  await webhooksChanged.notify(tx, orgId);
  return { changed: true, before, after: viewOrgSecret(secrets, orgId, row) };
}
