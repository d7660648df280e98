import { pino } from 'pino';
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../test/harness.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { createDeployments } from './deployments.ts';

const world = useWorld();
const org = useOrg(world);
const log = pino({ level: 'silent' });
const nowMs = Date.parse('2026-11-19T12:00:00Z');
const dayMs = 86_400_000;

function newProcess() {
  const deployments = createDeployments(world.db, log);
  const named = (name: string, orgId = org.id) => ({ orgId, connectionId: 'con_a', name });
  return {
    learn: async (name: string, model: string, atMs = nowMs, orgId = org.id) => {
      deployments.learn(named(name, orgId), model, atMs);
      await deployments.flush();
    },
    models: async (name: string) => await deployments.models(named(name)),
  };
}

test('a model that one process has learned is known to others, and to a new one', async () => {
  const [one, other] = [newProcess(), newProcess()];
  expect([await one.models('chat'), await other.models('chat')]).toEqual([[], []]);
  await one.learn('chat', 'azure/gpt-4o');
  await eventually(async () => expect(await other.models('chat')).toEqual(['azure/gpt-4o']));
  await other.learn('chat', 'azure/gpt-4.1');
  await eventually(async () => expect(await one.models('chat')).toEqual(['azure/gpt-4.1', 'azure/gpt-4o']));
  expect(await newProcess().models('chat')).toEqual(['azure/gpt-4.1', 'azure/gpt-4o']);
  expect(await one.models('chat con_a')).toEqual([]);
});

test('the models of a deployment are known for any case of its name', async () => {
  const one = newProcess();
  await one.learn('Cased', 'azure/gpt-4o');
  await eventually(async () => expect(await one.models('cASED')).toEqual(['azure/gpt-4o']));
});

test('a model that was not seen for a week is forgotten, unless no other was seen since', async () => {
  const one = newProcess();
  await one.learn('moved', 'old');
  await one.learn('idle', 'only', nowMs);
  await one.learn('moved', 'new', nowMs + 6 * dayMs);
  expect(await one.models('moved')).toEqual(['new', 'old']);
  await one.learn('moved', 'new', nowMs + 8 * dayMs);
  await eventually(async () => expect(await one.models('moved')).toEqual(['new']));
  expect(await one.models('idle')).toEqual(['only']);
  await one.learn('moved', 'new', nowMs + 91 * dayMs);
  await eventually(async () => expect(await one.models('idle')).toEqual([]));
});

test('the models of a deployment are bounded, and one that is known is refreshed once a day', async () => {
  const one = newProcess();
  for (let number = 10; number < 40; number += 1) {
    await one.learn('many', `model ${number}`);
  }
  const seen = () =>
    world.db.query<{ seen_at: Date }>(
      `SELECT seen_at FROM gateway_deployment_models WHERE org_id = $1 AND model = 'model 10'`,
      [org.id],
    );
  expect(await newProcess().models('many')).toHaveLength(20);
  await one.learn('many', 'model 10', nowMs + 2 * dayMs);
  expect(await seen()).toEqual([{ seen_at: new Date(nowMs + 2 * dayMs) }]);
  let laterMs = nowMs + 3.5 * dayMs;
  // Once the process knows of the latest write, it does not repeat it.
  await eventually(async () => {
    await one.models('many');
    const before = await seen();
    laterMs += 1_000;
    await one.learn('many', 'model 10', laterMs);
    expect(await seen()).toEqual(before);
  });
  expect((await seen())[0]?.seen_at.getTime()).toBeGreaterThan(nowMs + 3 * dayMs);
});

test('no model is stored for a removed org', async () => {
  const removed = await world.createOrg();
  await world.db.query('UPDATE orgs SET removed_at = now() WHERE id = $1', [removed.id]);
  await newProcess().learn('chat', 'azure/gpt-4o', nowMs, removed.id);
  expect(
    await world.db.query('SELECT model FROM gateway_deployment_models WHERE org_id = $1', [removed.id]),
  ).toEqual([]);
});
