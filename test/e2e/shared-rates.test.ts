/** One limit, two processes: exactly shared through Redis, and divided between them without it. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { scopes } from '../../src/platform/http/access.ts';
import { endAllProcesses, processTimeouts } from '../support/child-process.ts';
import { findRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

vi.setConfig(processTimeouts);

let place: Place;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
});
afterEach(endAllProcesses);
afterAll(async () => {
  await place.remove();
});

async function startTwo(env: Record<string, string>): Promise<ServiceProcess[]> {
  const settings = { ...settingsOf(place), SVC_READ_LIMIT_PER_MINUTE: '20', ...env };
  return [await startPurser(settings), await startPurser(settings)];
}

/** How many of 60 reads pass, half of them at each process, and what the refused ones are told. */
async function passing(services: readonly ServiceProcess[]): Promise<number> {
  const [first] = services;
  const org = await first?.request('POST', '/v1/admin/orgs', { body: { name: 'Org' } });
  const key = await first?.request('POST', `/v1/admin/orgs/${org?.json.id}/keys`, {
    body: { name: 'owner', role: 'owner', scopes },
  });
  const read = (service: ServiceProcess | undefined) =>
    service?.request('GET', `/v1/orgs/${org?.json.id}`, { key: key?.json.secret });
  const answers = await Promise.all(Array.from({ length: 60 }, (_, call) => read(services[call % 2])));
  expect(answers.every((answer) => answer?.status === 200 || answer?.code === 'rate_limited')).toBe(true);
  return answers.filter((answer) => answer?.status === 200).length;
}

const alone = engine === 'embedded';

test.skipIf(alone)('without Redis each lets its half pass, once they know of each other', async () => {
  const services = await startTwo({});
  // The first learns of the second with its next beat.
  await expect.poll(() => passing(services), { timeout: 20_000, interval: 500 }).toBe(20);
  expect(
    services[0]
      ?.log()
      .filter(({ level }) => level === 'warn')
      .map(({ setting }) => setting),
  ).toContain('SVC_READ_LIMIT_PER_MINUTE');
  await services[1]?.end('SIGTERM');
  const db = await openPlace(place);
  expect(await db.query('SELECT id FROM processes')).toHaveLength(1);
  await db.close();
});

test.skipIf(alone || findRedis() === undefined)(
  'with Redis they let exactly the limit pass together',
  async () => {
    const redis: RedisServer = await startRedis();
    const services = await startTwo({ SVC_REDIS_URL: redis.url });
    expect(await passing(services)).toBe(20);
    await redis.kill();
    expect(await passing(services)).toBeGreaterThan(0);
    await redis.start();
    await expect.poll(() => passing(services), { timeout: 20_000, interval: 500 }).toBe(20);
    expect(await Promise.all(services.map((service) => service.end('SIGTERM')))).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    await redis.kill();
  },
);
