/** `kill -9` in the middle of writes, again and again on the same data: what was acknowledged is there, once. */
import { randomInt } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { keyDigest } from '../../src/platform/http/key-format.ts';
import { seededBytes } from '../harness.ts';
import { keyEffects, oneEffect, orgEffects, readBooks, verifyChains } from '../support/books.ts';
import { endAllProcesses } from '../support/child-process.ts';
import {
  retryWhile,
  type ServiceAnswer,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

const kills = 10;
const writers = 8;
const keysPerOrg = 2;

/** Says when to kill: with the same seed the same numbers of answers are waited for. */
const seed = Number(process.env.PURSER_TEST_SEED ?? randomInt(2 ** 31));
const bytes = seededBytes(seed);
const answersBeforeKill = () => 5 + ((bytes(1)[0] ?? 0) % 36);

interface Write {
  /** Unique, and the `Idempotency-Key` too. */
  readonly name: string;
  readonly path: string;
  readonly body: object;
  answer: ServiceAnswer | undefined;
}

/** An org and the keys in it, in the order of their writing. */
interface OrgWrites {
  readonly org: Write;
  readonly keys: Write[];
}

let place: Place;
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

test(`every acknowledged write survives ${kills} kills, once, and so does every retry`, async () => {
  process.stdout.write(`kill-nine: PURSER_TEST_SEED=${seed}\n`);
  place = await makePlace({ migrated: true });
  const settings = { ...settingsOf(place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
  const all: OrgWrites[] = [];
  let cutOff = 0;

  for (let round = 0; round < kills; round += 1) {
    const service = await startPurser(settings);
    await expectAcknowledged(service, all);
    await retryUnanswered(service, all);
    await writeUntilKilled(service, all, answersBeforeKill());
    cutOff += unanswered(all).length;
  }
  expect(cutOff, 'writes that a kill cut off').toBeGreaterThanOrEqual(kills);

  const service = await startPurser(settings);
  await retryUnanswered(service, all);
  await expectAcknowledged(service, all);
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  await expectExactBooks(all);
}, 240_000);

/** Writes from several clients at once; the kill comes after so many answers, with the others in flight. */
async function writeUntilKilled(service: ServiceProcess, all: OrgWrites[], answers: number): Promise<void> {
  let left = answers;
  let killed = false;
  async function attempt(write: Write): Promise<boolean> {
    try {
      const answer = await post(service, write);
      expect(answer.status, answer.text).toBe(201);
      write.answer = answer;
      left -= 1;
    } catch (error) {
      if (!killed) {
        throw error;
      }
    }
    if (left <= 0 && !killed) {
      killed = true;
      service.spawned.child.kill('SIGKILL');
    }
    return !killed;
  }
  async function writer(): Promise<void> {
    for (;;) {
      const mine = newOrg(all.length);
      all.push(mine);
      if (!(await attempt(mine.org))) {
        return;
      }
      for (let n = 0; n < keysPerOrg; n += 1) {
        const key = newKey(mine.org, n);
        mine.keys.push(key);
        if (!(await attempt(key))) {
          return;
        }
      }
    }
  }
  await Promise.all(Array.from({ length: writers }, writer));
  expect(await service.spawned.ended).toEqual({ code: null, signal: 'SIGKILL' });
}

/** As a client would that never heard: the same key and body, until the reservation of the dead process is taken over. */
async function retryUnanswered(service: ServiceProcess, all: readonly OrgWrites[]): Promise<void> {
  await Promise.all(
    unanswered(all).map(async (write) => {
      const answer = await retryWhile(['idempotency_key_processing'], () => post(service, write));
      expect(answer.status, answer.text).toBe(201);
      write.answer = answer;
    }),
  );
}

/** Over HTTP: each acknowledged org is listed once, each acknowledged key is listed once in its org. */
async function expectAcknowledged(service: ServiceProcess, all: readonly OrgWrites[]): Promise<void> {
  const orgs = await listAll(service, '/v1/admin/orgs');
  for (const { org, keys } of all) {
    const acknowledged = keys.flatMap(({ answer }) => (answer === undefined ? [] : [answer.json]));
    if (org.answer !== undefined) {
      expect(
        orgs.filter(({ name }) => name === org.name),
        org.name,
      ).toEqual([org.answer.json]);
    }
    const last = acknowledged.at(-1);
    if (last !== undefined) {
      const listed = await listAll(service, `/v1/orgs/${last.org_id}/keys`, last.secret);
      for (const { secret: _, ...view } of acknowledged) {
        expect(listed.filter(({ name }) => name === view.name)).toEqual([view]);
      }
    }
  }
}

/** From the rows: nothing but what was written, each with one audit entry and one event, in whole chains. */
async function expectExactBooks(all: readonly OrgWrites[]): Promise<void> {
  await readBooks(place, async (db) => {
    const orgNames = all.map(({ org }) => org.name);
    expect(await orgEffects(db)).toEqual(new Map(orgNames.map((name) => [name, oneEffect])));

    const minted = all.flatMap(({ keys }) => keys);
    const digests = await db.query<{ digest: string }>(
      'SELECT digest FROM keys WHERE org_id IS NOT NULL',
      [],
    );
    expect(new Set(digests.map(({ digest }) => digest))).toEqual(
      new Set(minted.map(({ answer }) => keyDigest(answer?.json.secret))),
    );
    const effects = await keyEffects(db);
    expect(minted.map(({ name }) => effects.get(name))).toEqual(minted.map(() => oneEffect));

    const { tenants, faults } = await verifyChains(db);
    expect(faults).toEqual([]);
    expect(tenants.sort()).toEqual([...all.map(({ org }) => org.answer?.json.id), 'platform'].sort());
    // The same look finds an entry that was changed behind the service's back.
    await db.query(`UPDATE audit_log SET actor_id = 'someone' WHERE tenant_id = 'platform' AND seq = 1`, []);
    expect((await verifyChains(db)).faults).toHaveLength(1);
  });
}

function newOrg(number: number): OrgWrites {
  const name = `Org ${number}`;
  return { org: { name, path: '/v1/admin/orgs', body: { name }, answer: undefined }, keys: [] };
}

function newKey(org: Write, number: number): Write {
  const name = `${org.name}, key ${number}`;
  return {
    name,
    path: `/v1/admin/orgs/${org.answer?.json.id}/keys`,
    body: { name, role: 'viewer', scopes: ['keys:read'] },
    answer: undefined,
  };
}

function unanswered(all: readonly OrgWrites[]): Write[] {
  return all.flatMap(({ org, keys }) => [org, ...keys]).filter(({ answer }) => answer === undefined);
}

function post(service: ServiceProcess, { path, body, name }: Write): Promise<ServiceAnswer> {
  return service.request('POST', path, { body, idempotencyKey: name });
}

// biome-ignore lint/suspicious/noExplicitAny: views of two kinds.
async function listAll(service: ServiceProcess, path: string, key?: string): Promise<any[]> {
  const found = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, json, text } = await service.request('GET', `${path}?limit=200${after}`, {
      ...(key !== undefined && { key }),
    });
    expect(status, text).toBe(200);
    found.push(...json.data);
    cursor = json.next_cursor;
  } while (cursor !== null);
  return found;
}
