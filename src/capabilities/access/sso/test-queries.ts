/** Statements for single sign-on tests. */
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import type { SsoKind } from './schema.ts';

export const testStatuses = ['pending', 'started', 'finished'] as const;
export type TestStatus = (typeof testStatuses)[number];

export interface TestRow {
  readonly org_id: string;
  readonly id: string;
  readonly digest: string;
  readonly kind: SsoKind;
  readonly status: TestStatus;
  readonly sealed: Uint8Array;
  readonly browser_digest: string | null;
  readonly result: Uint8Array | null;
  readonly created_at: Date;
  readonly expires_at: Date;
}

const columns = 'org_id, id, digest, kind, status, sealed, browser_digest, result, created_at, expires_at';

export const { insert: insertTest } = tableOf<TestRow>()('sso_tests', { columns, key: ['org_id', 'id'] });

export async function findTest(
  db: Queryable,
  orgId: string,
  id: string,
  now: Date,
): Promise<TestRow | undefined> {
  const [row] = await db.query<TestRow>(
    `SELECT ${columns} FROM sso_tests WHERE org_id = $1 AND id = $2 AND expires_at > $3`,
    [orgId, id, now],
  );
  return row;
}

export async function countTests(db: Queryable, orgId: string, now: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM sso_tests WHERE org_id = $1 AND expires_at > $2',
    [orgId, now],
  );
  return row?.count ?? 0;
}

export async function findTestByDigest(
  db: Queryable,
  digest: string,
  now: Date,
): Promise<TestRow | undefined> {
  const [row] = await db.query<TestRow>(
    `SELECT ${columns} FROM sso_tests WHERE digest = $1 AND expires_at > $2`,
    [digest, now],
  );
  return row;
}

/** Moves the test to its next status. Returns false if another request did so first. */
export async function updateTest(db: Queryable, row: TestRow, before: TestStatus): Promise<boolean> {
  const updated = await db.query(
    `UPDATE sso_tests SET status = $3, sealed = $4, browser_digest = $5, result = $6, expires_at = $7
      WHERE org_id = $1 AND id = $2 AND status = $8 RETURNING 1 AS one`,
    [row.org_id, row.id, row.status, row.sealed, row.browser_digest, row.result, row.expires_at, before],
  );
  return updated.length > 0;
}
