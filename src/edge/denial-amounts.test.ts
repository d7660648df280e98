/** The amounts of a denial are those of the moment of the decision. */
import { expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../test/harness.ts';
import { parseUsd } from '../kernel/money.ts';

const world = useWorld();

const callers = 8;
const rounds = 12;
const nanos = (text: string) => parseUsd(text) as bigint;

test('never add up to more than the cap while other calls are settled and voided', async () => {
  const org: TestOrg = await world.createOrg();
  const send = (method: string, path: string, body?: object) =>
    world.request(method, path, { key: org.ownerKey, ...(body && { body }) });
  await send('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
  const denials: { spent_usd: string; held_usd: string; attempted_usd: string }[] = [];
  const call = async (caller: number) => {
    for (let round = 0; round < rounds; round += 1) {
      const { status, json } = await send('POST', '/v1/edge/decision', {
        model: 'm',
        estimated_cost_usd: '0.4',
      });
      if (status === 402) {
        denials.push(json.error.details);
      } else if ((caller + round) % 2 === 0) {
        await send('POST', '/v1/runs', { model: 'm', cost_usd: '0.02', decision_id: json.decision_id });
      } else {
        await send('DELETE', `/v1/orgs/${org.id}/holds/${json.decision_id}`);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  expect(denials.length).toBeGreaterThan(0);
  for (const { spent_usd, held_usd, attempted_usd } of denials) {
    const spent = nanos(spent_usd);
    expect(spent).toBeLessThanOrEqual(nanos('1'));
    expect(nanos(held_usd)).toBeLessThanOrEqual(spent);
    expect(spent + nanos(attempted_usd)).toBeGreaterThan(nanos('1'));
  }
});

test('say what is held as a part of what is spent', async () => {
  const org = await world.createOrg();
  const send = (method: string, path: string, body: object) =>
    world.request(method, path, { key: org.ownerKey, body });
  await send('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
  await send('POST', '/v1/runs', { model: 'm', cost_usd: '0.25' });
  await send('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.75' });
  const { json } = await send('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.5' });
  expect(json.error.details).toMatchObject({ spent_usd: '1', held_usd: '0.75', attempted_usd: '0.5' });
});
