/** `purser prices update` as it is shipped: with a running service, and without one. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
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
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

const file = (content: unknown) => {
  const path = join(place.dataDir, 'list.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const update = (...args: string[]) => runPurser(['prices', 'update', ...args], settings);
const litellm = (input: number) => ({
  'e2e-1': { litellm_provider: 'openai', input_cost_per_token: input, output_cost_per_token: 1e-5 },
  'e2e-2': { litellm_provider: 'anthropic', input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-5 },
});

test('without a service it starts one, applies the list, and repeating it finds nothing to do', async () => {
  const source = file(litellm(1e-6));
  const dry = await update('--from', source, '--dry-run');
  expect([dry.code, dry.stderr]).toEqual([0, '']);
  expect(dry.stdout).toMatch(/^new +e2e-1 +input_usd_per_million +– +1$/m);
  expect(dry.stdout).toContain('dry run: nothing was changed');
  const applied = await update('--from', source);
  expect([applied.code, applied.stderr]).toEqual([0, '']);
  expect(applied.stdout).toMatch(/^new +2$/m);
  const again = await update('--from', source, '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    format: 'litellm',
    counts: { added: 0, changed: 0, unchanged: 2 },
    models: [],
  });
});

test('with a running service it applies the list there, and exit code 2 means that changes wait', async () => {
  service = await startPurser(settings);
  const changed = await update('--from', file(litellm(1.2e-6)));
  expect([changed.code, changed.stderr]).toEqual([0, '']);
  expect(changed.stdout).toMatch(/^changed +e2e-1 +input_usd_per_million +1 +1.2 +\+20 %$/m);
  const { json: price } = await service.request('GET', '/v1/admin/models/e2e-1');
  expect(price).toMatchObject({ input_usd_per_million: '1.2', follows_updates: true });
  expect(price.source).toMatch(/^LiteLLM, as of \d{4}-\d\d-\d\d$/);

  const waiting = await update('--from', file(litellm(9e-6)), '--as-of', '2026-11-01');
  expect([waiting.code, waiting.stderr]).toEqual([2, '']);
  expect(waiting.stdout).toMatch(/^waits +e2e-1 +input_usd_per_million +1.2 +9 +\+650 %$/m);
  const { json: pending } = await service.request('GET', '/v1/admin/price-changes?status=pending');
  expect(pending.data).toEqual([
    expect.objectContaining({ model: 'e2e-1', source: 'LiteLLM, as of 2026-11-01' }),
  ]);
  const approved = await service.request('POST', `/v1/admin/price-changes/${pending.data[0].id}/approve`);
  expect(approved.status).toBe(200);
  const after = await update('--from', file(litellm(9e-6)), '--as-of', '2026-11-01');
  expect([after.code, after.stderr]).toEqual([0, '']);
});

test('without a list it applies the catalog of the release', async () => {
  const { code, stdout, stderr } = await update('--json');
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({
    format: 'purser',
    counts: { added: 0, changed: 0, pending: 0, kept: 0 },
  });
  expect(JSON.parse(stdout).counts.unchanged).toBeGreaterThan(300);
});

test('downloads a list in the format of models.dev', async () => {
  const list = { openai: { models: { 'e2e-dev': { cost: { input: 2, output: 8 } } } } };
  const server = createServer((_, response) => response.end(JSON.stringify(list)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`;
  try {
    const refused = await update('--from', url);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('must start with https://');
    settings = { ...settings, SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' };
    const { code, stdout } = await update('--from', url);
    expect([code, stdout.match(/^new +1$/m)?.length]).toEqual([0, 1]);
  } finally {
    server.close();
  }
  expect((await service.request('GET', '/v1/admin/models/e2e-dev')).json.output_usd_per_million).toBe('8');
});

test('a list that cannot be imported changes nothing, and the message says why', async () => {
  const { json: before } = await service.request('GET', '/v1/admin/models?limit=200');
  for (const [content, message] of [
    [JSON.stringify(litellm(1e-6)).slice(0, -9), /cannot be imported: it is not complete, valid JSON/],
    [
      { ...litellm(1e-6), 'e2e-3': { litellm_provider: 'openai', output_cost_per_token: '1' } },
      /e2e-3: output_cost_per_token: Must be a number/,
    ],
    [{ schema: 7, models: [] }, /its schema is 7/],
    ['{}', /its format is none of purser, litellm, models.dev/],
  ] as const) {
    const { code, stdout, stderr } = await update('--from', file(content));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(stderr, 'a sentence, not a stack').not.toMatch(/^ +at /m);
  }
  expect((await service.request('GET', '/v1/admin/models?limit=200')).json).toEqual(before);
  expect((await update('--from', file('{}'), '--format', 'csv')).code).toBe(1);
  expect(
    (await update('--from', file(litellm(1e-6)), '--url', `http://127.0.0.1:${await freePort()}`)).stderr,
  ).toContain('no service at');
});
