/**
 * `purser demo` on a running service: creates an org with recent activity and a balanced ledger; one command removes
 * it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
let service: ServiceProcess;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), SVC_PORT: String(await freePort()) };
  service = await startPurser(settings);
});
afterAll(async () => {
  await endAllProcesses();
  await place.remove();
});

const demo = (...args: string[]) => runPurser(['demo', ...args], settings);

test('fills an org with runs, limits near their edges, refusals and approvals, and removes it again', async () => {
  const { code, stdout, stderr } = await demo('--runs', '3000');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '3000 of 3000 runs\n' });
  const orgId = /org_[a-z0-9]+/.exec(stdout)?.[0] ?? '';
  const key = /svc_\w+/.exec(stdout)?.[0] ?? '';
  const read = async (path: string) =>
    (await service.request('GET', `/v1/orgs/${orgId}/${path}`, { key })).json;

  const { total } = await read('usage?from=2020-01-01T00:00:00Z&to=2020-06-01T00:00:00Z');
  expect(total.runs).toBe(0);
  expect((await read('usage')).total.runs).toBeGreaterThan(1_000);
  expect(await read('ledger/reconciliation')).toMatchObject({ balanced: true, drift_usd: '0' });

  const { data: limits } = await read('limits?limit=200');
  const used = limits
    .filter(({ standing }: { standing: object | null }) => standing !== null)
    .map(
      ({ limit, standing }: { limit: string; standing: { settled: string } }) =>
        Number(standing.settled) / Number(limit),
    );
  expect(Math.max(...used)).toBeGreaterThan(0.9);
  // Denials are stored within a second.
  const refused = async () =>
    new Set((await read('refusals')).data.map((refusal: { code: string }) => refusal.code));
  await expect
    .poll(refused, { timeout: 15_000 })
    .toEqual(
      new Set(['spend_cap_exceeded', 'policy_blocked', 'policy_approval_required', 'content_safety_blocked']),
    );
  const states = (await read('approvals')).data.map(({ state }: { state: string }) => state);
  expect(states.sort()).toEqual(['approved', 'denied', 'pending']);

  const again = await demo();
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('the demo already exists') });

  expect((await demo('--remove')).stdout).toContain(`Removed ${orgId}`);
  expect((await service.request('GET', `/v1/orgs/${orgId}`, { key })).code).toBe('gone');
  expect((await demo('--remove')).stdout).toContain('No demo to remove');
});

test('says where it looked for a service', async () => {
  const { code, stderr } = await demo('--url', 'http://127.0.0.1:9');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('no service at http://127.0.0.1:9'),
  });
});
