/** Finds the connection of a sign-in. Rejects a sign-in whose connection has changed since it was started. */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { findOrgBySlug, lockOrg, type OrgRow } from '../orgs/index.ts';
import { isSameProvider } from './connection.ts';
import { type AttemptRow, findConnection, type SsoConnectionRow } from './queries.ts';

/** Returns the connection of an org. An org without SSO gets the same error as an unknown org. */
export async function requireConnection(
  db: Database,
  slug: string | undefined,
): Promise<{ org: OrgRow; connection: SsoConnectionRow }> {
  const org = await findOrgBySlug(db, slug ?? '');
  const connection = org && (await findConnection(db, org.id));
  if (org === undefined || connection === undefined) {
    throw apiError('not_found', 'Single sign-on is not available at this address.');
  }
  return { org, connection };
}

/** Returns the connection of the attempt. Throws if the connection was removed or its issuer or kind has changed. */
export async function connectionOf(
  db: Database,
  { org_id, issuer, kind }: AttemptRow,
): Promise<SsoConnectionRow> {
  const connection = await findConnection(db, org_id);
  const isSame = connection?.issuer === issuer && (kind === 'ticket' || kind === connection.kind);
  if (connection === undefined || !isSame) {
    throw changedMeanwhile();
  }
  return connection;
}

/**
 * Locks the org and returns its current connection. Throws if the provider was replaced. Replacing the provider ends the sessions
 * that the old one opened; the lock ensures that this includes a session that is being opened.
 */
export async function lockConnection(tx: Transaction, before: SsoConnectionRow): Promise<SsoConnectionRow> {
  await lockOrg(tx, before.org_id);
  const connection = await findConnection(tx, before.org_id);
  if (connection === undefined || !isSameProvider(connection, before)) {
    throw changedMeanwhile();
  }
  return connection;
}

function changedMeanwhile(): ApiError {
  return apiError('forbidden', 'The sign-in settings were changed in the meantime. Start again.');
}
