/** Encrypts all stored secrets with the current key, in bounded steps. */
import { apiError, invalidFields } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { fitsType } from '../../../platform/http/routes/list.ts';
import { type EncryptedColumn, reencryptBatch } from '../../../platform/secrets/encrypted-columns.ts';
import {
  deleteUsedKeysExcept,
  insertUsedKey,
  processesNotUsingKey,
  readCheck,
  replaceCheck,
  replaceDigestKey,
} from '../../../platform/secrets/key-queries.ts';
import { readKeyFile } from '../../../platform/secrets/key-ring.ts';
import {
  checkContext,
  digestKeyContext,
  findKey,
  type RotatableSecrets,
  useFirstKey,
} from '../../../platform/secrets/secrets.ts';
import { encryptedColumns as members } from '../../access/members/index.ts';
import { encryptedColumns as sso } from '../../access/sso/index.ts';
import { encryptedColumns as connections } from '../../integration/connections/index.ts';
import { encryptedColumns as webhooks } from '../../integration/webhooks/index.ts';
import { encryptedColumns as audit, authenticateHeadsAgain } from '../audit/index.ts';
import { encryptedColumns as erasure } from '../erasure/index.ts';
import { encryptedColumns as retention } from '../retention/index.ts';
import type { RotationStepView } from './schema.ts';

export interface RotationDependencies {
  readonly db: Database;
  readonly secrets: RotatableSecrets;
  readonly keyFile: string | undefined;
}

export type RotationStep = RotationStepView;

const columns: readonly EncryptedColumn[] = [
  ...webhooks,
  ...sso,
  ...audit,
  ...erasure,
  ...retention,
  ...connections,
  ...members,
];

/** Maxima per step, so that it takes a fraction of a second and little memory. Contents of runs have up to a megabyte. */
const valuesPerStep = 500;
const bytesPerStep = 8 * 1024 * 1024;
/** Number of the last part of a pass, after the columns: the heads of audit chains. */
const headsPart = columns.length;
const headsKey: EncryptedColumn['key'] = { tenant_id: 'text' };

interface RotationPosition {
  readonly part: number;
  readonly after?: readonly string[] | undefined;
  readonly seen: number;
  readonly reencrypted: number;
  readonly unreadable: number;
}

export async function rotateStep(
  { db, secrets, keyFile }: RotationDependencies,
  cursor: string | undefined,
): Promise<RotationStep> {
  const position = cursor === undefined ? start : parseCursor(cursor);
  if (position.part === 0 && position.after === undefined) {
    await reloadKeys(db, secrets, keyFile);
  }
  const [keyId] = secrets.keyIds() as readonly [string];
  if ((await processesNotUsingKey(db, keyId)) > 0) {
    throw apiError(
      'conflict',
      `A running process encrypts with another key than ${keyId}. Put this key first in SVC_SECRETS_KEY of every process.`,
    );
  }
  const next = await advance(db, secrets, position);
  const passed = next.part > headsPart;
  // Processes may write values with the old key until the last of them has switched. So a whole pass must find no such value.
  const complete = passed && next.reencrypted === 0;
  if (complete) {
    await finishRotation(db, secrets);
  }
  const { seen, reencrypted, unreadable } = next;
  const following = complete ? null : cursorOf(passed ? start : next);
  return { key_id: keyId, complete, seen, reencrypted, unreadable, next_cursor: following };
}

const start: RotationPosition = { part: 0, seen: 0, reencrypted: 0, unreadable: 0 };

/** Reads the key file again. Only on the embedded engine, because on PostgreSQL each process may have its own file. */
async function reloadKeys(
  db: Database,
  secrets: RotatableSecrets,
  keyFile: string | undefined,
): Promise<void> {
  const keys = keyFile === undefined || db.engine === 'postgres' ? undefined : readKeyFile(keyFile);
  if (keys !== undefined) {
    await useFirstKey(db, keys, findKey(keys, (await readCheck(db)) ?? new Uint8Array(), checkContext));
    secrets.replaceKeys(keys);
  }
}

async function advance(
  db: Database,
  secrets: RotatableSecrets,
  position: RotationPosition,
): Promise<RotationPosition> {
  const column = columns[position.part];
  const batch =
    column === undefined
      ? await authenticateHeadsAgain(db, secrets, position.after?.[0], valuesPerStep)
      : await reencryptBatch(db, secrets, column, position.after, {
          values: valuesPerStep,
          bytes: bytesPerStep,
        });
  return {
    part: batch.next === undefined ? position.part + 1 : position.part,
    after: batch.next,
    seen: position.seen + batch.seen,
    reencrypted: position.reencrypted + batch.reencrypted,
    unreadable: position.unreadable + batch.unreadable,
  };
}

/**
 * Encrypts the key of digests and the check with the current key, and deletes the record of older keys, so that processes can start
 * without them.
 */
async function finishRotation(db: Database, secrets: RotatableSecrets): Promise<void> {
  const [keyId] = secrets.keyIds() as readonly [string];
  await db.transaction(async (tx) => {
    await replaceDigestKey(tx, secrets.encrypt(secrets.digestKey.toString('base64'), digestKeyContext));
    const check = secrets.encrypt(checkContext, checkContext);
    await replaceCheck(tx, check);
    await insertUsedKey(tx, keyId, check);
    await deleteUsedKeysExcept(tx, keyId);
  });
}

function cursorOf(position: RotationPosition): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

function parseCursor(cursor: string): RotationPosition {
  try {
    const position = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as RotationPosition;
    const numbers = [position.part, position.seen, position.reencrypted, position.unreadable];
    const types = Object.values(columns[position.part]?.key ?? headsKey);
    const { after } = position;
    if (
      numbers.every((value) => Number.isSafeInteger(value) && value >= 0) &&
      position.part <= headsPart &&
      (after === undefined ||
        (Array.isArray(after) &&
          after.length === types.length &&
          after.every((text, index) => typeof text === 'string' && fitsType(text, types[index]))))
    ) {
      return position;
    }
  } catch {
    // Reported below.
  }
  throw invalidFields([
    { field: 'cursor', code: 'invalid_value', message: 'Must be `next_cursor` of a previous response.' },
  ]);
}
