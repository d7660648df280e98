/** `purser secrets`: rotates the key that encrypts stored secrets. */
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { openChainHeads, recordChange } from '../capabilities/compliance/audit/index.ts';
import { type RotationStep, rotateStep } from '../capabilities/compliance/key-rotation/index.ts';
import { type Config, loadConfig } from '../config/settings.ts';
import type { Database } from '../platform/db/database.ts';
import { DirectoryInUse } from '../platform/db/pglite/directory-lock.ts';
import { platformTenant } from '../platform/http/routes/access.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import {
  keyIdOf,
  readKeyFile,
  replaceKeyFile,
  secretsKeyBytes,
  secretsKeyFile,
} from '../platform/secrets/key-ring.ts';
import { openSecrets, type Secrets } from '../platform/secrets/secrets.ts';
import { systemClock } from '../platform/time/clock.ts';
import { accountName } from './account-name.ts';
import { createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { print, withMigratedDatabase } from './with-database.ts';

export function secretsCommand(): Command {
  const rotate = new Command('rotate')
    .description(
      'Encrypt all stored secrets with the first key of SVC_SECRETS_KEY, while the service runs, and verify that nothing ' +
        'is left on another key. Without that setting, create a new key in the key file of the data directory first. ' +
        'If the rotation is interrupted, run it again.',
    )
    .option('--url <url>', 'URL of the running service, embedded engine only (default: from the settings)')
    .action(rotateKey);
  return new Command('secrets')
    .description('Manage the key that encrypts stored secrets.')
    .addCommand(rotate);
}

type RotateBatch = (cursor: string | undefined) => Promise<RotationStep>;

async function rotateKey({ url }: { readonly url?: string }): Promise<void> {
  const config = loadConfig();
  const file = config.secretsKeys === undefined ? secretsKeyFile(config.dataDir) : undefined;
  const keys = config.secretsKeys ?? (await addKeyToFile(config, file as string));
  if (keys.length < 2) {
    throw new Error(
      'SVC_SECRETS_KEY has one key. To rotate it: add a new key behind it in every process (old,new) and restart; put the ' +
        'new key first (new,old) and restart; then run this command with that setting.',
    );
  }
  const step = await withRotation(config, url, rotateAll);
  if (file !== undefined) {
    await replaceKeyFile(file, keys.slice(0, 1));
    print(`key file    ${file} has only the new key now. Keep a copy of it apart from your backups.`);
  } else {
    print('next        remove the other keys from SVC_SECRETS_KEY of every process');
  }
  if (step.unreadable > 0) {
    print(
      `unreadable  ${step.unreadable} values could not be decrypted before either, and were left as they are`,
    );
  }
}

/** Runs a rotation step. On the embedded engine it calls the running service; otherwise it opens the database. */
async function withRotation(
  config: Config,
  given: string | undefined,
  work: (step: RotateBatch) => Promise<RotationStep>,
): Promise<RotationStep> {
  try {
    return await withMigratedDatabase(async (db) => {
      const secrets = await openSecrets(db, { dataDir: config.dataDir, keys: config.secretsKeys });
      const step = await work((cursor) => rotateStep({ db, secrets, keyFile: undefined }, cursor));
      await recordRotation(db, secrets, step);
      return step;
    });
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) {
      throw error;
    }
  }
  const url = serviceUrl(config, given);
  if (!(await isRunning(url))) {
    throw new Error(
      `a process uses ${config.dataDir}, but there is no service at ${url}: pass its URL with --url`,
    );
  }
  const api = createApi(url);
  const key = await operatorKey(config);
  return work((cursor) =>
    api<RotationStep>(key, 'POST', '/v1/admin/secrets/rotate', cursor === undefined ? {} : { cursor }),
  );
}

/** Records a rotation in the audit log. The service records its own rotations, but this one was made without it. */
async function recordRotation(db: Database, secrets: Secrets, { key_id }: RotationStep): Promise<void> {
  const heads = await openChainHeads(db, secrets, createLog('silent'));
  const actor = { kind: 'command_line', id: accountName(), at: systemClock.now() } as const;
  const target = { kind: 'secrets_key', id: key_id };
  await db.transaction((tx) =>
    recordChange(tx, { ids: createIds(systemClock), heads }, actor, 'secrets.rotate', {
      tenantId: platformTenant,
      target,
      after: { key_id },
    }),
  );
}

async function rotateAll(step: RotateBatch): Promise<RotationStep> {
  let done = await step(undefined);
  while (!done.complete) {
    process.stderr.write(`checked ${done.seen} values, encrypted ${done.reencrypted} again\n`);
    done = await step(done.next_cursor ?? undefined);
  }
  print(
    `rotated     all ${done.seen} values are encrypted with the key ${done.key_id}; verified by a second pass`,
  );
  return done;
}

/** Adds a new key to the file. If the file already has two keys, they belong to an interrupted rotation. */
async function addKeyToFile({ databaseUrl }: Config, file: string): Promise<Buffer[]> {
  if (databaseUrl !== undefined) {
    throw new Error(
      `on PostgreSQL the key must be in SVC_SECRETS_KEY of every process: set it to the content of ${file}, then add a new key behind it`,
    );
  }
  const existing = readKeyFile(file);
  if (existing === undefined) {
    throw new Error(`there is no key to rotate: neither SVC_SECRETS_KEY nor ${file}`);
  }
  if (existing.length > 1) {
    return existing;
  }
  const keys = [randomBytes(secretsKeyBytes), ...existing];
  await replaceKeyFile(file, keys);
  print(`new key     ${keyIdOf(keys[0] as Buffer)}, first in ${file}`);
  return keys;
}
