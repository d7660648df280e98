/** Creates the first operator key: a random one, or the key that the operator chose. Everything else is created with it. */
import { join } from 'node:path';
import type { Database } from '../../../platform/db/database.ts';
import { makeDirectory, writePrivateFile } from '../../../platform/files/durable-files.ts';
import { generateKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { type Minting, mintKey } from './keys.ts';
import { minted } from './outcomes.ts';
import { findKeyByDigest, operatorKeyExists } from './queries.ts';

export interface BootstrapOptions extends Minting, Appending {
  readonly db: Database;
  readonly clock: Clock;
  readonly dataDir: string;
  /** The key that the operator chose, if any. */
  readonly chosenKey: string | undefined;
}

export type Bootstrapped =
  | { readonly kind: 'present' }
  | { readonly kind: 'chosen' }
  | { readonly kind: 'made'; readonly file: string };

/** Advisory lock, so that only one of several starting processes creates the key. */
const lockId = 7_077_370_602;

export async function bootstrapOperator(options: BootstrapOptions): Promise<Bootstrapped> {
  const { db, clock, dataDir, chosenKey } = options;
  return db.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [lockId]);
    const there =
      chosenKey === undefined
        ? await operatorKeyExists(tx)
        : (await findKeyByDigest(tx, keyDigest(chosenKey))) !== undefined;
    if (there) {
      return { kind: 'present' };
    }
    const secret = chosenKey ?? generateKey(options.environment);
    const draft = { orgId: null, name: 'bootstrap', role: 'operator', scopes: [] } as const;
    const now = clock.now();
    const { changes } = minted(await mintKey(tx, options, now, draft, secret), now);
    for (const change of changes) {
      await recordChange(
        tx,
        options,
        { kind: 'service', id: 'bootstrap', at: now },
        'operator_keys.mint',
        change,
      );
    }
    if (chosenKey !== undefined) {
      return { kind: 'chosen' };
    }
    // The file is written before the commit, because a committed key without a stored secret could never be used.
    return { kind: 'made', file: writeSecretFile(dataDir, secret) };
  });
}

function writeSecretFile(dataDir: string, secret: string): string {
  makeDirectory(dataDir);
  const file = join(dataDir, 'operator-key');
  writePrivateFile(file, `${secret}\n`);
  return file;
}
