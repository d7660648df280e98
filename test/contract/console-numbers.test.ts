/** Amounts on the pages of the console: none is invented, none is omitted, and each is labelled. */

import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyScope, scopes } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { cookieOf, postForm, signIn } from '../support/sign-in.ts';

const world = useWorld();
const org = useOrg(world, 'Northwind');
beforeAll(async () => {
  await api('PUT', '/spend-cap', { cap_usd: '50' });
  await api('POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '500' });
  const alertOnly = { scope_kind: 'department', scope_id: 'finance', enforcement: 'alert' };
  await api('POST', '/budgets', { name: 'Finance', period: 'month', limit_usd: '2', ...alertOnly });
  await run({ cost_usd: '3', customer_id: 'acme', department: 'finance' });
  await run({ cost_usd: '17' });
});

const api = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key: org.ownerKey, ...(body && { body }) });
const run = (body: object) =>
  world.request('POST', '/v1/runs', { key: org.ownerKey, body: { model: 'm', ...body } });

async function pageOf(path: string, without: readonly KeyScope[] = []): Promise<string> {
  const { secret } = await world.mintKey(
    org,
    'viewer',
    scopes.filter((scope) => !without.includes(scope)),
  );
  const cookie = cookieOf(await postForm(world, '/console/login', { key: secret }));
  const { status, text } = await world.request('GET', path, { headers: { cookie } });
  expect(status).toBe(200);
  return text;
}

/** Returns the value and the note of a figure, without markup. */
function stat(text: string, label: string): string {
  const [, rest = ''] = text.split(`<span class="stat-label">${label}</span>`);
  return (rest.split('<div class="stat">')[0]?.split('</div>')[0] ?? '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

describe('a figure that the caller may not read', () => {
  test('a figure that the caller may not read is a dash with the missing scope, if spend may not be read', async () => {
    const text = await pageOf('/console', ['runs:read']);
    expect(stat(text, 'Today')).toMatch(/^– Requires runs:read/);
    expect(stat(text, 'This month')).toMatch(/^– Requires runs:read/);
    // The limits may be read, and their usage is known.
    expect(stat(text, 'Today')).toContain('$30.00 of $50.00 remaining');
    expect(stat(text, 'Month-end forecast')).toBe('– Requires runs:read');
    expect(text).not.toMatch(/\$0\.00<\/strong>/);
  });

  test('a figure that the caller may not read is not shown as a missing limit, if limits may not be read', async () => {
    const text = await pageOf('/console', ['budgets:read']);
    expect(stat(text, 'Today')).toBe('$20.00 15 Nov Requires budgets:read');
    expect(stat(text, 'This month')).toBe('$20.00 1 Nov – 30 Nov Requires budgets:read');
    expect(text).not.toMatch(/No daily cap|No monthly budget/);
  });

  test('a figure that the caller may not read is a dash for the forecast and for approvals', async () => {
    const text = await pageOf('/console', ['forecasts:read', 'policies:read']);
    expect(stat(text, 'Month-end forecast')).toBe('– Requires forecasts:read');
    expect(stat(text, 'Pending approvals')).toBe('– Requires policies:read');
  });

  test('a figure that the caller may not read is a dash on the customer page', async () => {
    const text = await pageOf('/console/customers/of/acme', ['runs:read']);
    expect(stat(text, 'Last 30 days')).toBe('– Requires runs:read');
  });

  test('a figure that the caller may not read is not zero for a key without any read access', async () => {
    const { secret } = await world.mintKey(org, 'member', ['edge:decide']);
    const cookie = cookieOf(await postForm(world, '/console/login', { key: secret }));
    const { text } = await world.request('GET', '/console', { headers: { cookie } });
    expect(text).not.toMatch(/\$0\.00|No daily cap|No monthly budget|<h2>Get started/);
  });
});

describe('the overview', () => {
  test('lists spend without a customer as a row, ordered by size', async () => {
    const text = await pageOf('/console');
    const [, card = ''] = text.split('<h2>Top customers</h2>');
    const rows =
      card
        .split('</section>')[0]
        ?.match(/<tbody[^>]*>(.*)<\/tbody>/s)?.[1]
        ?.split('</tr>') ?? [];
    expect(
      rows.map((row) =>
        row
          .replaceAll(/<[^>]+>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ),
    ).toEqual(['(not set) 1 $17.00 85%', 'acme 1 $3.00 15%', '']);
    expect(card).toMatch(
      /<a class="quiet" href="\/console\/runs\?without=customer_id&amp;from=[-\d]+&amp;to=[-\d]+">\(not set\)<\/a>/,
    );
  });

  test('sums up the rows that are not among the largest', async () => {
    const many = await world.createOrg();
    for (let index = 1; index <= 8; index += 1) {
      await world.request('POST', '/v1/runs', {
        key: many.ownerKey,
        body: { model: 'm', cost_usd: String(index), customer_id: `customer-${index}` },
      });
    }
    const { cookie } = await signIn(world, many.ownerKey, many.id);
    const { text } = await world.request('GET', '/console', { headers: { cookie } });
    const [, card = ''] = text.split('<h2>Top customers</h2>');
    const other = /<td[^>]*><a class="quiet"[^>]*>Other<\/a>.*?<\/tr>/.exec(card)?.[0] ?? '';
    expect(
      other
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ).toBe('Other 2 $3.00 8%');
  });

  test('shows by how much an alert-only limit is exceeded', async () => {
    for (const path of ['/console', '/console/limits']) {
      const text = await pageOf(path);
      const row = text.slice(text.indexOf('Finance')).slice(0, 1_500);
      expect([path, row]).toEqual([path, expect.stringContaining('$1.00 over</strong>')]);
      expect(text).not.toContain('$0.00 remaining');
    }
  });

  test('shows `100+` if there are more approval requests than it has read', async () => {
    const busy = await world.createOrg();
    const asOwner = { key: busy.ownerKey };
    await world.request('POST', `/v1/orgs/${busy.id}/policies`, {
      ...asOwner,
      body: { effect: 'require_approval', actions: ['a*'], priority: 1, reason: 'Look first.' },
    });
    const { secret } = await world.mintKey(busy, 'member', ['runs:write']);
    for (let index = 0; index < 101; index += 1) {
      const body = { model: 'm', cost_usd: '1', action: `a${index}` };
      await world.request('POST', '/v1/runs', { key: secret, body });
    }
    const { cookie } = await signIn(world, busy.ownerKey, busy.id);
    const { text } = await world.request('GET', '/console', { headers: { cookie } });
    expect(stat(text, 'Pending approvals')).toMatch(/^100\+/);
  });
});

test('without history there is no forecast, neither in figures nor in charts', async () => {
  const overview = await pageOf('/console');
  expect(stat(overview, 'Month-end forecast')).toBe('– Not enough history yet');
  expect(overview).not.toMatch(/>Forecast</);
  const forecasts = await pageOf('/console/forecasts');
  expect(stat(forecasts, 'Next 30 days')).toBe('– No history yet');
  expect(stat(forecasts, 'Runs')).toBe('– No history yet');
});

test('the costs of runs include adjustments, in the list, on the page of a run and in its chain', async () => {
  const other = await world.createOrg();
  const asOwner = { key: other.ownerKey };
  const post = async (cost_usd: string) =>
    (await world.request('POST', '/v1/runs', { ...asOwner, body: { model: 'm', cost_usd, chain_id: 'c' } }))
      .json.id;
  const [id] = [await post('3.000000001'), await post('1')];
  const body = { amount_usd: '-1.5', reason: 'Refund' };
  await world.request('POST', `/v1/runs/${id}/adjustments`, { ...asOwner, body });
  const { cookie } = await signIn(world, other.ownerKey, other.id);
  const open = async (path: string) => (await world.request('GET', path, { headers: { cookie } })).text;
  const adjusted = ' <span class="badge plain">Adjusted</span>';
  expect(await open('/console/runs')).toContain(`data-title="Cost">$1.50${adjusted}</td>`);
  const page = await open(`/console/runs/${id}`);
  expect(page).toContain(`<dt>Cost</dt><dd>$1.500000001${adjusted}</dd>`);
  expect(page).toContain('<dt>Original cost</dt><dd>$3.000000001</dd>');
  expect(page).toContain(`<span class="quiet">$1.50${adjusted}</span>`);
  expect(page).toContain('2 runs, $2.50 total');
});

test('the last 30 days of a customer are those of the list', async () => {
  const other = await world.createOrg();
  const daysAgo = (days: number, cost_usd: string) => {
    const at = new Date(world.clock.now().getTime() - days * 86_400_000 + 60_000).toISOString();
    return { model: 'm', cost_usd, customer_id: 'acme', started_at: at, finished_at: at };
  };
  await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: other.ownerKey,
    body: { runs: [daysAgo(29, '2'), daysAgo(30, '40')] },
  });
  const { cookie } = await signIn(world, other.ownerKey, other.id);
  const open = async (path: string) => (await world.request('GET', path, { headers: { cookie } })).text;
  expect(await open('/console/customers')).toContain('data-title="Spend">$2.00</td>');
  expect(stat(await open('/console/customers/of/acme'), 'Last 30 days')).toBe('$2.00 1 runs');
});

test('limits that will be exhausted are named and linked, from every part of the org', async () => {
  const text = await pageOf('/console/forecasts');
  const [, card = ''] = text.split('<h2>Projected exhaustion</h2>');
  const rows = (/<tbody[^>]*>(.*?)<\/tbody>/s.exec(card)?.[1] ?? '').split('</tr>').map((row) =>
    row
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  expect(rows).toEqual([
    'Daily spend cap $20.00 $50.00 – No history yet',
    'All Budget $20.00 $500.00 – No history yet',
    'Finance Budget · department finance $3.00 $2.00 Exhausted',
    '',
  ]);
  expect(card).toMatch(/<a href="\/console\/limits\/bud_\w+">Finance<\/a>/);
});
