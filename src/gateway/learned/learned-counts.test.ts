import { pino } from 'pino';
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../test/harness.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { createGatewayWorld } from '../../../test/support/gateway-world.ts';
import { createLearnedCounts } from './learned-counts.ts';
import { countsStore } from './queries.ts';

const world = useWorld();
const org = useOrg(world);

const log = pino({ level: 'silent' });
const shape = { buckets: 4, samplesMax: 100 };

/** The counts of one process. */
function newProcess() {
  const counts = createLearnedCounts(countsStore(world.db), log);
  return {
    add: (name: string, bucket: number, times = 1) => {
      for (let time = 0; time < times; time += 1) {
        counts.add(org.id, name, bucket, shape);
      }
    },
    find: (name: string) => [...(counts.find(org.id, name) ?? [])],
    flush: () => counts.flush(),
  };
}

test('a new process starts with what others have learned, and processes add to each other', async () => {
  const [one, other] = [newProcess(), newProcess()];
  one.add('a', 0, 5);
  other.add('a', 3, 2);
  other.add('b', 1);
  await Promise.all([one.flush(), other.flush()]);
  one.add('a', 1);
  await one.flush();
  expect(one.find('a')).toEqual([5, 1, 0, 2]);
  // What was not stored yet is not lost when the stored sums arrive.
  const next = newProcess();
  next.add('a', 0);
  await eventually(async () => expect(next.find('b')).toEqual([0, 1, 0, 0]));
  expect(next.find('a')).toEqual([6, 1, 0, 2]);
  await next.flush();
  await next.flush();
  expect(next.find('a')).toEqual([6, 1, 0, 2]);
});

test('old counts are halved, and rare ones are kept', async () => {
  const one = newProcess();
  one.add('c', 0, 99);
  one.add('c', 3);
  await one.flush();
  expect(one.find('c')).toEqual([99, 0, 0, 1]);
  one.add('c', 1, 5);
  await one.flush();
  expect(one.find('c')).toEqual([50, 3, 0, 1]);
});

test('counts that cannot be stored are stored later, and the number of names is bounded', async () => {
  let isAway = true;
  const real = countsStore(world.db);
  const away = () => Promise.reject(new Error('away'));
  const counts = createLearnedCounts(
    {
      load: (...args) => (isAway ? away() : real.load(...args)),
      merge: (...args) => (isAway ? away() : real.merge(...args)),
    },
    log,
  );
  counts.add(org.id, 'd', 2, shape);
  await counts.flush();
  await expect(counts.job.runOnce()).rejects.toThrow('away');
  counts.add(org.id, 'd', 1, shape);
  isAway = false;
  await counts.flush();
  expect(newProcess().find('d')).toEqual([]);
  expect([...(counts.find(org.id, 'd') ?? [])]).toEqual([0, 1, 1, 0]);
  for (let name = 0; name < 1_100; name += 1) {
    counts.add(org.id, `name ${name}`, 0, shape);
  }
  expect([counts.find(org.id, 'name 99'), counts.find(org.id, 'name 100')?.length]).toEqual([undefined, 4]);
});

test('nothing is stored for a removed org', async () => {
  const removed = await world.createOrg();
  const counts = createLearnedCounts(countsStore(world.db), log);
  counts.add(removed.id, 'a', 0, shape);
  await counts.flush();
  const rows = () =>
    world.db.query('SELECT name FROM gateway_learned_counts WHERE org_id = $1', [removed.id]);
  expect(await rows()).toEqual([{ name: 'a' }]);
  await world.db.query('UPDATE orgs SET removed_at = now() WHERE id = $1', [removed.id]);
  counts.add(removed.id, 'b', 0, shape);
  await counts.flush();
  expect(await rows()).toEqual([{ name: 'a' }]);
});

test('what the gateway has learned survives a restart', async () => {
  const gateway = await createGatewayWorld();
  gateway.settings = { ...gateway.settings, hold: 'expected' };
  let { url } = gateway;
  const held = async () => {
    const response = await fetch(`${url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-test',
        stream: true,
        max_tokens: 8_000,
        messages: [{ role: 'user', content: 'Say hello' }],
      }),
    });
    await response.text();
    return Number(response.headers.get('x-svc-held-usd'));
  };
  for (let call = 0; call < 20; call += 1) {
    expect(await held()).toBeGreaterThan(0.08);
  }
  expect(await held()).toBeLessThan(0.01);
  gateway.world = await gateway.world.restart();
  ({ url } = await gateway.world.listen());
  // The first call starts to load what was learned. Fewer calls than it takes to learn it again.
  const amounts: number[] = [];
  while (amounts.length < 15 && (amounts.at(-1) ?? 1) > 0.01) {
    amounts.push(await held());
  }
  expect(amounts.at(-1)).toBeLessThan(0.01);
  const rows = await gateway.world.db.query<{ name: string; counts: number[] }>(
    'SELECT name, counts FROM gateway_learned_counts WHERE org_id = $1 ORDER BY name',
    [gateway.org.id],
  );
  expect(rows).toEqual([
    { name: 'duration gpt-test', counts: expect.any(Array) },
    { name: expect.stringMatching(/^output key_\w+ gpt-test$/), counts: expect.any(Array) },
  ]);
  await gateway.close();
});
