/**
 * Services in processes of their own with the gateway in front of a mock provider. Each call has a number, so that what the
 * ledger has posted for it can be compared with what the provider has billed for it.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { selectAllHolds, updateHolds } from '../../src/ledger/postgres/postgres-holds.ts';
import { endAllProcesses } from './child-process.ts';
import { inspectDatabase } from './database-inspection.ts';
import { eventually } from './eventually.ts';
import { prices } from './gateway-world.ts';
import {
  type BilledCall,
  type MockProvider,
  type ReceivedRequest,
  startMockProvider,
} from './mock-provider.ts';
import { nanos, type SpendingOrg, spending, sum, zoneAtNoon } from './money.ts';
import { type ServiceProcess, settingsOf, startPurser } from './service-process.ts';
import { engine, makePlace, type Place } from './test-database.ts';

export interface GatewayProcesses {
  readonly place: Place;
  readonly provider: MockProvider;
  /** Those that run now. */
  services: ServiceProcess[];
  start(): Promise<ServiceProcess>;
  /** Creates an org with connections to the provider and a key that may call and read everything. */
  createOrg(settings?: object): Promise<SpendingOrg>;
  /**
   * Lets the holds of an org expire as if their time had passed. The calls in progress of running services have ended before. On
   * the embedded engine the service is started again with a later clock.
   */
  expireHolds(org: SpendingOrg): Promise<void>;
  remove(): Promise<void>;
}

const shiftedClock = fileURLToPath(new URL('./shifted-clock.mjs', import.meta.url));
/** Longer than any hold of these calls, and shorter than the time until the day ends in `zoneAtNoon`. */
const laterMs = 1_800_000;
/** The hold of a call lasts two minutes longer. */
const timeouts = { total_ms: 60_000, first_byte_ms: 60_000 };

/** Starts this many services, by default on a database of their own. */
export async function createGatewayProcesses(
  count: number,
  env: Record<string, string> = {},
  given?: Place,
): Promise<GatewayProcesses> {
  const place = given ?? (await makePlace({ migrated: true }));
  const provider = await startMockProvider();
  let shift: Record<string, string> = {};
  const base = { ...settingsOf(place), SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true', ...env };
  const first = () => world.services[0] as ServiceProcess;
  const world: GatewayProcesses = {
    place,
    provider,
    services: [],
    start: () => startPurser({ ...base, ...shift }),
    async createOrg(settings = {}) {
      const send = async (method: string, path: string, body: object) => {
        const { status, json, text } = await first().request(method, path, { body });
        expect(status, text).toBeLessThan(300);
        return json;
      };
      const { id } = await send('POST', '/v1/admin/orgs', { name: 'Caller', timezone: zoneAtNoon() });
      const { secret } = await send('POST', `/v1/admin/orgs/${id}/keys`, {
        name: 'k',
        role: 'owner',
        scopes,
      });
      const org = { id, key: secret };
      for (const kind of ['openai', 'anthropic']) {
        const base_url = kind === 'openai' ? `${provider.url}/v1` : provider.url;
        const body = { name: kind, kind, base_url, api_key: 'sk-mock', timeouts };
        expect((await spending(first(), org).send('POST', `/v1/orgs/${id}/connections`, body)).status).toBe(
          201,
        );
      }
      const put = await spending(first(), org).send('PUT', `/v1/orgs/${id}/gateway`, settings);
      expect(put.status, put.text).toBe(200);
      return org;
    },
    async expireHolds(org) {
      // Settlements on disk are posted first, also those of killed processes.
      await eventually(() => expect(settlementsOnDisk(place)).toEqual([]));
      if (engine === 'postgres') {
        await inspectDatabase(place, async (db) => {
          const holds = await selectAllHolds(db, org.id);
          await updateHolds(
            db,
            holds.map((hold) => ({ ...hold, expiresAtMs: hold.admittedAtMs })),
          );
        });
      } else if (shift.CLOCK_SHIFT_MS === undefined) {
        shift = { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(laterMs) };
        await first().end('SIGTERM');
        world.services = [await world.start()];
      }
      await eventually(async () => expect(await spending(first(), org).holds()).toEqual([]));
    },
    async remove() {
      await endAllProcesses();
      await provider.close();
      await place.remove();
    },
  };
  for (let number = 0; number < count; number += 1) {
    world.services.push(await world.start());
  }
  for (const [model, [input, output]] of Object.entries(prices)) {
    const body = { provider: 'mock', input_usd_per_million: input, output_usd_per_million: output };
    expect((await first().request('PUT', `/v1/admin/models/${model}`, { body })).status).toBeLessThan(300);
  }
  return world;
}

/** Returns the files with settlements that are not posted yet. */
function settlementsOnDisk({ dataDir }: Place): string[] {
  const directory = join(dataDir, 'gateway');
  return existsSync(directory)
    ? readdirSync(directory).filter((name) => statSync(join(directory, name)).size > 0)
    : [];
}

/** The text of a prompt that names its call. */
export const promptOf = (number: number) => `Say hello to call-${number} please`;

/** Returns the number of the call that a request belongs to. */
export function numberOf({ text }: ReceivedRequest): number {
  return Number(/call-(\d+) /.exec(text)?.[1]);
}

/** Headers of a call with this number. */
export function callHeaders({ key }: SpendingOrg, number: number): Record<string, string> {
  return {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-svc-workflow': `call-${number}`,
  };
}

/** What the provider has billed for each call, in nanodollars: $1 and $10 per million tokens. */
export function billedByCall(bill: readonly BilledCall[]): Map<number, bigint> {
  const billed = new Map<number, bigint>();
  for (const { request, inputTokens, outputTokens } of bill) {
    const number = numberOf(request);
    const cost = BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 10_000n;
    billed.set(number, (billed.get(number) ?? 0n) + cost);
  }
  return billed;
}

export interface PostedCall {
  readonly status: string;
  readonly costNanos: bigint;
  readonly marks: readonly string[];
}

/** The runs of an org by the number of their call. Fails if a call has two. */
export async function postedByCall(
  service: ServiceProcess,
  org: SpendingOrg,
): Promise<Map<number, PostedCall>> {
  const posted = new Map<number, PostedCall>();
  for (const { workflow, status, cost_usd, marks } of await spending(service, org).runs()) {
    const number = Number(String(workflow).replace('call-', ''));
    expect(posted.has(number), `two runs of ${workflow}`).toBe(false);
    posted.set(number, { status, costNanos: nanos(cost_usd ?? '0'), marks });
  }
  return posted;
}

export const totalOf = (amounts: Map<number, bigint>): bigint => sum(amounts.values());
