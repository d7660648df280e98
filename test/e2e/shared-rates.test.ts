/** One limit and two processes: shared exactly, through PostgreSQL and through Redis. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { endAllRedis, findRedis, startRedis } from '../support/redis.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
});
afterEach(endAllProcesses);
afterEach(endAllRedis);
afterAll(async () => {
  await place.remove();
});

async function startTwo(env: Record<string, string>): Promise<ServiceProcess[]> {
  const settings = { ...settingsOf(place), SVC_READ_LIMIT_PER_MINUTE: '20', ...env };
  return [await startPurser(settings), await startPurser(settings)];
}

/** Returns how many of 30 reads of a new org the first process allows, and then how many of 30 the second allows. */
async function passing(services: readonly ServiceProcess[]): Promise<number[]> {
  const [first] = services;
  const org = await first?.request('POST', '/v1/admin/orgs', { body: { name: 'Org' } });
  const key = await first?.request('POST', `/v1/admin/orgs/${org?.json.id}/keys`, {
    body: { name: 'owner', role: 'owner', scopes },
  });
  const passed: number[] = [];
  for (const service of services) {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () =>
        service.request('GET', `/v1/orgs/${org?.json.id}`, { key: key?.json.secret }),
      ),
    );
    expect(answers.every(({ status, code }) => status === 200 || code === 'rate_limited')).toBe(true);
    passed.push(answers.filter(({ status }) => status === 200).length);
  }
  return passed;
}

/** Allows for a heartbeat, a connection or a slow response on a busy machine. */
const soon = { timeout: 30_000, interval: 500 };

const alone = engine === 'embedded';

test.skipIf(alone)('without Redis they let exactly the limit pass together', async () => {
  const services = await startTwo({});
  expect(await passing(services)).toEqual([20, 0]);
  const warnings = services[0]?.log().filter(({ level }) => level === 'warn');
  expect(warnings?.map(({ setting }) => setting)).toContain('SVC_READ_LIMIT_PER_MINUTE');
  await services[1]?.end('SIGTERM');
  expect(await passing(services.slice(0, 1))).toEqual([20]);
});

test.skipIf(alone || findRedis() === undefined)(
  'with Redis they let exactly the limit pass together, also while it is away',
  async () => {
    const redis = await startRedis();
    const services = await startTwo({ SVC_REDIS_URL: redis.url });
    await expect.poll(() => passing(services), soon).toEqual([20, 0]);
    await redis.kill();
    await expect.poll(() => passing(services), soon).toEqual([20, 0]);
    await redis.start();
    await expect.poll(() => passing(services), soon).toEqual([20, 0]);
    const endings = await Promise.all(services.map((service) => service.end('SIGTERM')));
    expect(endings.map(({ code }) => code)).toEqual([0, 0]);
  },
);
