import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';

export interface DeviceCodeRow {
  readonly org_id: string;
  readonly id: string;
  readonly digest: string;
  readonly user_code_digest: string;
  readonly client_id: string;
  /** The address and the user agent of the tool. */
  readonly address: string;
  readonly user_agent: string;
  readonly interval_seconds: number;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly polled_at: Date | null;
  readonly decided_at: Date | null;
  /** The sign-in of an approved code. Null if the code was denied or is not decided yet. */
  readonly sign_in_id: string | null;
  readonly redeemed_at: Date | null;
}

const columns = `org_id, id, digest, user_code_digest, client_id, address, user_agent, interval_seconds, created_at, expires_at, polled_at,
  decided_at, sign_in_id, redeemed_at`;
const deviceCodes = tableOf<DeviceCodeRow>()('device_codes', { columns, key: ['org_id', 'digest'] });
export const { lock: lockDeviceCode, update: updateDeviceCode } = deviceCodes;

/** Inserts a code. Returns false if its user code is in use. */
export async function insertDeviceCode(db: Queryable, code: DeviceCodeRow): Promise<boolean> {
  const inserted = await db.query(
    `INSERT INTO device_codes (${columns}) VALUES (${deviceCodes.placeholders}) ON CONFLICT DO NOTHING RETURNING 1 AS one`,
    deviceCodes.valuesOf(code),
  );
  return inserted.length > 0;
}

export async function findByUserCode(
  db: Queryable,
  orgId: string,
  userCodeDigest: string,
): Promise<DeviceCodeRow | undefined> {
  const [row] = await db.query<DeviceCodeRow>(
    `SELECT ${columns} FROM device_codes WHERE org_id = $1 AND user_code_digest = $2`,
    [orgId, userCodeDigest],
  );
  return row;
}

/** Returns true if at least `max` codes of the org wait for a decision. */
export async function hasPendingCodes(
  db: Queryable,
  orgId: string,
  max: number,
  now: Date,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 AS one FROM device_codes WHERE org_id = $1 AND expires_at > $2 AND decided_at IS NULL LIMIT $3`,
    [orgId, now, max],
  );
  return rows.length >= max;
}
