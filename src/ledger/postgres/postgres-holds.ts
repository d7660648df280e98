/** Reads and writes the rows of open holds on PostgreSQL. A hold is stored as JSON in a text column. */

import { insertMany, type Queryable } from '../../platform/db/database.ts';
import { distinctOrgs } from '../distinct-orgs.ts';
import { type Hold, holdOfRecord, holdRecord } from '../holds/hold.ts';
import type { HoldQuery } from '../holds/hold-request.ts';
import type { MissingCounter } from '../holds/org-ledger-state.ts';

interface HoldRow {
  readonly record: string;
}

function holdsOf(rows: readonly HoldRow[]): Hold[] {
  return rows.map(({ record }) => holdOfRecord(record));
}

/** A hold by its org and id, or an idempotency key by its org and digest. */
export interface OfOrg {
  readonly orgId: string;
  readonly id: string;
}

/** Returns the holds with these ids or these idempotency keys. */
export async function selectHolds(
  db: Queryable,
  ids: readonly OfOrg[],
  digests: readonly OfOrg[] = [],
): Promise<Hold[]> {
  // Both parts of the query name all orgs, because Citus could not find a shard for a part without any.
  const orgIds = distinctOrgs([...ids, ...digests]);
  const byId = `SELECT record FROM unnest($2::text[], $3::text[]) AS w(org_id, id)
    JOIN holds h ON h.org_id = w.org_id AND h.id = w.id WHERE h.org_id = ANY($1)`;
  const byDigest = `SELECT record FROM unnest($4::text[], $5::text[]) AS w(org_id, digest)
    JOIN holds h ON h.org_id = w.org_id AND h.idempotency_digest = w.digest
   WHERE h.idempotency_digest IS NOT NULL AND h.org_id = ANY($1)`;
  if (digests.length > 0) {
    return holdsOf(
      await db.query<HoldRow>(`${byId} UNION ${byDigest}`, [
        orgIds,
        ...columnsOf(ids),
        ...columnsOf(digests),
      ]),
    );
  }
  return ids.length === 0 ? [] : holdsOf(await db.query<HoldRow>(byId, [orgIds, ...columnsOf(ids)]));
}

function columnsOf(all: readonly OfOrg[]): [orgIds: string[], ids: string[]] {
  return [all.map(({ orgId }) => orgId), all.map(({ id }) => id)];
}

/**
 * Returns the open holds that new counters may have to include: those of the counter's chain, or those admitted since the counter's
 * window started.
 */
export async function selectHoldsSince(
  db: Queryable,
  orgId: string,
  missing: readonly MissingCounter[],
): Promise<Hold[]> {
  const chains = missing.filter(({ limitWindow }) => limitWindow.limit.match.chain_id !== undefined);
  const others = missing.filter((one) => !chains.includes(one));
  const since =
    others.length === 0
      ? 'infinity'
      : new Date(Math.min(...others.map(({ limitWindow }) => limitWindow.window.startMs)));
  return holdsOf(
    await db.query<HoldRow>(
      `SELECT record FROM holds WHERE org_id = $1 AND chain_id = ANY($2) AND chain_id IS NOT NULL
       UNION SELECT record FROM holds WHERE org_id = $1 AND admitted_at >= $3`,
      [orgId, chains.map(({ scope }) => scope.chain_id), since],
    ),
  );
}

export async function selectAllHolds(db: Queryable, orgId: string): Promise<Hold[]> {
  return holdsOf(await db.query<HoldRow>('SELECT record FROM holds WHERE org_id = $1', [orgId]));
}

/** Returns a page of holds in the order of their ids. */
export async function selectHoldsPage(
  db: Queryable,
  orgId: string,
  { after, limit, newestFirst = false }: HoldQuery,
): Promise<Hold[]> {
  const [comparison, direction] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC'];
  return holdsOf(
    await db.query<HoldRow>(
      `SELECT record FROM holds WHERE org_id = $1 AND ($2::text IS NULL OR id ${comparison} $2)
        ORDER BY id ${direction} LIMIT $3`,
      [orgId, after ?? null, limit],
    ),
  );
}

export async function selectHoldsOfCustomer(
  db: Queryable,
  orgId: string,
  customerId: string,
): Promise<Hold[]> {
  return holdsOf(
    await db.query<HoldRow>(
      `SELECT record FROM holds WHERE org_id = $1 AND record::json #>> '{scope,customer_id}' = $2`,
      [orgId, customerId],
    ),
  );
}

export async function insertHolds(tx: Queryable, holds: readonly Hold[]): Promise<void> {
  await insertMany(
    tx,
    'holds',
    {
      org_id: 'text',
      id: 'text',
      admitted_at: 'timestamptz',
      expires_at: 'timestamptz',
      idempotency_digest: 'text',
      chain_id: 'text',
      record: 'text',
    },
    holds.map((hold) => ({
      org_id: hold.orgId,
      id: hold.id,
      admitted_at: new Date(hold.admittedAtMs),
      expires_at: new Date(hold.expiresAtMs),
      idempotency_digest: hold.idempotency?.digest ?? null,
      chain_id: hold.scope.chain_id,
      record: holdRecord(hold),
    })),
  );
}

/** Maximum rows per statement. A new limit may change every open hold of the org. */
const holdsPerUpdate = 1_000;

export async function updateHolds(tx: Queryable, holds: readonly Hold[]): Promise<void> {
  for (let at = 0; at < holds.length; at += holdsPerUpdate) {
    const chunk = holds.slice(at, at + holdsPerUpdate);
    await tx.query(
      `UPDATE holds h SET record = u.record, expires_at = u.expires_at, chain_id = u.chain_id
         FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
                AS u(org_id, id, record, expires_at, chain_id)
        WHERE h.org_id = u.org_id AND h.id = u.id AND h.org_id = ANY($6)`,
      [
        chunk.map(({ orgId }) => orgId),
        chunk.map(({ id }) => id),
        chunk.map(holdRecord),
        chunk.map(({ expiresAtMs }) => new Date(expiresAtMs)),
        chunk.map(({ scope }) => scope.chain_id),
        distinctOrgs(chunk),
      ],
    );
  }
}

export async function deleteHolds(tx: Queryable, ids: readonly OfOrg[]): Promise<void> {
  if (ids.length > 0) {
    await tx.query(
      `DELETE FROM holds h USING unnest($1::text[], $2::text[]) AS w(org_id, id)
        WHERE h.org_id = w.org_id AND h.id = w.id AND h.org_id = ANY($3)`,
      [...columnsOf(ids), distinctOrgs(ids)],
    );
  }
}
