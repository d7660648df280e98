/**
 * Retrying clients that continuously create orgs and keys, each request with an idempotency key, and checks of the
 * results.
 */
import { expect } from 'vitest';
import { keyDigest } from '../../src/platform/http/routes/key-format.ts';
import { inspectDatabase, keyEffects, oneEffect, orgEffects, verifyChains } from './database-inspection.ts';
import type { SpendingOrg } from './money.ts';
import { type Patience, patientClients } from './patient-clients.ts';
import type { ServiceAnswer, ServiceProcess } from './service-process.ts';
import type { Place } from './test-database.ts';

interface MadeKey {
  readonly name: string;
  readonly secret: string;
  readonly org_id: string;
  readonly last_used_at: string | null;
}

/** An org and its keys, as the responses described them. */
interface MadeOrg {
  // biome-ignore lint/suspicious/noExplicitAny: a view that is compared with another one.
  readonly view: any;
  readonly keys: MadeKey[];
}

export interface Administrators extends Patience {
  /**
   * Checks over HTTP that each acknowledged org is listed once, and that each key created since the last check is in
   * its org.
   */
  expectAcknowledged(service: ServiceProcess): Promise<void>;
  /**
   * Checks in the database that only acknowledged resources exist, each with one audit entry and one event, and that
   * the audit chains are intact.
   */
  expectExactBooks(place: Place, other: SpendingOrg): Promise<void>;
}

const keysPerOrg = 2;

export function startAdministrators(
  clients: number,
  services: () => readonly ServiceProcess[],
): Administrators {
  const made: MadeOrg[] = [];
  let names = 0;
  let lookedAt = 0;
  const patient = patientClients(services);

  async function post(client: number, path: string, name: string, more: object) {
    const request = { body: { name, ...more }, idempotencyKey: name };
    const answer = await patient.send(client, (service) => service.request('POST', path, request));
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  }

  patient.start(clients, async (client) => {
    const name = `Org ${names++}`;
    const org: MadeOrg = { view: await post(client, '/v1/admin/orgs', name, {}), keys: [] };
    made.push(org);
    for (let n = 0; n < keysPerOrg; n += 1) {
      const more = { role: 'viewer', scopes: ['keys:read'] };
      const path = `/v1/admin/orgs/${org.view.id}/keys`;
      org.keys.push(await post(client, path, `${name}, key ${n}`, more));
    }
  });

  return {
    ...patient,
    async expectAcknowledged(service) {
      const listed = await listAll(service, '/v1/admin/orgs');
      for (const { view } of made) {
        expect(
          listed.filter(({ name }) => name === view.name),
          view.name,
        ).toEqual([view]);
      }
      for (const { keys } of made.slice(lookedAt)) {
        await expectListed(service, keys);
      }
      // The last orgs may get further keys, so they are checked again.
      lookedAt = Math.max(0, made.length - clients);
    },
    async expectExactBooks(place, other) {
      await inspectDatabase(place, async (db) => {
        const names = made.map(({ view }) => view.name);
        const effects = new Map([...names, 'Spender'].map((name) => [name, oneEffect]));
        expect(await orgEffects(db)).toEqual(effects);

        const minted = made.flatMap(({ keys }) => keys);
        const sql = 'SELECT digest FROM keys WHERE org_id IS NOT NULL ORDER BY digest';
        const digests = await db.query<{ digest: string }>(sql, []);
        const secrets = [...minted.map(({ secret }) => secret), other.key];
        expect(digests.map(({ digest }) => digest)).toEqual(secrets.map(keyDigest).sort());
        const ofKeys = await keyEffects(db);
        expect(minted.map(({ name }) => ofKeys.get(name))).toEqual(minted.map(() => oneEffect));

        const { tenants, faults } = await verifyChains(db);
        expect(faults).toEqual([]);
        expect(tenants.sort()).toEqual([...made.map(({ view }) => view.id), other.id, 'platform'].sort());
        // The same check detects an entry that was changed directly in the database.
        await db.query(`UPDATE audit_log SET actor_id = 'x' WHERE tenant_id = 'platform' AND seq = 1`, []);
        expect((await verifyChains(db)).faults).toHaveLength(1);
      });
    },
  };
}

async function expectListed(service: ServiceProcess, keys: readonly MadeKey[]): Promise<void> {
  const [first] = keys;
  if (first !== undefined) {
    const listed = await listAll(service, `/v1/orgs/${first.org_id}/keys`, first.secret);
    // Listing the keys may itself update `last_used_at`.
    const told = listed.map(({ last_used_at: _, ...view }) => view);
    for (const { secret: _, last_used_at: __, ...view } of keys) {
      expect(told.filter(({ name }) => name === view.name)).toEqual([view]);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: views of two kinds.
async function listAll(service: ServiceProcess, path: string, key?: string): Promise<any[]> {
  const found = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer: ServiceAnswer = await service.request('GET', `${path}?limit=200${after}`, {
      ...(key !== undefined && { key }),
    });
    expect(answer.status, answer.text).toBe(200);
    found.push(...answer.json.data);
    cursor = answer.json.next_cursor;
  } while (cursor !== null);
  return found;
}
