/**
 * Guarantees of an `Idempotency-Key` while the service runs. `idempotency-faults` tests its guarantees across faults.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reserve } from '../../src/platform/http/pipeline/idempotency.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { inspectDatabase, oneEffect, orgEffects } from '../support/database-inspection.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { type ServiceAnswer, settingsOf } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
/** On PostgreSQL two processes share the database. The embedded engine has one process, which is used as both. */
let first: FaultyService;
let second: FaultyService;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  first = await startFaulty(settingsOf(place));
  second = engine === 'postgres' ? await startFaulty(settingsOf(place)) : first;
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

const orgs = '/v1/admin/orgs';
const create = (service: FaultyService, idempotencyKey: string, body: object) =>
  service.request('POST', orgs, { body, idempotencyKey });
const named = async (name: string): Promise<unknown[]> =>
  (await first.request('GET', `${orgs}?name=${encodeURIComponent(name)}`)).json.data;

describe('one key', () => {
  test('one key in fifty parallel posts has one effect, and every answer has the same bytes', async () => {
    const body = { name: 'Fifty' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create(i % 2 === 0 ? first : second, 'fifty', body)),
    );
    const created = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(created.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    expect(refused.map(({ status, code }) => `${status} ${code}`)).toEqual(
      refused.map(() => '409 idempotency_key_processing'),
    );
    expect(await named('Fifty')).toEqual([created[0]?.json]);

    const later = await create(second, 'fifty', body);
    expect(later).toMatchObject({ status: 201, text: created[0]?.text, replayed: true });
  });

  test('one key is the same request whatever the order of fields and the white space, and replays a secret', async () => {
    const org = (await create(first, 'spacing org', { name: 'Spacing' })).json;
    const path = `${orgs}/${org.id}/keys`;
    const mint = (raw: string) => first.request('POST', path, { raw, idempotencyKey: 'spacing' });
    const once = await mint('{"name":"k","role":"viewer","scopes":["org:read"]}');
    const again = await mint(' {\n "scopes": [ "org:read" ],\t"role":"viewer", "name" : "k" } ');
    expect(once).toMatchObject({ status: 201, replayed: false });
    expect(again).toMatchObject({ status: 201, replayed: true, text: once.text });
    expect((await first.request('GET', `/v1/orgs/${org.id}`, { key: again.json.secret })).status).toBe(200);
  });

  test('one key with a different body is a conflict, and leaves the stored answer alone', async () => {
    const once = await create(first, 'different', { name: 'One body' });
    const other = await create(second, 'different', { name: 'Another body' });
    expect(other).toMatchObject({ status: 409, code: 'idempotency_key_conflict' });
    expect(await named('Another body')).toEqual([]);
    expect(await create(second, 'different', { name: 'One body' })).toMatchObject({ text: once.text });
  });

  test('one key in flight refuses the same body and a different one', async () => {
    const body = { name: 'In flight' };
    const held = await first.holdAt('handler', 'orgs.create');
    const pending = create(first, 'in flight', body);
    await held.reached;
    expect(await create(second, 'in flight', body)).toMatchObject({
      status: 409,
      code: 'idempotency_key_processing',
    });
    expect(await create(second, 'in flight', { name: 'Other' })).toMatchObject({
      status: 409,
      code: 'idempotency_key_conflict',
    });
    held.goOn();
    const answer = await pending;
    expect(answer).toMatchObject({ status: 201, replayed: false });
    expect(await create(second, 'in flight', body)).toMatchObject({ replayed: true, text: answer.text });
    expect(await named('Other')).toEqual([]);
  });
});

describe('a refusal releases its key', () => {
  test('422, so that a mended body may use it', async () => {
    const refused = await create(first, 'mended', { name: 'Mended', timezone: 'Atlantis/Center' });
    expect(refused).toMatchObject({ status: 422, code: 'validation_failed' });
    expect(await create(second, 'mended', { name: 'Mended', timezone: 'UTC' })).toMatchObject({
      status: 201,
      replayed: false,
    });
  });

  test('409, so that it is judged afresh', async () => {
    expect((await create(first, 'slug 1', { name: 'Taken', slug: 'taken' })).status).toBe(201);
    const refused = await create(first, 'slug 2', { name: 'Taken', slug: 'taken' });
    expect(refused).toMatchObject({ status: 409, code: 'conflict' });
    expect(await create(first, 'slug 2', { name: 'Taken', slug: 'free' })).toMatchObject({ status: 201 });
  });

  test('404 and an unexpected error too', async () => {
    const mint = (name: string) =>
      first.request('POST', `${orgs}/org_missing/keys`, {
        body: { name, role: 'viewer', scopes: [] },
        idempotencyKey: 'nowhere',
      });
    expect(await mint('one')).toMatchObject({ status: 404, replayed: false });
    expect(await mint('two')).toMatchObject({ status: 404, replayed: false });

    await first.throwAt('write.before_commit', 'orgs.create', 'thrown on purpose');
    expect((await create(first, 'fault', { name: 'Fault 1' })).status).toBe(500);
    expect(await create(first, 'fault', { name: 'Fault 2' })).toMatchObject({ status: 201 });
    expect(await named('Fault 1')).toEqual([]);
  });
});

describe('the scope of a key', () => {
  test('the scope of a key is the path: the same key on two orgs is two requests', async () => {
    const ids = await Promise.all(
      ['Left', 'Right'].map(async (name) => (await create(first, `scope ${name}`, { name })).json.id),
    );
    const answers: ServiceAnswer[] = [];
    for (const id of ids) {
      const body = { name: 'k', role: 'viewer', scopes: [] };
      answers.push(await first.request('POST', `${orgs}/${id}/keys`, { body, idempotencyKey: 'shared' }));
    }
    expect(answers.map(({ status, replayed }) => ({ status, replayed }))).toEqual([
      { status: 201, replayed: false },
      { status: 201, replayed: false },
    ]);
    expect(answers.map(({ json }) => json.org_id)).toEqual(ids);
  });

  // Today no two tenants share a path, and no two methods do, so this calls the function directly.
  test('the scope of a key is the tenant and the method as well', async () => {
    const other = await makePlace({ migrated: true });
    await inspectDatabase(other, async (db) => {
      const caller = { tenantId: 'a', keyId: 'k', role: 'admin', scopes: new Set(['keys:write']) } as const;
      const path = { template: '/p/{id}', params: { id: '1' } };
      const request = { caller, method: 'POST', path, query: {}, body: { n: 1 }, key: 'k' };
      const takeover = { processId: 'one', afterSeconds: 60, onUncertain: () => undefined };
      const kind = async (part: object) => (await reserve(db, { ...request, ...part }, takeover)).kind;
      expect(await kind({})).toBe('mine');
      await expect(kind({})).rejects.toMatchObject({ code: 'idempotency_key_processing' });
      expect(await kind({ caller: { ...caller, tenantId: 'b' }, body: { n: 2 } })).toBe('mine');
      expect(await kind({ method: 'PUT', body: { n: 3 } })).toBe('mine');
      expect(await kind({ path: { ...path, params: { id: '2' } }, body: { n: 4 } })).toBe('mine');
      const weaker = { ...caller, role: 'viewer' };
      await expect(kind({ caller: weaker })).rejects.toMatchObject({ code: 'idempotency_key_conflict' });
      await expect(kind({ query: { x: '1' } })).rejects.toMatchObject({ code: 'idempotency_key_conflict' });
    });
    await other.remove();
  });
});

test('a revoked key gets no replay of what it was once answered', async () => {
  const minted = await first.request('POST', '/v1/admin/keys', { body: { name: 'short-lived' } });
  const key = minted.json.secret;
  const replay = () =>
    first.request('POST', orgs, { key, body: { name: 'Replay' }, idempotencyKey: 'standing' });
  expect(await replay()).toMatchObject({ status: 201, replayed: false });
  expect(await replay()).toMatchObject({ status: 201, replayed: true });
  expect((await first.request('DELETE', `/v1/admin/keys/${minted.json.id}`)).status).toBe(204);
  expect(await replay()).toMatchObject({ status: 410, code: 'gone', replayed: false });
});

// Must be the last test, because the embedded database can be read only once its service has stopped.
test('nothing in the database betrays a minted secret or a key that a client chose', async () => {
  const idempotencyKey = 'chosen-by-the-client-5f0c2b';
  const org = (await create(first, 'secret org', { name: 'Secrets' })).json;
  const { status, json } = await first.request('POST', `${orgs}/${org.id}/keys`, {
    body: { name: 'k', role: 'viewer', scopes: [] },
    idempotencyKey,
  });
  expect(status).toBe(201);
  await Promise.all([first, second].map((service) => service.end('SIGTERM')));

  await inspectDatabase(place, async (db) => {
    const tables = await db.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
      [],
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const rows = await db.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t`, []);
      texts.push(...rows.map(({ row }) => row));
    }
    const stored = await db.query<{ body: Uint8Array }>(
      'SELECT body FROM idempotency_keys WHERE body IS NOT NULL',
      [],
    );
    texts.push(...stored.map(({ body }) => Buffer.from(body).toString('latin1')));
    expect(stored.length).toBeGreaterThan(5);
    // A value that is not secret is found, so the search itself works.
    expect(texts.some((text) => text.includes(json.hint))).toBe(true);
    for (const secret of [json.secret, json.secret.slice(json.hint.length), idempotencyKey]) {
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    }
    expect((await orgEffects(db)).get('Fifty')).toEqual(oneEffect);
  });
});
