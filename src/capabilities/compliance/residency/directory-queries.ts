import { insertMany, type Queryable } from '../../../platform/db/database.ts';
import type { ResidencyMode } from '../../access/orgs/index.ts';

/** The key data that other regions get: enough to find the home region of a key, and whether the key is valid. */
export interface DirectoryKey {
  readonly id: string;
  readonly digest: string;
  readonly revoked: boolean;
  readonly ends_at: string | null;
  readonly not_before: string | null;
  readonly expires_at: string | null;
}

export interface HomeOrg {
  readonly id: string;
  /** A string, because the time has more digits than a JavaScript date. */
  readonly changed_at: string;
  readonly home_region: string | null;
  readonly mode: ResidencyMode;
  readonly suspended: boolean;
  readonly keys: bigint;
}

const homeOrgColumns = `SELECT id, directory_changed_at::text AS changed_at, home_region, residency_mode AS mode,
                     status = 'suspended' AS suspended,
                     (SELECT count(*) FROM keys WHERE keys.org_id = orgs.id) AS keys
                FROM orgs`;

export async function databaseNow(db: Queryable): Promise<string> {
  const [row] = await db.query<{ now: string }>('SELECT clock_timestamp()::text AS now', []);
  return row?.now ?? '';
}

/** Returns the orgs with this home region, ordered by id. */
export async function selectHomeOrgs(
  db: Queryable,
  region: string,
  afterOrgId: string,
  limit: number,
): Promise<HomeOrg[]> {
  return db.query<HomeOrg>(`${homeOrgColumns} WHERE home_region = $1 AND id > $2 ORDER BY id LIMIT $3`, [
    region,
    afterOrgId,
    limit,
  ]);
}

/** Returns the orgs that have changed, with any home region, in the order of their changes. */
export async function selectChangedOrgs(
  db: Queryable,
  { since, orgId, backSeconds }: { since: string; orgId: string; backSeconds: number },
  limit: number,
): Promise<HomeOrg[]> {
  return db.query<HomeOrg>(
    `${homeOrgColumns} WHERE (directory_changed_at, id) > ($1::timestamptz - make_interval(secs => $3), $2)
      ORDER BY directory_changed_at, id LIMIT $4`,
    [since, orgId, backSeconds, limit],
  );
}

/** Returns up to `perOrgMax` keys of each org, in no order; active keys are preferred, then the latest. */
export async function selectDirectoryKeys(
  db: Queryable,
  orgIds: readonly string[],
  perOrgMax: number,
): Promise<(DirectoryKey & { readonly org_id: string })[]> {
  const rows = await db.query<DirectoryKeyRow>(
    `SELECT org_id, id, digest, revoked_at IS NOT NULL AS revoked, ends_at, not_before, expires_at FROM (
       SELECT *, row_number() OVER (PARTITION BY org_id ORDER BY revoked_at IS NULL DESC, created_at DESC, id DESC) AS place
         FROM keys WHERE org_id = ANY($1)) AS placed
      WHERE place <= $2`,
    [orgIds, perOrgMax],
  );
  return rows.map(({ ends_at, not_before, expires_at, ...row }) => ({
    ...row,
    ends_at: ends_at?.toISOString() ?? null,
    not_before: not_before?.toISOString() ?? null,
    expires_at: expires_at?.toISOString() ?? null,
  }));
}

interface DirectoryKeyRow {
  readonly org_id: string;
  readonly id: string;
  readonly digest: string;
  readonly revoked: boolean;
  readonly ends_at: Date | null;
  readonly not_before: Date | null;
  readonly expires_at: Date | null;
}

export interface ReceivedOrg {
  readonly org_id: string;
  readonly changed_at: string;
  readonly mode: ResidencyMode;
  readonly suspended: boolean;
  readonly keys: readonly DirectoryKey[];
}

/** Stores an org received from `region`, unless a newer version is stored. */
export async function upsertReceived(tx: Queryable, region: string, org: ReceivedOrg): Promise<void> {
  const written = await tx.query(
    `INSERT INTO directory_orgs AS known (org_id, home_region, mode, suspended, changed_at)
     VALUES ($1, $2, $3, $4, $5::timestamptz)
     ON CONFLICT (org_id) DO UPDATE SET home_region = excluded.home_region, mode = excluded.mode,
       suspended = excluded.suspended, changed_at = excluded.changed_at
       WHERE known.changed_at < excluded.changed_at RETURNING 1 AS one`,
    [org.org_id, region, org.mode, org.suspended, org.changed_at],
  );
  if (written.length === 0) {
    return;
  }
  await tx.query('DELETE FROM directory_keys WHERE org_id = $1', [org.org_id]);
  await insertMany(
    tx,
    'directory_keys',
    {
      org_id: 'text',
      key_id: 'text',
      digest: 'text',
      revoked: 'bool',
      ends_at: 'timestamptz',
      not_before: 'timestamptz',
      expires_at: 'timestamptz',
    },
    org.keys.map(({ id, ends_at, not_before, expires_at, ...key }) => ({
      ...key,
      org_id: org.org_id,
      key_id: id,
      ends_at: dateOf(ends_at),
      not_before: dateOf(not_before),
      expires_at: dateOf(expires_at),
    })),
  );
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

export async function deleteHeard(tx: Queryable, region: string, orgId: string): Promise<void> {
  await tx.query('DELETE FROM directory_orgs WHERE org_id = $1 AND home_region = $2', [orgId, region]);
}

/** Deletes the orgs of a region between two ids that the region did not send. `through` null: to the end. */
export async function deleteOthers(
  tx: Queryable,
  region: string,
  { after, through, sent }: { after: string; through: string | null; sent: readonly string[] },
): Promise<void> {
  await tx.query(
    `DELETE FROM directory_orgs WHERE home_region = $1 AND org_id > $2 AND ($3::text IS NULL OR org_id <= $3)
        AND NOT org_id = ANY($4)`,
    [region, after, through, sent],
  );
}

export interface FoundKey {
  readonly org_id: string;
  readonly key_id: string;
  readonly home_region: string;
  readonly mode: ResidencyMode;
  readonly suspended: boolean;
  readonly revoked: boolean;
  readonly ends_at: Date | null;
  readonly not_before: Date | null;
  readonly expires_at: Date | null;
}

/** Searches all tenants: the digest determines the tenant of the caller. */
export async function findDirectoryKey(db: Queryable, digest: string): Promise<FoundKey | undefined> {
  const [row] = await db.query<FoundKey>(
    `SELECT k.*, o.home_region, o.mode, o.suspended
       FROM directory_keys k JOIN directory_orgs o ON o.org_id = k.org_id WHERE k.digest = $1`,
    [digest],
  );
  return row;
}

export interface PeerLease {
  /** Time up to which changes were received; null: none yet. */
  readonly through: string | null;
  readonly whole_is_due: boolean;
  readonly attempted_at: string | null;
}

/**
 * Acquires the lease for reading a peer's directory, with a maximum duration. Returns undefined if another process has the lease or
 * had it a moment ago.
 */
export async function acquireLease(
  db: Queryable,
  region: string,
  { everyMs, wholeEverySeconds, leaseSeconds }: LeaseTimes,
): Promise<PeerLease | undefined> {
  await db.query(
    `INSERT INTO directory_peers (region, attempted_at) VALUES ($1, 'epoch') ON CONFLICT (region) DO NOTHING`,
    [region],
  );
  const [turn] = await db.query<PeerLease>(
    `UPDATE directory_peers AS peer SET attempted_at = now() + make_interval(secs => $2)
       FROM (SELECT region, attempted_at FROM directory_peers WHERE region = $1 FOR UPDATE) AS before
      WHERE peer.region = before.region AND before.attempted_at <= now() - make_interval(secs => $3)
     RETURNING peer.through::text AS through, before.attempted_at::text AS attempted_at,
               coalesce(peer.whole_at <= now() - make_interval(secs => $4), true) AS whole_is_due`,
    [region, leaseSeconds, everyMs / 1_000, wholeEverySeconds],
  );
  return turn;
}

export interface LeaseTimes {
  readonly everyMs: number;
  readonly wholeEverySeconds: number;
  readonly leaseSeconds: number;
}

/** Stores that the directory of a peer was read up to this time, in full or not, and releases the lease. */
export async function completeLease(
  db: Queryable,
  region: string,
  { through, whole }: { through: string | null; whole: boolean },
): Promise<void> {
  await db.query(
    `UPDATE directory_peers SET attempted_at = now(), through = $2::timestamptz,
            whole_at = CASE WHEN $3 THEN now() ELSE whole_at END
      WHERE region = $1`,
    [region, through, whole],
  );
}

/** Releases the lease after a failure, so that another process can retry. */
export async function releaseLease(db: Queryable, region: string, attemptedAt: string | null): Promise<void> {
  await db.query('UPDATE directory_peers SET attempted_at = $2::timestamptz WHERE region = $1', [
    region,
    attemptedAt,
  ]);
}

/** Returns the age of the data of each region. */
export async function selectAges(db: Queryable): Promise<{ region: string; seconds: number }[]> {
  return db.query<{ region: string; seconds: number }>(
    `SELECT region, greatest(0, extract(epoch FROM now() - attempted_at))::float8 AS seconds FROM directory_peers
      WHERE attempted_at > 'epoch'`,
    [],
  );
}
