/** Checks of the secrets keys: that they exist, are private, and match the database. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Queryable } from '../../platform/db/database.ts';
import { parseSecretsKeys, secretsKeyFile } from '../../platform/secrets/key-ring.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const secretsChecks: readonly Check[] = [
  { id: 'secrets-key', run: checkSecretsKey },
  { id: 'secrets-decrypt', run: checkDecryption },
  { id: 'operator-key', run: checkOperatorKey },
];

function checkSecretsKey({ config: { secretsKeys, dataDir }, engine }: InspectedDeployment): Finding {
  if (secretsKeys !== undefined) {
    return ok('SVC_SECRETS_KEY is set.');
  }
  const file = secretsKeyFile(dataDir);
  const mode = modeOf(file);
  if (mode === undefined) {
    return ok(`SVC_SECRETS_KEY is not set; the first start creates a key in ${file}.`);
  }
  const problem = privacyProblem(file, mode);
  if (problem !== undefined) {
    return problem;
  }
  if (parseSecretsKeys(readFileSync(file, 'utf8').trim().split(/\s+/).join()) === undefined) {
    return fail(`${file} does not contain a key.`, 'Restore it from your backup, or set SVC_SECRETS_KEY.');
  }
  return engine === 'postgres'
    ? warn(
        `The key is in ${file} on this machine only.`,
        'Set SVC_SECRETS_KEY to the content of that file, the same for every process on this database.',
      )
    : ok(`The key is in ${file}; back it up apart from the database.`);
}

async function checkDecryption({
  config: { secretsKeys: keys, dataDir },
  database,
}: InspectedDeployment): Promise<Finding> {
  if (database.state === 'in-use') {
    return ok('The running service has decrypted its secrets; it does not start otherwise.');
  }
  if (database.state !== 'open') {
    return skip('The database is not available.');
  }
  const { db } = database;
  if (!(await hasStoredSecrets(db))) {
    return skip('No secrets are stored yet.');
  }
  try {
    await openSecrets(db, { dataDir, keys });
    return ok('The key decrypts the stored secrets.');
  } catch (error) {
    return fail(
      `${sentence((error as Error).message)}`,
      'Set SVC_SECRETS_KEY to the key of the first start, from your backup.',
    );
  }
}

async function hasStoredSecrets(db: Queryable): Promise<boolean> {
  const [table] = await db.query<{ name: string | null }>(
    `SELECT to_regclass('secrets_key_check')::text AS name`,
    [],
  );
  if (table?.name == null) {
    return false;
  }
  return (await db.query('SELECT 1 AS one FROM secrets_key_check LIMIT 1', [])).length > 0;
}

async function checkOperatorKey({ config, service }: InspectedDeployment): Promise<Finding> {
  const file = join(config.dataDir, 'operator-key');
  const mode = modeOf(file);
  const problem = mode === undefined ? undefined : privacyProblem(file, mode);
  if (problem !== undefined) {
    return problem;
  }
  if (config.bootstrapOperatorKey === undefined && mode === undefined) {
    return skip(`SVC_BOOTSTRAP_OPERATOR_KEY is not set, and there is no ${file}.`);
  }
  if (service === undefined) {
    return ok('Present; not tried, because the service is not running.');
  }
  try {
    await service.read('/v1/admin/keys?limit=1');
    return ok('The service accepts it.');
  } catch (error) {
    return warn(
      `The service rejects it: ${sentence((error as Error).message)}`,
      `Set SVC_BOOTSTRAP_OPERATOR_KEY to a valid operator key, or replace ${file}.`,
    );
  }
}

function privacyProblem(file: string, mode: number): Finding | undefined {
  return (mode & 0o077) === 0
    ? undefined
    : fail(
        `${file} has the mode 0${mode.toString(8)}: other users may read it.`,
        `Run \`chmod 0600 ${file}\`, and replace the key if others have access to this machine.`,
      );
}

function modeOf(file: string): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && stats.mode & 0o777;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}
