/** Open holds in the rows of PostgreSQL. A backup, a restore and a move read and write them. */
import type { BulkConnection } from '../../platform/db/transfer/bulk-connection.ts';
import { holdOfRecord } from '../holds/hold.ts';

const holdsPerRead = 1_000;

/** Reads the records in the transaction of the connection, in batches. */
export async function* readHoldRecords(connection: BulkConnection): AsyncGenerator<string[]> {
  await connection.query(
    'DECLARE open_holds NO SCROLL CURSOR FOR SELECT record FROM holds ORDER BY org_id, id',
  );
  for (;;) {
    const rows = await connection.query<{ record: string }>(`FETCH ${holdsPerRead} FROM open_holds`);
    if (rows.length === 0) {
      return;
    }
    yield rows.map(({ record }) => record);
  }
}

export async function insertHoldRecords(
  connection: BulkConnection,
  records: readonly string[],
): Promise<void> {
  const rows = records.map((record) => {
    const { orgId, id, admittedAtMs, expiresAtMs, idempotency, scope } = holdOfRecord(record);
    const values = [
      orgId,
      id,
      new Date(admittedAtMs).toISOString(),
      new Date(expiresAtMs).toISOString(),
      idempotency?.digest ?? null,
      scope.chain_id,
      record,
    ];
    return values.map(copyValue).join('\t');
  });
  await connection.copyIn(
    'COPY holds (org_id, id, admitted_at, expires_at, idempotency_digest, chain_id, record) FROM STDIN',
    Buffer.from(rows.map((row) => `${row}\n`).join('')),
  );
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Returns a value in the text format of `COPY`. */
function copyValue(value: string | null): string {
  return value === null ? '\\N' : value.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? '');
}
