import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';
import { scratch } from '../../../../test/support/scratch.ts';
import { type EncryptedColumn, reencryptBatch } from '../../../platform/secrets/encrypted-columns.ts';
import {
  keyIdOf,
  readKeyFile,
  replaceKeyFile,
  secretsKeyBytes,
  secretsKeyFile,
} from '../../../platform/secrets/key-ring.ts';
import { openSecrets } from '../../../platform/secrets/secrets.ts';
import { encryptedColumns } from '../retention/index.ts';

let dataDir: string;
let world: World;
let org: TestOrg;
const newKey = Buffer.alloc(secretsKeyBytes, 9);

beforeEach(async () => {
  dataDir = mkdtempSync(join(scratch, 'purser-rotation-'));
  world = await createWorld({ SVC_DATA_DIR: dataDir, SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
  org = await world.createOrg();
});
afterEach(async () => {
  await world.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const keysInFile = () => readKeyFile(secretsKeyFile(dataDir)) as Buffer[];
async function addKey(): Promise<void> {
  const keys = [newKey, ...keysInFile()];
  await replaceKeyFile(secretsKeyFile(dataDir), keys);
  if (world.db.engine === 'postgres') {
    // As if the process was restarted with both keys. While it has not published the new one, nothing is rotated.
    world.services.secrets.replaceKeys(keys);
    expect((await rotate()).json.error.code).toBe('conflict');
    await world.services.processes.beat();
    await openSecrets(world.db, { dataDir, keys });
  }
}
const rotate = (body: object = {}) =>
  world.request('POST', '/v1/admin/secrets/rotate', { key: world.operatorKey, body });

/** Calls until the rotation is complete. Returns the values that were encrypted again. */
async function rotateAll(): Promise<number> {
  let reencrypted = 0;
  let { json: step } = await rotate();
  for (let calls = 0; !step.complete; calls += 1) {
    expect(calls).toBeLessThan(50);
    const before = step.reencrypted;
    ({ json: step } = await rotate({ cursor: step.next_cursor }));
    reencrypted += Math.max(0, step.reencrypted - (step.reencrypted >= before ? before : 0));
  }
  expect(step).toMatchObject({ key_id: keyIdOf(newKey), unreadable: 0, next_cursor: null });
  return reencrypted;
}

async function storeSecrets() {
  const base = `/v1/orgs/${org.id}`;
  const key = org.ownerKey;
  await world.request('GET', `/v1/admin/orgs/${org.id}/webhook-secret`, { key: world.operatorKey });
  const subscription = await world.request('POST', `${base}/webhooks`, {
    key,
    body: { url: 'http://127.0.0.1:9/', events: ['*'] },
  });
  const path = `${base}/webhooks/${subscription.json.id}/signing`;
  await world.request('POST', `${path}/rotate`, { key });
  await world.request('POST', `${path}/rotate`, { key, body: { force: true } });
  const connection = await world.request('POST', `${base}/connections`, {
    key,
    body: { name: 'a', kind: 'openai', api_key: 'sk-old' },
  });
  await world.request('POST', `${base}/connections/${connection.json.id}/rotate`, {
    key,
    body: { api_key: 'sk-new' },
  });
  await world.request('PUT', `${base}/retention-policy`, { key, body: { content_days: 30 } });
  const run = {
    external_id: 'mine',
    model: 'm',
    cost_usd: '1',
    input_tokens: 1,
    output_tokens: 1,
    content: 'kept content',
  };
  const posted = await world.request('POST', '/v1/runs', { key, body: run });
  expect(posted.status, posted.text).toBe(201);
  return {
    fingerprint: async () => (await world.request('GET', path, { key })).json.fingerprint as string,
    repeatRun: () => world.request('POST', '/v1/runs', { key, body: run }),
    otherRun: () => world.request('POST', '/v1/runs', { key, body: { ...run, cost_usd: '2' } }),
    verify: () => world.request('GET', `${base}/audit-log/verify`, { key }),
  };
}

test('encrypts everything with the new key while the service runs; then the old key is not needed', async () => {
  const stored = await storeSecrets();
  const fingerprint = await stored.fingerprint();
  const [oldKey] = keysInFile() as [Buffer];
  await addKey();
  expect(await rotateAll()).toBeGreaterThanOrEqual(8);

  // Digests that cannot be computed again stay valid: a repeated run is the same run, a different one a conflict.
  expect(await stored.fingerprint()).toBe(fingerprint);
  expect((await stored.repeatRun()).status).toBe(201);
  expect((await stored.otherRun()).json.error.code).toBe('conflict');
  expect((await stored.verify()).json).toMatchObject({ valid: true });

  const after = await openSecrets(world.db, { dataDir, keys: [newKey] });
  expect(after.digestKey.equals(oldKey)).toBe(true);
  const sealed = await world.db.query<{ secret: Uint8Array; previous_secret: Uint8Array; id: string }>(
    'SELECT secret, previous_secret, id FROM webhook_subscriptions WHERE org_id = $1',
    [org.id],
  );
  for (const { id, secret, previous_secret } of sealed) {
    expect(after.decrypt(secret, `webhook_subscription ${org.id} ${id}`)).toMatch(/^whsec_/);
    expect(after.decrypt(previous_secret, `webhook_subscription ${org.id} ${id}`)).toMatch(/^whsec_/);
  }
  const [connection] = await world.db.query<{
    id: string;
    api_key: Uint8Array;
    previous_api_key: Uint8Array;
  }>('SELECT id, api_key, previous_api_key FROM connections WHERE org_id = $1', [org.id]);
  const context = `connection ${org.id} ${connection?.id}`;
  expect(after.decrypt(connection?.api_key as Uint8Array, context)).toBe('sk-new');
  expect(after.decrypt(connection?.previous_api_key as Uint8Array, context)).toBe('sk-old');
  const [run] = await world.db.query<{ id: string; content: string }>('SELECT id, content FROM runs', []);
  const content = Buffer.from(run?.content ?? '', 'base64');
  expect(after.decrypt(content, `run_content:${org.id}:${run?.id}`)).toBe('kept content');
  await expect(openSecrets(world.db, { dataDir, keys: [oldKey] })).rejects.toThrow(
    /SVC_SECRETS_KEY cannot open/,
  );
  const [entry] = (
    await world.request('GET', '/v1/admin/audit-log?action=secrets.rotate', { key: world.operatorKey })
  ).json.data;
  expect(entry).toMatchObject({ action: 'secrets.rotate', target: { id: keyIdOf(newKey) } });
});

test('continues after an interruption, and changes nothing when it is repeated', async () => {
  await storeSecrets();
  await addKey();
  const first = await rotate();
  expect(first.json.complete).toBe(false);
  // The cursor is lost, as after a crash of the command.
  expect(await rotateAll()).toBeGreaterThanOrEqual(5);
  const again = await rotate();
  expect(again.json.reencrypted).toBe(0);
  expect(await rotateAll()).toBe(0);
});

test('leaves a value that no key decrypts, and an audit log whose end is forged', async () => {
  await storeSecrets();
  await world.db.query('UPDATE webhook_org_secrets SET secret = $1', [randomBytes(60)]);
  await world.db.query(`UPDATE audit_chains SET mac = $1 WHERE tenant_id = $2`, [randomBytes(32), org.id]);
  await addKey();
  let { json: step } = await rotate();
  while (!step.complete) {
    ({ json: step } = await rotate({ cursor: step.next_cursor }));
  }
  expect(step.unreadable).toBe(2);
  const verified = await world.request('GET', `/v1/orgs/${org.id}/audit-log/verify`, { key: org.ownerKey });
  expect(verified.json.valid).toBe(false);
});

test('rejects a cursor that it did not issue', async () => {
  for (const cursor of ['x', Buffer.from('{"part":99}').toString('base64url'), '']) {
    const { status, json } = await rotate({ cursor });
    expect(status).toBe(422);
    expect(json.error.details.fields[0].field).toBe('cursor');
  }
});

test('rejects a position that the key of its table cannot have', async () => {
  const statusAt = async (part: number, after: readonly string[]) => {
    const position = { part, after, seen: 0, reencrypted: 0, unreadable: 0 };
    const cursor = Buffer.from(JSON.stringify(position)).toString('base64url');
    return (await rotate({ cursor })).status;
  };
  const accepted: boolean[] = [];
  for (let part = 0; part < 20; part += 1) {
    for (const length of [1, 2, 3]) {
      expect(await statusAt(part, Array<string>(length).fill('a\0b'))).toBe(422);
      const status = await statusAt(part, Array<string>(length).fill('abc'));
      expect([200, 422]).toContain(status);
      accepted.push(status === 200);
    }
  }
  expect(accepted).toContain(true);
});

test('encrypts long values in batches of few bytes, at least one at a time', async () => {
  await storeSecrets();
  const [stored] = await world.db.query<{ content: string }>('SELECT content FROM runs', []);
  const bytes = stored?.content.length ?? 0;
  for (const external_id of ['second', 'third']) {
    const body = { external_id, model: 'm', cost_usd: '1', content: 'kept content' };
    expect((await world.request('POST', '/v1/runs', { key: org.ownerKey, body })).status).toBe(201);
  }
  const [contents] = encryptedColumns;
  const sizes = async (bytesMax: number) => {
    const seen: number[] = [];
    for (let next: readonly string[] | undefined, step = 0; step === 0 || next !== undefined; step += 1) {
      expect(step).toBeLessThan(5);
      const max = { values: 500, bytes: bytesMax };
      const batch = await reencryptBatch(
        world.db,
        world.services.secrets,
        contents as EncryptedColumn,
        next,
        max,
      );
      seen.push(batch.seen);
      next = batch.next;
    }
    return seen;
  };
  expect(await sizes(1)).toEqual([1, 1, 1, 0]);
  expect(await sizes(2 * bytes)).toEqual([2, 1]);
  expect(await sizes(3 * bytes)).toEqual([3]);
});

test('a process that lacks a key in use does not start, and a key is used only once all processes have it', async () => {
  const keys = keysInFile();
  await openSecrets(world.db, { dataDir, keys: [...keys, newKey] });
  if (world.db.engine === 'postgres') {
    // The process of this test has only the old key.
    await expect(openSecrets(world.db, { dataDir, keys: [newKey, ...keys] })).rejects.toThrow(
      /1 running processes do not have the first key/,
    );
    await world.db.query('DELETE FROM processes', []);
  }
  await openSecrets(world.db, { dataDir, keys: [newKey, ...keys] });
  await expect(openSecrets(world.db, { dataDir, keys })).rejects.toThrow(
    new RegExp(`lacks the key ${keyIdOf(newKey)}`),
  );
  await expect(openSecrets(world.db, { dataDir, keys: [newKey] })).rejects.toThrow(/cannot open/);
});
