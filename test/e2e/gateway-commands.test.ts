/** `purser connect`, `gateway-key` and `gateway-test` against a running service. */
import { spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { operatorKey, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
let url: string;
/** The API of the service, with a gateway that answers as the tests tell it. */
let front: Server;
let frontUrl: string;
let answer: { status: number; body: object; headers?: Record<string, string> };
const gatewayCalls: { path: string; key: string | undefined; body: { model: string } }[] = [];

beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = {
    ...settingsOf(place),
    SVC_PORT: String(await freePort()),
    SVC_GATEWAY_API_KEY_ENVS: 'SERVICE_SIDE_KEY',
  };
  await startPurser(settings);
  url = `http://127.0.0.1:${settings.SVC_PORT}`;
  front = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) {
      parts.push(part as Buffer);
    }
    const body = Buffer.concat(parts);
    const { authorization = '' } = request.headers;
    if (!/^\/(v1|healthz)/.test(request.url ?? '')) {
      gatewayCalls.push({
        path: request.url ?? '',
        key: authorization,
        body: JSON.parse(body.toString()),
      });
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(JSON.stringify(answer.body));
      return;
    }
    const passed = await fetch(url + request.url, {
      method: request.method ?? 'GET',
      headers: { authorization, ...(body.length > 0 && { 'content-type': 'application/json' }) },
      ...(body.length > 0 && { body }),
    });
    response.writeHead(passed.status, { 'content-type': 'application/json' });
    response.end(passed.status === 204 ? undefined : Buffer.from(await passed.arrayBuffer()));
  });
  await new Promise<void>((ready) => front.listen(0, '127.0.0.1', ready));
  frontUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
});
afterAll(async () => {
  front?.close();
  front?.closeAllConnections();
  await endAllProcesses();
  await place?.remove();
});

const run = (args: string[], more: Record<string, string> = {}) => runPurser(args, { ...settings, ...more });
/** Runs the command with this text as its standard input. */
const runWith = (input: string, args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/main.js', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
    input,
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
};
const api = async (method: string, path: string, key: string, body?: object) => {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: responses of several routes, compared with toMatchObject
  return response.json() as Promise<any>;
};
const onlyOrg = async () => (await api('GET', '/v1/admin/orgs', operatorKey)).data[0].id as string;
const ownerKey = async (orgId: string) =>
  (
    await api('POST', `/v1/admin/orgs/${orgId}/keys`, operatorKey, {
      name: 'test',
      role: 'owner',
      scopes: ['connections:read', 'keys:read', 'budgets:read'],
    })
  ).secret as string;

test('connect creates an organization and a connection, and replaces the key when it is repeated', async () => {
  const missing = await run(['connect', 'openai', '--key-env', 'MY_OPENAI_KEY']);
  expect([missing.code, missing.stderr]).toEqual([1, 'purser: MY_OPENAI_KEY is not set in this shell\n']);
  const own = await run(['connect', 'openai', '--key-env', 'MY_OPENAI_KEY'], { MY_OPENAI_KEY: operatorKey });
  expect([own.code, own.stderr]).toEqual([
    1,
    'purser: MY_OPENAI_KEY has a key of Purser: use the key of the provider\n',
  ]);
  expect((await api('GET', '/v1/admin/orgs', operatorKey)).data).toEqual([]);

  const created = await run(['connect', 'openai', '--key-env', 'MY_OPENAI_KEY'], {
    MY_OPENAI_KEY: 'sk-first-key-of-openai-1111',
  });
  expect(created.code, created.stderr).toBe(0);
  expect(created.stdout).toContain('created the connection "openai"');
  expect(created.stdout).toContain('1111');
  expect(created.stdout).toContain('Next: `npm run --silent purser -- gateway-test`, then');
  expect(created.stdout + created.stderr).not.toContain('sk-first');

  const orgId = await onlyOrg();
  const updated = runWith('sk-second-key-of-openai-2222\n', [
    ...['connect', 'openai', '--models', 'gpt-*', '--org', orgId],
  ]);
  expect(updated.stdout, updated.stderr).toContain('updated the connection "openai"');
  expect(updated.stdout).toContain(`gateway-key --org ${orgId}\`.`);
  const compatible = runWith('gsk-key', [
    ...['connect', 'compatible', '--name', 'groq'],
    ...['--base-url', 'https://api.groq.com/openai/v1'],
  ]);
  expect(compatible.code, compatible.stderr).toBe(0);

  const key = await ownerKey(orgId);
  const { data } = await api('GET', `/v1/orgs/${orgId}/connections?sort=name`, key);
  expect(data).toMatchObject([
    { name: 'groq', kind: 'openai_compatible', api_key_last_four: null },
    { name: 'openai', kind: 'openai', api_key_last_four: '2222', models: ['gpt-*'] },
  ]);
  const keys = await api('GET', `/v1/orgs/${orgId}/keys?status=active`, key);
  expect(
    keys.data.map(({ name }: { name: string }) => name),
    'the keys of the commands are revoked',
  ).toEqual(['test']);
});

test('connect says what is wrong', async () => {
  for (const [args, problem] of [
    [['connect', 'compatible', '--name', 'x'], 'base_url: Required for the kind'],
    [['connect', 'anthropic', '--name', 'openai'], 'is of the kind openai'],
    [['connect', 'openai', '--name', 'env', '--service-env', 'PATH'], 'has not listed this variable'],
    [['connect', 'openai', '--url', 'http://127.0.0.1:1'], 'no service at'],
  ] as const) {
    const { code, stderr } = runWith('sk-some-key', [...args]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
  }
});

test('gateway-key creates a key of the person with a budget, and prints settings that use it', async () => {
  const orgId = await onlyOrg();
  const key = await ownerKey(orgId);
  const first = await run(['gateway-key', '--member', 'amy', '--budget', '20/day']);
  expect(first.code, first.stderr).toBe(0);
  expect(first.stderr).toMatch(/created the key key_\w+; it is in the output, and is not shown again\n$/);
  const secret = /OPENAI_API_KEY=(svc_\w+)/.exec(first.stdout)?.[1] as string;
  expect(first.stdout).toContain(`OPENAI_BASE_URL=${url}/openai/v1`);
  expect(first.stdout).toContain(`ANTHROPIC_BASE_URL=${url}/anthropic ANTHROPIC_AUTH_TOKEN=${secret} claude`);
  expect(first.stdout).toContain(`base_url="${url}/openai/v1",env_key="PURSER_KEY"`);
  expect(first.stdout).toContain('Override OpenAI Base URL');

  const { data } = await api('GET', `/v1/orgs/${orgId}/keys?member_id=amy`, key);
  expect(data).toMatchObject([
    {
      role: 'member',
      scopes: ['gateway:call'],
      attribution: { member_id: 'amy' },
      attribution_locked: ['member_id'],
    },
  ]);
  await run(['gateway-key', '--member', 'amy', '--budget', '30/day']);
  await run(['gateway-key', '--budget', '1.50/month']);
  const budgets = await api('GET', `/v1/orgs/${orgId}/budgets?sort=created_at`, key);
  expect(budgets.data).toMatchObject([
    { scope_kind: 'member', scope_id: 'amy', period: 'day', limit_usd: '30' },
    { scope_kind: 'key', period: 'month', limit_usd: '1.5' },
  ]);
  const env = await run(['gateway-key', '--member', 'amy', '--env']);
  expect(env.stdout.split('\n').map((line) => line.replace(/=.*/, ''))).toEqual([
    'export OPENAI_BASE_URL',
    'export OPENAI_API_KEY',
    'export ANTHROPIC_BASE_URL',
    'export ANTHROPIC_API_KEY',
    'export GOOGLE_GEMINI_BASE_URL',
    'export GEMINI_API_KEY',
    '',
  ]);
  const bad = await run(['gateway-key', '--budget', 'much']);
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('such as 20/day')]);
});

test('gateway-test calls each provider and reports the answers', async () => {
  answer = {
    status: 200,
    body: { choices: [] },
    headers: { 'x-svc-model': 'gpt-4o-mini', 'x-svc-cost-usd': '0.000004', 'x-svc-run-id': 'run_1' },
  };
  const passed = await run(['gateway-test', '--connection', 'openai', '--url', frontUrl]);
  expect([passed.code, passed.stdout]).toEqual([
    0,
    expect.stringMatching(/^openai: gpt-4o-mini answered in \d+ ms, cost \$0\.000004, run run_1\n$/),
  ]);
  expect(gatewayCalls).toMatchObject([
    {
      path: '/compat/openai/v1/chat/completions',
      key: expect.stringMatching(/^Bearer svc_/),
      body: { model: 'gpt-4o-mini' },
    },
  ]);

  answer = { status: 402, body: { error: { message: 'The budget is used up.' } } };
  const failed = await run(['gateway-test', '--model', 'llama-4', '--url', frontUrl]);
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('groq: llama-4 returned 402');
  expect(failed.stdout).toContain('The budget is used up.');
  expect(failed.stderr).toBe('purser: 2 of the calls failed\n');
  expect(gatewayCalls.map(({ path }) => path)).toContain('/compat/groq/v1/chat/completions');
});

test('without --org, lists the organizations to choose from', async () => {
  const orgId = await onlyOrg();
  const second = await api('POST', '/v1/admin/orgs', operatorKey, { name: 'Second' });
  for (const command of ['gateway-test', 'export']) {
    const { code, stderr } = await run([command]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('choose one with --org\n')]);
    expect(stderr).toContain(`\n  ${orgId}  My organization\n`);
    expect(stderr).toContain(`\n  ${second.id}  Second\n`);
  }
});

test('the help names the providers and the periods', async () => {
  expect((await run(['connect', '--help'])).stdout).toMatch(
    /"openai",\s+"anthropic",\s+"compatible",\s+"azure"/,
  );
  expect((await run(['gateway-key', '--help'])).stdout).toMatch(/day, week, month,\s+quarter, year/);
});

test('connect states the models of deployments, for an existing connection without its key', async () => {
  const orgId = await onlyOrg();
  const ofOrg = ['--org', orgId];
  const azure = ['connect', 'azure', '--name', 'azure-east', ...ofOrg];
  const baseUrl = ['--base-url', 'https://my-resource.openai.azure.com/openai/v1'];
  const created = runWith('azure-key-of-team-3333', [
    ...azure,
    ...baseUrl,
    '--deployment',
    'team-chat=gpt-4o',
  ]);
  expect(created.code, created.stderr).toBe(0);
  const added = runWith('', [...azure, '--deployment', 'a=b=gpt-5', '--deployment', 'fast=gpt-4o-mini']);
  expect(added.stdout, added.stderr).toContain('updated the connection "azure-east"');
  const wrong = runWith('', [...azure, '--deployment', 'team-chat']);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('such as team-chat=gpt-4o')]);
  const keyless = runWith('', [
    'connect',
    'azure',
    '--name',
    'new',
    ...ofOrg,
    ...baseUrl,
    '--deployment',
    'x=gpt-4o',
  ]);
  expect([keyless.code, keyless.stderr]).toEqual([1, expect.stringContaining('api_key')]);
  const { data } = await api('GET', `/v1/orgs/${orgId}/connections?name=azure-east`, await ownerKey(orgId));
  expect(data).toMatchObject([
    {
      api_key_last_four: '3333',
      deployment_models: { 'team-chat': 'gpt-4o', 'a=b': 'gpt-5', fast: 'gpt-4o-mini' },
    },
  ]);
});

test('connect takes credentials of a cloud, whose secrets are not on the command line', async () => {
  const orgId = (await api('GET', '/v1/admin/orgs', operatorKey)).data[0].id as string;
  const args = [
    'connect',
    'azure',
    '--name',
    'cloud',
    '--base-url',
    'https://models.openai.azure.com/openai/v1',
    '--org',
    orgId,
  ];
  const fields = ['--credentials', 'static', '--credential', 'tenant_id=t1', '--credential', 'client_id=c1'];
  const plain = await run([...args, ...fields, '--credential', 'client_secret=canary-of-azure']);
  expect([plain.code, plain.stderr]).toEqual([
    1,
    'purser: client_secret is a secret: write client_secret=env:NAME or client_secret=file:PATH\n',
  ]);
  const created = await run([...args, ...fields, '--credential', 'client_secret=env:MY_SECRET'], {
    MY_SECRET: 'canary-of-azure',
  });
  expect(created.code, created.stderr).toBe(0);
  expect(created.stdout).toContain('with the credentials `static`');
  expect(created.stdout + created.stderr).not.toContain('canary');
  const { data } = await api('GET', `/v1/orgs/${orgId}/connections?name=cloud`, await ownerKey(orgId));
  expect(data).toMatchObject([{ credentials: { source: 'static', tenant_id: 't1', client_id: 'c1' } }]);
  const denied = await run([...args, '--credentials', 'managed_identity']);
  expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining('SVC_GATEWAY_CLOUD_IDENTITIES')]);
});
