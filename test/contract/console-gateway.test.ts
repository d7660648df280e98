/** The gateway pages of the console: new keys with their snippets, calls in progress, and spend of each developer. */

import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyScope, scopes } from '../../src/contract/scopes.ts';
import { eventually } from '../support/eventually.ts';
import { useGatewayWorld } from '../support/gateway-world.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const gateway = useGatewayWorld();
let cookie: string;
beforeAll(async () => {
  cookie = await signedIn(gateway.org.ownerKey);
});

async function signedIn(key: string): Promise<string> {
  return cookieOf(await postForm(gateway.world, '/console/login', { key }));
}

async function signedInWithout(...without: KeyScope[]): Promise<string> {
  const held = scopes.filter((scope) => !without.includes(scope));
  return signedIn((await gateway.world.mintKey(gateway.org, 'admin', held)).secret);
}

const open = async (path: string, as = cookie) => {
  const { status, text } = await gateway.world.request('GET', path, { headers: { cookie: as } });
  expect([path, status]).toEqual([path, 200]);
  return text;
};
const api = (method: string, path: string, body?: object) =>
  gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
    key: gateway.org.ownerKey,
    ...(body && { body }),
  });
const form = (fields: Record<string, string>, as = cookie) =>
  postForm(gateway.world, '/console/gateway/keys/new', fields, { cookie: as });
const keysNamed = async (name: string) =>
  (await api('GET', '/keys?limit=200')).json.data.filter((key: { name: string }) => key.name === name);
const budgetsOf = async (scope: string) => (await api('GET', `/budgets?${scope}`)).json.data;
const secretIn = (text: string) => /id="secret">([^<]+)</.exec(text)?.[1] ?? '';

const call = (key: string, more: object = {}) =>
  fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-test',
      max_tokens: 20,
      messages: [{ role: 'user', content: 'canary-of-the-prompt' }],
      ...more,
    }),
  });

describe('a new gateway key', () => {
  test('a new gateway key is shown once, in the snippets of every client, with a daily budget of its member', async () => {
    const fields = { name: 'Laptop', member_id: 'amy', budget_usd: '$5', once: 'token-1' };
    const first = await form(fields);
    expect(first.status, first.text).toBe(200);
    const secret = secretIn(first.text);
    expect(secret).toMatch(/^svc_\w{20}/);
    for (const line of [
      `export OPENAI_API_KEY=${secret}`,
      `Authorization: Bearer ${secret}`,
      `api_key=&quot;${secret}&quot;`,
      `ANTHROPIC_AUTH_TOKEN=${secret} claude`,
      `PURSER_KEY=${secret} codex`,
      `OpenAI API Key:           ${secret}`,
    ]) {
      expect(first.text).toContain(line);
    }
    expect(await keysNamed('Laptop')).toMatchObject([
      {
        role: 'member',
        scopes: ['gateway:call'],
        attribution: { member_id: 'amy' },
        attribution_locked: ['member_id'],
      },
    ]);
    expect((await call(secret)).status).toBe(200);

    const again = await form(fields);
    expect(secretIn(again.text), 'a reload creates nothing').toBe(secret);
    expect(await keysNamed('Laptop')).toHaveLength(1);
    await form({ ...fields, name: 'Desktop', budget_usd: '7', once: 'token-2' });
    expect(await budgetsOf('scope_kind=member&scope_id=amy')).toMatchObject([
      { period: 'day', limit_usd: '7' },
    ]);
    expect(await open('/console/gateway')).not.toContain(secret);
  });

  test('a new gateway key of a service has no member, and a budget of its own', async () => {
    const { text } = await form({ name: 'Nightly job', member_id: '', budget_usd: '2', once: 'token-3' });
    expect(secretIn(text)).not.toBe('');
    const [key] = await keysNamed('Nightly job');
    expect(key).toMatchObject({ attribution: {}, attribution_locked: [] });
    expect(await budgetsOf(`scope_kind=key&scope_id=${key.id}`)).toMatchObject([{ limit_usd: '2' }]);
  });

  test('a new gateway key is not created if its budget is invalid or not allowed', async () => {
    const invalid = await form({ name: 'Invalid', member_id: 'bob', budget_usd: 'much', once: 'token-4' });
    expect(invalid.status).toBe(422);
    expect(invalid.text).toMatch(/id="field-budget_usd-fault">/);
    expect(invalid.text).toContain('value="bob"');
    expect(await keysNamed('Invalid')).toEqual([]);

    const narrow = await signedInWithout('budgets:write');
    const denied = await form({ name: 'Denied', member_id: '', budget_usd: '2', once: 'token-5' }, narrow);
    expect([denied.status, secretIn(denied.text)]).toEqual([403, '']);
    expect(await keysNamed('Denied'), 'no key without its budget works').toMatchObject([
      { status: 'revoked' },
    ]);
    expect((await form({ name: '', once: 'token-6' })).status).toBe(422);
  });

  test('a new gateway key is offered only to visitors who may create one', async () => {
    const button = 'href="/console/gateway/keys/new"';
    expect(await open('/console/gateway')).toContain(button);
    for (const scope of ['keys:write', 'gateway:call'] as const) {
      expect(await open('/console/gateway', await signedInWithout(scope))).not.toContain(button);
    }
  });
});

test('the settings say what happens to input that cannot be seen, and change it', async () => {
  const path = '/console/gateway/settings';
  expect(await open('/console/gateway')).toMatch(/Input that cannot be seen<\/dt>\s*<dd>Hold its tokens/);
  const page = await open(path);
  expect(page).toMatch(/<option value="hold" selected>Hold its tokens/);
  expect(page).toContain('Results of tools of the provider are always held.');
  const settings = { default_max_output_tokens: '8192', min_output_tokens: '256', max_tool_calls: '10' };
  const modes = {
    hold: 'worst_case',
    reserve_for_running: '8',
    on_limit: 'refuse',
    on_abort: 'drain',
    unseen_input: 'refuse',
    unknown_tokenizer: 'bytes',
  };
  const once = /name="once" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const saved = await postForm(gateway.world, path, { ...settings, ...modes, once }, { cookie });
  expect(saved.status, saved.text).toBe(303);
  expect((await api('GET', '/gateway')).json).toMatchObject({
    unseen_input: 'refuse',
    unseen_input_tokens: null,
    unknown_tokenizer: 'bytes',
    reserve_for_running: 8,
  });
  expect(await open('/console/gateway')).toMatch(/Input that cannot be seen<\/dt>\s*<dd>Refuse the call/);
  expect(await open(path)).toMatch(/<option value="refuse" selected>Refuse the call/);
});

test('the page of live calls shows names and figures, no content, and refreshes itself', async () => {
  expect(await open('/console/gateway/calls')).toMatch(/data-refresh=.*No calls in progress/s);
  let goOn: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  gateway.provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : released);
  const { text } = await form({ name: 'Live key', member_id: 'eve', once: 'token-7' });
  const response = await call(secretIn(text), { stream: true });
  await eventually(async () => {
    const page = await open('/console/gateway/calls');
    const row = page.split('<tbody')[1]?.replaceAll(/<[^>]+>/g, ' ') ?? '';
    expect(row).toMatch(
      /Streaming\s+Live key\s+eve\s+gpt-test\s+chat, streamed\s+openai\s+\$0\.\d+\s+≤ \d+ tokens/,
    );
    expect(page).toContain(`/console/runs/${response.headers.get('x-svc-run-id')}`);
    expect(page).not.toMatch(/canary|tok0/);
  });
  const unnamed = await open('/console/gateway/calls', await signedInWithout('keys:read'));
  expect(unnamed).not.toContain('Live key');
  expect(unnamed).toMatch(/<code>key_\w+<\/code>/);
  goOn();
  gateway.provider.beforeChunk = undefined;
  await response.text();
});

describe('spend by developer', () => {
  const rowsOf = (page: string) =>
    (page.split('<tbody')[1]?.split('</tbody>')[0] ?? '').split('</tr>').map((row) =>
      row
        .replaceAll(/<span class="hidden">[^<]*<\/span>/g, '')
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
  let secret: string;

  beforeAll(async () => {
    const { text } = await form({ name: 'Spender', member_id: 'dan', budget_usd: '0.5', once: 'token-8' });
    secret = secretIn(text);
    const body = { model: 'gpt-test', cost_usd: '0.4', member_id: 'dan' };
    await gateway.world.request('POST', '/v1/runs', { key: gateway.org.ownerKey, body });
    for (let denied = 0; denied < 2; denied += 1) {
      expect((await call(secret, { max_tokens: 20_000 })).status).toBe(402);
    }
    await eventually(async () => {
      await gateway.world.runJob('record-refusals');
      expect((await api('GET', '/refusals')).json.data.length).toBeGreaterThan(0);
    });
  });

  test('shows spend, calls, denials and the budget of each member, with its runs', async () => {
    for (const range of ['today', '7d', '30d', 'month']) {
      const page = await open(`/console/gateway/developers?range=${range}`);
      const row = rowsOf(page).find((one) => one.includes('dan'));
      expect(row).toMatch(/dan \$0\.40 \d+% 1 2 \$0\.10 of \$0\.50 left Gateway: dan Runs/);
      expect(page).toContain(`href="/console/runs?member_id=dan&amp;range=${range}"`);
      expect(page).toContain('>Spend by member</caption>');
    }
    const runs = await open(
      (
        /href="(\/console\/runs\?member_id=dan[^"]*)"/.exec(await open('/console/gateway/developers'))?.[1] ??
        ''
      ).replaceAll('&amp;', '&'),
    );
    expect(runs).toContain('$0.40');
  });

  test('shows what is left of a budget that each member has, on the page of the budget too', async () => {
    const budget = await api('POST', '/budgets', {
      name: 'Each developer',
      scope_kind: 'member',
      scope_id: '*',
      period: 'day',
      limit_usd: '2',
    });
    const body = { model: 'gpt-test', cost_usd: '1.7', member_id: 'eve' };
    await gateway.world.request('POST', '/v1/runs', { key: gateway.org.ownerKey, body });
    const developers = rowsOf(await open('/console/gateway/developers'));
    expect(developers.find((row) => row.includes('eve'))).toContain('$0.30 of $2.00 left Each developer');
    // The budget of a member alone comes first.
    expect(developers.find((row) => row.includes('dan'))).toContain('of $0.50 left');
    const page = await open(`/console/limits/${budget.json.id}`);
    expect(page).toContain('Counted separately for each member.');
    expect(rowsOf(page).find((row) => row.includes('eve'))).toMatch(/eve .*\$0\.30 Near limit of \$2\.00/);
    expect(page).toMatch(/href="\/console\/runs\?member_id=eve&amp;from=/);
    await api('DELETE', `/budgets/${budget.json.id}`);
  });

  test('shows another range, and rejects one that does not exist', async () => {
    const earlier = await open('/console/gateway/developers?range=custom&from=2026-01-01&to=2026-01-31');
    expect(earlier).toContain('No calls in this range');
    expect(earlier).toContain('1 – 31 Jan 2026');
    const { status, text } = await gateway.world.request('GET', '/console/gateway/developers?range=decade', {
      headers: { cookie },
    });
    expect(status).toBe(422);
    expect(text).toMatch(/Invalid range\..*<code>range<\/code>/s);
    expect(text).not.toContain('$0.40');
  });

  test('groups by key, with its name', async () => {
    expect((await call(secret)).status).toBe(200);
    await eventually(async () => {
      const page = await open('/console/gateway/developers?by=key_id');
      expect(rowsOf(page).find((row) => row.includes('Spender'))).toMatch(/Spender \$0\.0\d+ &lt;1% 1 2 /);
    });
  });

  test('shows a dash and the missing scope instead of a wrong number', async () => {
    const row = async (scope: KeyScope) => {
      const page = await open('/console/gateway/developers', await signedInWithout(scope));
      expect(page).toContain(`Requires <code>${scope}</code>`);
      return rowsOf(page).find((one) => one.includes('dan'));
    };
    expect(await row('budgets:read')).toMatch(/ 2 – Runs$/);
    expect(await row('keys:read')).toMatch(/ – \$0\.\d+ of \$0\.50 left/);
  });
});

test('the forms of a deleted connection are not found', async () => {
  const created = await api('POST', '/connections', {
    name: 'short-lived',
    kind: 'openai',
    api_key: 'sk-proj-0123456789-0123456789-e7a2',
  });
  const forms = ['edit', 'rotate'].map((form) => `/console/gateway/connections/${created.json.id}/${form}`);
  expect(await open(forms[1] as string)).toMatch(
    /Current key of <strong>short-lived<\/strong>: <code>…e7a2<\/code>/,
  );
  await api('DELETE', `/connections/${created.json.id}`);
  for (const path of forms) {
    const { status } = await gateway.world.request('GET', path, { headers: { cookie } });
    expect([path, status]).toEqual([path, 404]);
  }
});
