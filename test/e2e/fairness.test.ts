/** An org that sends more than can be served does not shut out the others. */
import { expect, test } from 'vitest';
import { createWorld } from '../harness.ts';
import { engine } from '../support/test-database.ts';

/** More than may wait for a database connection. */
const flood = 1_500;

test('requests that wait for the database leave places for other orgs', async () => {
  const world = await createWorld();
  const noisy = await world.createOrg();
  const quiet = await world.createOrg();
  const read = (org: typeof noisy) =>
    world.request('GET', `/v1/orgs/${org.id}/budgets`, { key: org.ownerKey });
  // Both keys are cached from here on.
  expect([(await read(noisy)).status, (await read(quiet)).status]).toEqual([200, 200]);

  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const connections = engine === 'postgres' ? 10 : 1;
  const held: Promise<void>[] = [];
  for (let n = 0; n < connections; n += 1) {
    await new Promise<void>((holding) => {
      const transaction = world.db.transaction(async () => {
        holding();
        await released;
      });
      held.push(transaction);
    });
  }
  const flooding = Array.from({ length: flood }, () => read(noisy));
  const other = read(quiet);
  await new Promise(setImmediate);
  release();
  expect((await other).status).toBe(200);
  const statuses = new Set((await Promise.all(flooding)).map(({ status }) => status));
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await Promise.all(held);
  await world.close();
});
