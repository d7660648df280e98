import { Command, Option } from 'commander';
import {
  listKeys,
  MintKey,
  MintOperatorKey,
  minted,
  mintKey,
  revoked,
  revokeKey,
  viewKey,
} from '../capabilities/access/keys/index.ts';
import { findOrg } from '../capabilities/access/orgs/index.ts';
import { type Appending, openChainHeads, recordChange } from '../capabilities/compliance/audit/index.ts';
import { type Config, loadConfig } from '../config/settings.ts';
import { invalidFields } from '../contract/api-error.ts';
import { type OrgRole, orgRoles, scopes } from '../contract/scopes.ts';
import type { Database, Transaction } from '../platform/db/database.ts';
import { type Caller, platformTenant } from '../platform/http/routes/access.ts';
import { generateKey } from '../platform/http/routes/key-format.ts';
import type { Change } from '../platform/http/routes/route.ts';
import { compileBody } from '../platform/http/routes/validation.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { openSecrets } from '../platform/secrets/secrets.ts';
import { systemClock } from '../platform/time/clock.ts';
import { accountName } from './account-name.ts';
import { print, withMigratedDatabase } from './with-database.ts';

export function keysCommand(): Command {
  return new Command('keys')
    .description('Create, list and revoke keys. With the embedded database, stop the service first.')
    .addCommand(generateCommand())
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function generateCommand(): Command {
  return new Command('generate')
    .description('Print a new key for SVC_BOOTSTRAP_OPERATOR_KEY, without storing it.')
    .action(() => print(generateKey(loadConfig().keyEnvironment)));
}

interface CreateOptions {
  readonly org?: string;
  readonly name: string;
  readonly role?: OrgRole;
  readonly scopes?: string[];
  readonly expiresAt?: string;
}

function createCommand(): Command {
  return new Command('create')
    .description('Create a key and print it once: an operator key, or with --org a key of that organization.')
    .option('--org <id>', 'organization of the key (default: an operator key)')
    .option('--name <name>', 'name of the key', 'made by the command line')
    .addOption(new Option('--role <role>', 'role in the organization (default: owner)').choices(orgRoles))
    .option('--scopes <list>', 'scopes separated by commas (default: all)', parseScopes)
    .option('--expires-at <time>', 'RFC 3339 time with offset (default: never)')
    .action(create);
}

async function create({ org, name, role, scopes: wanted, expiresAt }: CreateOptions): Promise<void> {
  if (org === undefined && (role !== undefined || wanted !== undefined)) {
    throw new Error('--role and --scopes require --org');
  }
  const body = { name, ...(expiresAt !== undefined && { expires_at: expiresAt }) };
  const inOrg = { ...body, role: role ?? 'owner', scopes: wanted ?? [...scopes] } as const;
  // Validated like a request over HTTP, so that the API can show every key that this command creates.
  const fieldErrors = org === undefined ? compileBody(MintOperatorKey)(body) : compileBody(MintKey)(inOrg);
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  const secret = await withMigratedDatabase(async (db, config) => {
    await requireOrg(db, org);
    const appending = await openAppending(db, config);
    const minting = { ids: appending.ids, environment: config.keyEnvironment };
    const validity = { expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt) };
    const draft =
      org === undefined
        ? ({ orgId: null, name, role: 'operator', scopes: [], ...validity } as const)
        : { orgId: org, name, role: inOrg.role, scopes: inOrg.scopes, ...validity };
    return db.transaction(async (tx) => {
      const now = systemClock.now();
      const outcome = minted(await mintKey(tx, minting, now, draft), now);
      const action = org === undefined ? 'operator_keys.mint' : 'keys.mint';
      await recordChanges(tx, appending, now, action, outcome.changes);
      return outcome.body.secret;
    });
  });
  process.stderr.write(
    org === undefined
      ? 'created an operator key:\n'
      : `created a key with the role ${inOrg.role} in ${org}:\n`,
  );
  print(secret);
}

async function requireOrg(db: Database, orgId: string | undefined): Promise<void> {
  if (orgId !== undefined && (await findOrg(db, orgId)) === undefined) {
    throw new Error(`organization ${orgId} not found`);
  }
}

function listCommand(): Command {
  return new Command('list')
    .description(
      'List keys, one JSON object per line: operator keys, or with --org the keys of an organization.',
    )
    .option('--org <id>', 'organization of the keys')
    .action(({ org }: { org?: string }) =>
      withMigratedDatabase(async (db) => {
        await requireOrg(db, org);
        const now = systemClock.now();
        let cursor: string | null | undefined;
        do {
          const query = { limit: 200, ...(cursor != null && { cursor }) };
          const { data, next_cursor } = await listKeys(db, org ?? null, query, now);
          for (const key of data) {
            print(JSON.stringify(viewKey(key, now)));
          }
          cursor = next_cursor;
        } while (cursor !== null);
      }),
    );
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('Revoke a key permanently.')
    .argument('<key-id>', 'such as key_…')
    .option('--org <id>', 'organization of the key (default: an operator key)')
    .action((keyId: string, { org }: { org?: string }) =>
      withMigratedDatabase(async (db, config) => {
        const appending = await openAppending(db, config);
        const now = systemClock.now();
        const orgId = org ?? null;
        await db.transaction(async (tx) => {
          const { changes } = revoked(await revokeKey(tx, now, commandLine, { orgId, keyId }), now);
          const action = orgId === null ? 'operator_keys.revoke' : 'keys.revoke';
          await recordChanges(tx, appending, now, action, changes);
        });
        print(`revoked ${keyId}`);
      }),
    );
}

/** A shell with access to the database has the permissions of an operator. */
const commandLine: Caller = {
  keyId: accountName(),
  role: 'operator',
  scopes: new Set(),
  tenantId: platformTenant,
};

/** Opens the audit log for writing. Needs the secrets key from `SVC_SECRETS_KEY` or the file in the data directory. */
async function openAppending(db: Database, { dataDir, secretsKeys: keys }: Config): Promise<Appending> {
  const secrets = await openSecrets(db, { dataDir, keys });
  return { ids: createIds(systemClock), heads: await openChainHeads(db, secrets, createLog('silent')) };
}

async function recordChanges(
  tx: Transaction,
  appending: Appending,
  now: Date,
  action: string,
  changes: readonly Change[],
) {
  for (const change of changes) {
    await recordChange(
      tx,
      appending,
      { kind: 'command_line', id: commandLine.keyId, at: now },
      action,
      change,
    );
  }
}

function parseScopes(text: string): string[] {
  const wanted = text === 'all' ? [...scopes] : text.split(',').filter((scope) => scope !== '');
  const unknown = wanted.filter((scope) => !(scopes as readonly string[]).includes(scope));
  if (unknown.length > 0) {
    throw new Error(`unknown scope ${unknown.join(', ')}. Valid scopes: ${scopes.join(', ')}`);
  }
  return wanted;
}
