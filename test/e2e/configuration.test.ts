/** `purser apply` and `purser export` against a running service. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endAllProcesses, runPurser, type Spawned, spawnPurser } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
let service: ServiceProcess;
let folder: string;

beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), SVC_PORT: String(await freePort()) };
  service = await startPurser(settings);
  folder = mkdtempSync(join(tmpdir(), 'purser-apply-'));
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: string[], more: Record<string, string> = {}) => runPurser(args, { ...settings, ...more });
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const secretsDir = () => join(folder, 'secrets');
const apply = (file: string, ...more: string[]) =>
  run(['apply', '-f', file, '--secrets-dir', secretsDir(), ...more], { PROVIDER_KEY: 'sk-abcdefghijklmnop' });

const acme = `org:
  slug: acme
  name: Acme
budgets:
  - name: Total
    scope_kind: org
    period: month
    limit_usd: 50.10
connections:
  - name: openai
    kind: openai
    api_key: { env: PROVIDER_KEY }
keys:
  - name: agents
    role: member
    scopes: [edge:decide]
`;

test('apply, change, apply: only the change', async () => {
  const file = write('acme.yaml', acme);
  expect(await apply(file, '--dry-run')).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('4 to create'),
  });
  const first = await apply(file);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('acme: applied 4 changes') });
  expect(first.stdout + first.stderr).not.toContain('sk-abcdefghijklmnop');
  const secret = join(secretsDir(), 'acme/keys/agents');
  expect([statSync(secret).mode & 0o777, readFileSync(secret, 'utf8')]).toEqual([
    0o600,
    expect.stringMatching(/^svc_\w+\n$/),
  ]);
  expect(readdirSync(join(secretsDir(), '.pending'))).toEqual([]);
  expect(await apply(file)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No changes (4 unchanged)'),
  });
  expect(await apply(file, '--dry-run')).toMatchObject({ code: 0 });
  const changed = write('acme.yaml', acme.replace('50.10', '80'));
  const { code, stdout } = await apply(changed);
  expect([code, stdout]).toEqual([
    0,
    'acme:\n  ~ budget "Total"\n      limit_usd: 50.1 → 80\n  0 to create, 1 to update, 0 to delete, 3 unchanged\n' +
      'acme: applied 1 change\n',
  ]);
});

test('a broken file changes nothing, and names line and field', async () => {
  const good = `${acme.replace('acme', 'broken')}---\n`;
  const bad = write(
    'bad.yaml',
    `${good}org: { slug: broken-too, name: b }\nbudgets:\n  - name: A\n    period: never\n`,
  );
  const { code, stderr } = await apply(bad);
  expect([code, stderr.split('\n')]).toEqual([
    1,
    [
      `purser: ${bad}:20:5 budgets[0].scope_kind: This field is required.`,
      `${bad}:20:5 budgets[0].limit_usd: This field is required.`,
      `${bad}:21:5 budgets[0].period: Must be one of day, week, month, quarter, year.`,
      'nothing was changed',
      '',
    ],
  ]);
  const syntax = write('syntax.yaml', 'budgets:\n  - name: [\n');
  expect(await apply(syntax)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${syntax}:3:1 `) });
  const secret = write('secret.yaml', acme.replace('{ env: PROVIDER_KEY }', 'sk-abc'));
  expect(await apply(secret)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${secret}:12:14 api_key: Secrets do not belong in the file.`),
  });
  const { json } = await service.request('GET', '/v1/admin/orgs?search=broken');
  expect(json.data).toEqual([]);
});

test('an organization is only in one document, and a file that is missing is named', async () => {
  const twice = write('twice.yaml', `${acme}---\n${acme}`);
  expect(await apply(twice)).toMatchObject({
    code: 1,
    stderr: `purser: ${twice}:19:3 another document has the organization acme too\n`,
  });
  expect((await apply(join(folder, 'missing.yaml'))).stderr).toContain(
    'missing.yaml: the file cannot be read',
  );
});

test('a secret that is missing stays, and one of a file is read', async () => {
  write('key', 'sk-from-a-file-1234\n');
  const file = write(
    'file.yaml',
    acme.replace('{ env: PROVIDER_KEY }', '{ file: key }').replace('50.10', '80'),
  );
  expect((await apply(file)).stdout).toContain('~ connection "openai"\n      api_key: (secret) → (secret)');
  const unset = write('unset.yaml', acme.replace('PROVIDER_KEY', 'UNSET_KEY').replace('50.10', '80'));
  expect(await apply(unset)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No changes'),
    stderr: expect.stringContaining('the variable UNSET_KEY is not set, so the field is left out'),
  });
});

test('an export of the demo is planned without a difference, alone and with all organizations', async () => {
  expect(await run(['demo', '--runs', '500'])).toMatchObject({ code: 0 });
  const { json } = await service.request('GET', '/v1/admin/orgs?limit=100');
  const demo = json.data.find(({ slug }: { slug: string }) => slug !== 'acme');
  const file = join(folder, 'demo.yaml');
  expect(await run(['export', '--org', demo.slug, '-o', file])).toMatchObject({ code: 0, stderr: '' });
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(
    /^# yaml-language-server: \$schema=http:\/\/\S+\/docs\/purser\.schema\.json\n# .*\nversion: 1\n\norg:\n/,
  );
  expect(await apply(file, '--dry-run', '--prune')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No changes'),
  });
  const all = join(folder, 'all.yaml');
  await run(['export', '--all', '-o', all]);
  expect((await apply(all, '--dry-run', '--prune')).stdout.match(/No changes/g)).toHaveLength(2);
});

test('a key of the organization applies what its scopes allow', async () => {
  const { json } = await service.request('GET', '/v1/admin/orgs?slug=acme');
  const { id } = json.data[0];
  const minted = await service.request('POST', `/v1/admin/orgs/${id}/keys`, {
    body: { name: 'ci', role: 'admin', scopes: ['org:read', 'org:write', 'budgets:read', 'budgets:write'] },
  });
  const withKey = (args: string[]) =>
    run([...args, '--org', id, '--key-env', 'CI_KEY'], { CI_KEY: minted.json.secret });
  const file = write('ci.yaml', 'spend_cap: { cap_usd: 7 }\n');
  expect(await withKey(['apply', '-f', file])).toMatchObject({ code: 0 });
  const forbidden = write('forbidden.yaml', 'spend_cap: { cap_usd: 8 }\nwebhooks: []\n');
  expect(await withKey(['apply', '-f', forbidden])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${forbidden}:2:1 webhooks:`),
  });
  const exported = await withKey(['export']);
  expect(exported.stdout).toContain('cap_usd: "7"');
  expect(exported.stderr).toContain('webhooks is left out: webhooks:write');
});

test('a command that is killed between the response and its secrets is completed by the next one', async () => {
  let client: Spawned | undefined;
  const front = await startFront({
    async afterApply() {
      // The service has applied the request; the command never sees the response.
      const killed = client;
      client = undefined;
      await killed?.end('SIGKILL');
    },
  });
  const file = write(
    'killed.yaml',
    acme.replace('acme', 'killed').replace(/connections:[\s\S]*?(?=keys:)/, ''),
  );
  const args = ['apply', '-f', file, '--secrets-dir', secretsDir(), '--url', front.url];
  client = spawnPurser(args, settings);
  expect((await client.ended).signal).toBe('SIGKILL');
  expect(readdirSync(join(secretsDir(), '.pending'))).toHaveLength(1);
  const again = await run(args);
  expect(again).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No changes'),
    stderr: expect.stringMatching(/completing the interrupted application .*\n.*killed\/keys\/agents\n$/),
  });
  const key = readFileSync(join(secretsDir(), 'killed/keys/agents'), 'utf8').trim();
  const decision = await service.request('POST', '/v1/edge/decision', {
    key,
    body: { model: 'm', estimated_cost_usd: '1' },
  });
  expect(decision.status).toBe(200);
  expect(readdirSync(join(secretsDir(), '.pending'))).toEqual([]);
  front.close();
});

test('--json prints the organizations that were changed before another one failed', async () => {
  const document = (slug: string) => `org: { slug: ${slug}, name: ${slug} }\nspend_cap: { cap_usd: 5 }\n`;
  const file = write('partly.yaml', `${document('first')}---\n${document('second')}`);
  let applications = 0;
  const front = await startFront({
    async beforeApply() {
      applications += 1;
      if (applications === 2) {
        const created = { name: 'second', slug: 'second' };
        await service.request('POST', '/v1/admin/orgs', { body: created });
      }
    },
  });
  const { code, stdout, stderr } = await apply(file, '--json', '--url', front.url);
  front.close();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^purser: .*partly\.yaml/)]);
  const { applied, documents } = JSON.parse(stdout);
  expect([applied, documents.map(({ org }: { org: string }) => org)]).toEqual([true, ['first']]);
  expect(documents[0].changes).toHaveLength(2);
});

interface Front {
  readonly url: string;
  close(): void;
}

/** Starts a proxy in front of the service that calls back around each application of a configuration. */
async function startFront(hooks: {
  beforeApply?(): Promise<void>;
  afterApply?(): Promise<void>;
}): Promise<Front> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) {
      parts.push(part as Buffer);
    }
    const isApplication =
      request.method === 'POST' && request.url?.startsWith('/v1/admin/configuration?') === true;
    if (isApplication) {
      await hooks.beforeApply?.();
    }
    const passed = await fetch(service.url + request.url, {
      method: request.method ?? 'GET',
      headers: Object.fromEntries(
        ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      ),
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    });
    if (isApplication) {
      await hooks.afterApply?.();
    }
    response.writeHead(passed.status, { 'content-type': 'application/json' });
    response.end(Buffer.from(await passed.arrayBuffer()));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('the schema for editors is served with the documentation', async () => {
  const response = await fetch(`${service.url}/docs/purser.schema.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/schema+json; charset=utf-8',
  ]);
  expect(await response.json()).toMatchObject({ properties: { budgets: { type: 'array' } } });
});
