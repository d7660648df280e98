/** The weekly digest: once per organization and week, also with several processes and after a downtime. */
import { describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { eventSchema } from '../../../contract/events.ts';
import { compileBody } from '../../../platform/http/routes/validation.ts';
import { dueDigest } from './schedule.ts';

// The clock starts on a Sunday.
const world = useWorld();

const day = 86_400;
const call = (org: TestOrg, method: string, path: string, body: object) =>
  world.request(method, path, { key: org.ownerKey, body });
const subscribe = (org: TestOrg) =>
  call(org, 'POST', `/v1/orgs/${org.id}/webhooks`, {
    url: 'https://receiver.example/',
    events: ['digest.weekly'],
  });
// biome-ignore lint/suspicious/noExplicitAny: a test looks into the data of an event.
const digests = (org: TestOrg, of = world): Promise<{ id: string; created_at: Date; data: any }[]> =>
  of.db.query(
    `SELECT id, created_at, data FROM outbox WHERE tenant_id = $1 AND type = 'digest.weekly' ORDER BY created_at`,
    [org.id],
  );

test('a digest is emitted on Monday, with the figures of the week before, and only once', async () => {
  const org = await world.createOrg();
  await call(org, 'POST', `/v1/orgs/${org.id}/budgets`, {
    name: 'Support',
    scope_kind: 'org',
    period: 'year',
    limit_usd: '10',
  });
  await subscribe(org);
  const run = { model: 'gpt-4o', cost_usd: '8.5', customer_id: 'acme' };
  expect((await call(org, 'POST', '/v1/runs', run)).status).toBe(201);
  expect((await call(org, 'POST', '/v1/runs', { ...run, cost_usd: '5' })).status).toBe(402);
  await world.runJob('record-refusals');
  await world.runJob('emit-weekly-digests');
  expect(await digests(org)).toEqual([]);
  world.clock.advanceSeconds(day);
  await world.runJob('emit-weekly-digests');
  await world.runJob('emit-weekly-digests');
  const [digest, ...others] = await digests(org);
  expect(others).toEqual([]);
  expect(digest?.data).toMatchObject({
    week_start: '2026-11-09',
    week_end: '2026-11-16',
    spend_usd: '8.5',
    previous_spend_usd: '0',
    runs: 1,
    top_customers: [{ customer_id: 'acme', usd: '8.5', previous_usd: '0' }],
    top_models: [{ model: 'gpt-4o', usd: '8.5' }],
    top_kinds: [{ kind: 'unsplit', usd: '8.5', previous_usd: '0' }],
    cache_savings_usd: '0',
    limits_near: [{ name: 'Support', used_percent: 85 }],
    blocked_requests: 1,
    blocked_by: [{ code: 'budget_exceeded', requests: 1 }],
  });
  const event = {
    id: digest?.id,
    type: 'digest.weekly',
    created_at: digest?.created_at.toISOString(),
    org_id: org.id,
    data: digest?.data,
  };
  expect(compileBody(eventSchema('digest.weekly'))(event)).toEqual([]);
});

test('a digest is late after a downtime, for the last week only, and starts with the next week for a new subscription', async () => {
  const old = await world.createOrg();
  await subscribe(old);
  // Three weeks, to a Wednesday.
  world.clock.advanceSeconds(23 * day);
  const fresh = await world.createOrg();
  await subscribe(fresh);
  await world.runJob('emit-weekly-digests');
  expect(await digests(old)).toHaveLength(1);
  expect(await digests(fresh)).toEqual([]);
  world.clock.advanceSeconds(7 * day);
  await world.runJob('emit-weekly-digests');
  expect(await digests(old)).toHaveLength(2);
  expect(await digests(fresh)).toHaveLength(1);
});

test('a digest is emitted once by several runs of the job at the same time', async () => {
  const org = await world.createOrg();
  await subscribe(org);
  world.clock.advanceSeconds(8 * day);
  await Promise.all(Array.from({ length: 5 }, () => world.job('emit-weekly-digests').runOnce()));
  expect(await digests(org)).toHaveLength(1);
});

describe('the due time', () => {
  test.each([
    ['UTC', '2026-11-16T08:59:59Z', '2026-11-09', '2026-11-09T09:00:00.000Z'],
    ['UTC', '2026-11-16T09:00:00Z', '2026-11-16', '2026-11-16T09:00:00.000Z'],
    ['Europe/Berlin', '2026-11-16T08:00:00Z', '2026-11-16', '2026-11-16T08:00:00.000Z'],
    ['America/New_York', '2026-11-16T12:00:00Z', '2026-11-09', '2026-11-09T14:00:00.000Z'],
    // The night before, clocks went back: the week has an hour more.
    ['Europe/Berlin', '2026-10-26T12:00:00Z', '2026-10-26', '2026-10-26T08:00:00.000Z'],
    ['Pacific/Kiritimati', '2026-11-15T19:00:00Z', '2026-11-16', '2026-11-15T19:00:00.000Z'],
  ])('the digest that is due in %s at %s is %s', (timezone, now, dueOn, dueAt) => {
    const due = dueDigest(timezone, Date.parse(now));
    expect([due.dueOn, new Date(due.dueAtMs).toISOString()]).toEqual([dueOn, dueAt]);
    expect(due.week.end).toBe(dueOn);
    expect(due.weekBefore.toMs).toBe(due.week.fromMs);
  });

  test('covers a week of 169 hours when clocks go back', () => {
    const { week } = dueDigest('Europe/Berlin', Date.parse('2026-10-26T12:00:00Z'));
    expect((week.toMs - week.fromMs) / 3_600_000).toBe(169);
  });
});
