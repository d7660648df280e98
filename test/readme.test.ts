/** Runs every shell block of the README in order, as a reader would, so that it stays correct. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shellBlocks } from './support/guide-blocks.ts';
import { type ReadersService, startReadersService } from './support/readers-service.ts';

let service: ReadersService;
let output: string;

beforeAll(async () => {
  service = await startReadersService();
});
afterAll(() => service.stop());

test('every command works', async () => {
  output = await service.run(service.blocksOf('README.md'));
  expect(output).toContain('"decision":"allow"');
  expect(output).toContain('"code":"spend_cap_exceeded"');
  expect(output).toContain('SVC_DATABASE_URL');
});

test('the first four commands lead to an answer of the SDK under a budget of $5 a day', async () => {
  const [start, gateway] = shellBlocks('README.md', {});
  const commands = `${start}${gateway}`.match(/^\S/gm);
  expect(commands).toHaveLength(4);
  expect(output).toContain('tok0 tok1 tok2 tok3 tok4');
  const calls = service.provider.requests.filter(({ url }) => url === '/v1/chat/completions');
  expect(calls.at(-1)?.headers.authorization).toBe(`Bearer ${service.providerKey}`);
  const operator = readFileSync(join(service.directory, '.purser/operator-key'), 'utf8').trim();
  const api = async (path: string, key: string, body?: object) => {
    const response = await fetch(`${service.url}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: responses of several routes, compared with toMatchObject
    return response.json() as Promise<any>;
  };
  const [org] = (await api('/admin/orgs?name=My%20organization', operator)).data;
  const { secret } = await api(`/admin/orgs/${org.id}/keys`, operator, {
    name: 'reader',
    role: 'viewer',
    scopes: ['budgets:read', 'runs:read'],
  });
  expect((await api(`/orgs/${org.id}/budgets`, secret)).data).toMatchObject([
    { scope_kind: 'member', scope_id: 'amy', period: 'day', limit_usd: '5', enforcement: 'block' },
  ]);
  const runs = (await api('/runs', secret)).data;
  expect(runs).toHaveLength(calls.length);
  expect(runs[0]).toMatchObject({ model: 'gpt-4o-mini', member_id: 'amy', status: 'succeeded' });
});
