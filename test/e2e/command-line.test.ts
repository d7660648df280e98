/** The command line as it is shipped: every command does what its help says. */
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type ChainPosition, chained, chainStart } from '../../src/capabilities/compliance/audit/chain.ts';
import { ndjsonLine } from '../../src/capabilities/compliance/audit/export-lines.ts';
import { newPrivateKey, publicPemOf, tokenSigner } from '../../src/capabilities/compliance/audit/signing.ts';
import { generateKey, isWellFormedKey } from '../../src/platform/http/routes/key-format.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { inspectDatabase, verifyChains } from '../support/database-inspection.ts';
import { freePort } from '../support/free-port.ts';
import { settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place | undefined;
let settings: Record<string, string> = {};
async function useNewPlace(migrated: boolean): Promise<void> {
  place = await makePlace({ migrated });
  settings = settingsOf(place);
}
afterEach(async () => {
  await endAllProcesses();
  await place?.remove();
});

/** Runs a command that must succeed. Returns its output. */
async function purser(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPurser(args, settings);
  expect(stderr).toMatch(/^(created [^\n]*:\n)?$/);
  expect(code).toBe(0);
  return stdout;
}

/** Runs a command that must fail. Returns its error message. */
async function errorMessage(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPurser(args, settings);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr, 'a sentence, not a stack').not.toMatch(/^ +at /m);
  return stderr;
}

// These commands use no database, so a run on one engine is enough.
describe.runIf(engine === 'embedded')('without a database', () => {
  test('--help names every command, and each command explains itself', async () => {
    const help = await purser('--help');
    for (const command of [
      'serve',
      'init',
      'migrate',
      'backup',
      'restore',
      'move',
      'keys',
      'prices',
      'secrets',
      'audit',
      'config',
      'check',
      'doctor',
      'health',
      'database',
    ]) {
      expect(help).toMatch(new RegExp(`^ +${command}\\b.* \\w+`, 'm'));
      expect(await purser(command, '--help')).toMatch(new RegExp(`^Usage: purser ${command}`));
    }
    expect(await purser('keys', '--help')).toMatch(/generate.*create.*list.*revoke/s);
    expect(help).not.toContain('unexpected');
    expect(await purser('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await errorMessage('embezzle')).toMatch(/unknown command embezzle/);
    expect(await errorMessage('keys', 'create', '--role', 'viewer')).toMatch(/--org/);
  });

  test('audit verify tells a whole export from one that was changed', async () => {
    await useNewPlace(false);
    const file = join(place?.dataDir ?? '', 'export.ndjson');
    const write = (lines: readonly string[]) =>
      writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    const lines = exportOf(3);
    write(lines);
    expect(await purser('audit', 'verify', file)).toMatch(/^valid: 3 entries, 1 to 3; 0 checkpoints agree\n/);
    write(lines.map((line) => line.replace('"bud_2"', '"bud_3"')));
    expect(await errorMessage('audit', 'verify', file)).toMatch(/not valid\n +entry_changed, entry 2: /);
    expect(await errorMessage('audit', 'verify', `${file}.missing`)).toMatch(/ENOENT/);
    const key = join(place?.dataDir ?? '', 'key.pem');
    writeFileSync(key, generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));
    write(lines);
    expect(await purser('audit', 'verify', file, '--public-key', key)).toMatch(/^valid: 3 entries/);
    const answer = join(place?.dataDir ?? '', 'keys.json');
    const { pem, token: kept } = signedPlace(lines[1] ?? '');
    const current = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' });
    const previous = [{ public_key: pem, retired_at: '2026-11-20T00:00:00Z' }];
    writeFileSync(answer, JSON.stringify({ public_key: current, previous }));
    const withKeys = ['audit', 'verify', file, '--public-key', key, '--public-key', answer];
    expect(await purser(...withKeys, '--checkpoint', kept)).toMatch(
      /^valid: 3 entries, 1 to 3; 1 checkpoints agree/,
    );
    const token = ['audit', 'verify', file, '--public-key', key, '--checkpoint', 'nonsense'];
    expect(await errorMessage(...token)).toMatch(/a given checkpoint is invalid/);
    for (const noKey of ['hello', '{', '{}', lines[0] ?? '']) {
      writeFileSync(answer, noKey);
      expect(await errorMessage('audit', 'verify', file, '--public-key', answer)).toMatch(
        /contains no public keys/,
      );
    }
  });

  test('config shows every setting, with secrets masked', async () => {
    const key = generateKey('test');
    const env = {
      SVC_DATABASE_URL: 'postgres://user:hunter2@db.example/purser',
      SVC_BOOTSTRAP_OPERATOR_KEY: key,
      SVC_PORT: '9090',
      SVC_PROT: '1',
    };
    const text = await runPurser(['config'], env);
    const json = await runPurser(['config', '--json'], env);
    expect([text.code, json.code]).toEqual([0, 0]);
    for (const { stdout, stderr } of [text, json]) {
      expect(stdout + stderr).not.toMatch(/hunter2|db\.example/);
      expect(stdout + stderr).not.toContain(key);
      expect(stderr).toContain('SVC_PROT');
    }
    const listed: { name: string; meaning: string; fallback: string; present: string }[] = JSON.parse(
      json.stdout,
    );
    expect(listed.find(({ name }) => name === 'SVC_PORT')).toMatchObject({
      fallback: '8080',
      present: '9090',
    });
    for (const name of ['SVC_DATABASE_URL', 'SVC_BOOTSTRAP_OPERATOR_KEY']) {
      expect(listed.find((setting) => setting.name === name)?.present).toBe('********');
    }
    for (const { name, meaning } of listed) {
      expect(text.stdout).toContain(`${name}\n    ${meaning}`);
    }
    const bad = await runPurser(['config'], { SVC_PORT: 'eighty' });
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain('SVC_PORT');
  });

  test('keys create refuses a role or scope that does not exist', async () => {
    expect(await errorMessage('keys', 'create', '--scopes', 'gold:dig')).toContain('gold:dig');
    expect(await errorMessage('keys', 'create', '--role', 'king')).toContain('king');
  });

  test('keys generate prints a key that is stored nowhere', async () => {
    const [one, two] = await Promise.all([purser('keys', 'generate'), purser('keys', 'generate')]);
    expect(one).toMatch(/^svc_live_\w+\n$/);
    expect(isWellFormedKey(one.trim())).toBe(true);
    expect(one).not.toBe(two);
  });
});

test('doctor exits with 0, 1 or 2, in words or in JSON', async () => {
  await useNewPlace(true);
  const doctor = async (env: Record<string, string>, ...args: string[]) => {
    const { code, stdout, stderr } = await runPurser(['doctor', ...args], { ...settings, ...env });
    expect(stderr).toBe('');
    return { code, stdout };
  };
  const unreachable = { SVC_DATABASE_URL: 'postgres://purser@127.0.0.1:1/purser' };
  const failed = await doctor(unreachable);
  expect(failed.code).toBe(2);
  expect(failed.stdout).toMatch(/^fail +database +Cannot .*SVC_DATABASE_URL.* → Check SVC_DATABASE_URL/m);
  const invalid = await doctor({ SVC_PORT: 'eighty' });
  expect([invalid.code, invalid.stdout]).toEqual([
    2,
    expect.stringMatching(/^fail +settings +SVC_PORT is invalid/),
  ]);
  const json = JSON.parse((await doctor(unreachable, '--json')).stdout);
  expect(json).toMatchObject({ status: 'fail' });
  expect(json.checks).toContainEqual({
    id: 'database',
    status: 'fail',
    finding: expect.any(String),
    remedy: expect.any(String),
  });
  if (engine === 'embedded') {
    const fine = await doctor({ SVC_DATA_DIR: join(place?.dataDir ?? '', 'new') });
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringMatching(/0 warnings, 0 failures/)]);
    const misspelt = await doctor({ SVC_DATA_DIR: join(place?.dataDir ?? '', 'new'), SVC_PROT: '1' });
    expect([misspelt.code, misspelt.stdout]).toEqual([
      1,
      expect.stringMatching(/^warn +settings +Unknown: SVC_PROT/),
    ]);
  }
});

test('health tells whether the service runs, and waits until it can serve', async () => {
  await useNewPlace(true);
  settings.SVC_PORT = String(await freePort());
  expect(await errorMessage('health')).toMatch(/\/healthz did not respond: connect ECONNREFUSED/);
  expect(await errorMessage('health', '--wait', 'soon')).toMatch(/integer from 0 to 3600/);
  const waiting = purser('health', '--ready', '--wait', '600');
  const service = await startPurser(settings);
  expect(await waiting).toBe('ok\n');
  expect(await purser('health')).toBe('ok\n');
  await service.end('SIGTERM');
  expect(await errorMessage('health', '--ready')).toMatch(/\/readyz did not respond/);
  const { pid } = service.spawned.child;
  expect(await errorMessage('health', '--ready', '--wait', '3600', '--pid', String(pid))).toBe(
    `purser: the process ${pid} of the service has ended\n`,
  );
  expect(await errorMessage('health', '--pid', 'none')).toMatch(/Must be a process id/);
});

test('check says what is missing and changes nothing; migrate mends it', async () => {
  await useNewPlace(false);
  const files = readdirSync('migrations')
    .filter((file) => file.endsWith('.sql'))
    .sort();
  const lines = (word: string) => files.map((file) => `${word} ${file}\n`).join('');
  // `purser check` must not create an embedded database.
  const before =
    engine === 'embedded'
      ? 'database +none yet'
      : `database +ok: postgres, PostgreSQL.*\\nmigrations +${files.length} pending`;
  expect(await purser('check')).toMatch(new RegExp(`^settings +ok\\n${before}`));
  expect(existsSync(join(place?.dataDir ?? '', 'database'))).toBe(false);
  expect(await purser('migrate', '--dry-run')).toBe(lines('pending'));
  expect(await purser('migrate')).toBe(lines('applied'));
  expect(await purser('migrate')).toBe('The database is up to date.\n');
  expect(await purser('check')).toMatch(/^migrations +ok$/m);
});

test('keys create, list and revoke work for operators and in an org', async () => {
  await useNewPlace(true);
  const operator = (await purser('keys', 'create', '--name', 'night shift')).trim();
  let service = await startPurser(settings);
  const ask = () => service.request('GET', '/v1/admin/keys?name=night%20shift', { key: operator });
  const { id } = (await ask()).json.data[0];
  const org = (await service.request('POST', '/v1/admin/orgs', { body: { name: 'Acme' } })).json;
  // The embedded database can be opened by one process only, so the service must stop. On PostgreSQL the service keeps
  // running.
  if (engine === 'embedded') {
    await service.end('SIGTERM');
  }

  const inOrg = ['--org', org.id];
  const minted = await purser('keys', 'create', ...inOrg, '--role', 'viewer', '--scopes', 'org:read');
  const viewer = minted.trim();
  const viewers = await purser('keys', 'list', ...inOrg);
  expect(JSON.parse(viewers)).toMatchObject({ org_id: org.id, role: 'viewer', scopes: ['org:read'] });
  expect(viewers).not.toContain(viewer);
  expect(await purser('keys', 'revoke', id)).toBe(`revoked ${id}\n`);
  const operators = (await purser('keys', 'list')).trim().split('\n');
  const statuses = operators.map((line) => JSON.parse(line)).map(({ name, status }) => `${name}: ${status}`);
  expect(statuses.sort()).toEqual(['bootstrap: active', 'night shift: revoked']);
  expect(await errorMessage('keys', 'create', '--org', 'org_missing')).toContain('org_missing');
  expect(await errorMessage('keys', 'revoke', JSON.parse(viewers).id)).toMatch(/^purser: .+\n$/);

  if (engine === 'embedded') {
    service = await startPurser(settings);
  }
  expect(await ask()).toMatchObject({ status: 410, code: 'gone' });
  expect((await service.request('GET', `/v1/orgs/${org.id}`, { key: viewer })).status).toBe(200);
  await service.end('SIGTERM');
  await expectAudited(org.id);
});

test('secrets rotate records its user, also one without an entry in /etc/passwd', async () => {
  await useNewPlace(true);
  const [oldKey, newKey] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await runPurser(['keys', 'create'], { ...settings, SVC_SECRETS_KEY: oldKey });
  const withoutEntry = `import os from 'node:os';
    import { syncBuiltinESMExports } from 'node:module';
    os.userInfo = () => { throw new Error('no entry'); };
    syncBuiltinESMExports();`;
  const rotated = await runPurser(['secrets', 'rotate'], {
    ...settings,
    SVC_SECRETS_KEY: `${newKey},${oldKey}`,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(withoutEntry)}`,
  });
  expect(rotated, rotated.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rotated /) });
  await inspectDatabase(place as Place, async (db) => {
    const entries = await db.query(`SELECT actor_id FROM audit_log WHERE action = 'secrets.rotate'`, []);
    expect(entries).toEqual([{ actor_id: `uid ${process.getuid?.()}` }]);
  });
});

/** Checks that changes made on the command line are in the audit log like all others. */
async function expectAudited(orgId: string): Promise<void> {
  await inspectDatabase(place as Place, async (db) => {
    const entries = await db.query(
      `SELECT tenant_id, action FROM audit_log WHERE actor_kind = 'command_line' ORDER BY action`,
      [],
    );
    expect(entries).toEqual([
      { tenant_id: orgId, action: 'keys.mint' },
      { tenant_id: 'platform', action: 'operator_keys.mint' },
      { tenant_id: 'platform', action: 'operator_keys.revoke' },
    ]);
    expect((await verifyChains(db)).faults).toEqual([]);
  });
}

/** Returns export lines in the format in which the service streams them. */
function exportOf(entries: number): string[] {
  let place: ChainPosition = chainStart;
  return Array.from({ length: entries }, (_, n) => {
    const entry = chained('org_1', place, {
      id: `aud_${n}`,
      at: '2026-11-15T12:00:00.000Z',
      actorKind: 'key',
      actorId: 'key_1',
      action: 'budgets.create',
      outcome: 'success',
      code: null,
      targetKind: 'budget',
      targetId: `bud_${n + 1}`,
      before: null,
      after: {},
      detail: null,
      address: null,
      traceId: null,
    });
    place = entry;
    return ndjsonLine(entry);
  });
}

/** Returns a checkpoint of the line's entry, and the public key of its signer. */
function signedPlace(line: string): { pem: string; token: string } {
  const { org_id, seq, hash, at } = JSON.parse(line);
  const key = newPrivateKey();
  return { pem: publicPemOf(key), token: tokenSigner(key)({ kind: 'checkpoint', org_id, seq, hash, at }) };
}
