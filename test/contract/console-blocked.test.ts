/** Blocked requests, limits and the overview of the console, without a browser: what each visitor sees, and the forms. */
import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../harness.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const world = useWorld();
const org = useOrg(world, 'Northwind');
let owner: string;
beforeAll(async () => {
  owner = await signedIn(org.ownerKey);
});

async function signedIn(key: string): Promise<string> {
  return cookieOf(await postForm(world, '/console/login', { key }));
}
const api = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });
const open = (path: string, cookie = owner) => world.request('GET', path, { headers: { cookie } });
/** Returns the text of a page without markup. */
const textOf = (text: string) =>
  (text.split('<main')[1] ?? '').replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const budget = { name: 'Research', period: 'month', limit_usd: '5', enforcement: 'block' };

async function latestDenial(): Promise<string> {
  await world.runJob('record-refusals');
  world.clock.advanceSeconds(2);
  return (await api('GET', '/refusals?limit=1')).json.data[0].id;
}

test('the owner of a limit and of a rule is set, shown and removed by their forms', async () => {
  const created = await postForm(
    world,
    '/console/limits/budgets/new',
    { ...budget, scope_kind: 'team', scope_id: 'research', owner: ' lab@example.com ' },
    { cookie: owner },
  );
  expect([created.status, created.headers.location]).toEqual([
    303,
    expect.stringMatching(/^\/console\/limits\/bud_\w+\?done=budget_created$/),
  ]);
  const page = String(created.headers.location).replace(/\?.*/, '');
  expect((await open(page)).text).toContain('<a href="mailto:lab@example.com">lab@example.com</a>');
  const id = page.replace('/console/limits/', '');
  const form = `/console/limits/budgets/${id}`;
  expect((await open(form)).text).toContain('value="lab@example.com"');
  const saved = await postForm(world, form, { ...budget, owner: '' }, { cookie: owner });
  expect(saved.headers.location).toBe(`${page}?done=saved`);
  expect((await api('GET', `/budgets/${id}`)).json.owner).toBeNull();
  const rule = { effect: 'block', models: 'y', priority: '9', reason: 'No y.', enabled: 'true' };
  await postForm(world, '/console/policies/new', { ...rule, owner: '#ai' }, { cookie: owner });
  const [made] = (await api('GET', '/policies')).json.data;
  expect(made).toMatchObject({ reason: 'No y.', owner: '#ai' });
  const wrong = await postForm(
    world,
    '/console/limits/spend-cap',
    { cap_usd: '1', owner: 'o'.repeat(201) },
    { cookie: owner },
  );
  expect([wrong.status, wrong.text.includes('id="field-owner-fault"')]).toEqual([422, true]);
});

test('a blocked request names its limit, what was missing, when it resets and whom to ask, to a member too', async () => {
  const { id } = (
    await api('POST', '/budgets', {
      ...budget,
      name: 'Triage',
      scope_kind: 'workflow',
      scope_id: 'triage',
      owner: '#ops',
    })
  ).json;
  await api('POST', '/v1/runs', { model: 'm', cost_usd: '4', workflow: 'triage' });
  expect((await api('POST', '/v1/runs', { model: 'm', cost_usd: '3', workflow: 'triage' })).status).toBe(402);
  const path = `/console/refusals/${await latestDenial()}`;
  const admin = (await open(path)).text;
  expect(admin).toContain(`<a href="/console/limits/${id}">Triage</a>`);
  expect(admin).toContain(`href="/console/limits/budgets/${id}">Change limit`);
  expect(admin).toMatch(/href="\/console\/limits\/[^"]+">Raise until …/);
  expect(admin).toMatch(/<a href="\/console\/keys\/key_\w+">/);
  const shown = textOf(admin);
  expect(shown).toContain('Blocked by budget “Triage”');
  expect(shown).toContain('Needed $3.00 Remaining then $1.00 of $5.00 Resets 1 Dec 2026');
  expect(shown).toContain('Whom to ask #ops');
  const { secret } = await world.mintKey(org, 'member', ['runs:read']);
  const member = await signedIn(secret);
  const seen = (await open(path, member)).text;
  expect(textOf(seen)).toContain('Whom to ask #ops');
  expect(seen).not.toMatch(/Change limit|Raise until/);
  expect(seen).not.toContain('href="/console/limits/bud_');
  const elsewhere = await signedIn((await world.createOrg()).ownerKey);
  expect((await open(path, elsewhere)).status).toBe(404);
});

test('a blocked request without an owner names the admins, and a deleted limit its name', async () => {
  await api('POST', '/members', { email: 'admin@example.com', role: 'admin' });
  const { id } = (
    await api('POST', '/budgets', { ...budget, name: 'Gone', scope_kind: 'team', scope_id: 'g' })
  ).json;
  await api('POST', '/v1/runs', { model: 'm', cost_usd: '9', team: 'g' });
  const path = `/console/refusals/${await latestDenial()}`;
  await api('DELETE', `/budgets/${id}`);
  const { status, text } = await open(path);
  expect(status).toBe(200);
  expect(textOf(text)).toMatch(/Gone .*Deleted since/);
  expect(text).not.toContain('Raise limit');
  expect(text).not.toContain(`/console/limits/${id}"`);
  expect(textOf(text)).toContain('No owner set.');
});

test.each<[string, object, string]>([
  ['a rule', { model: 'y', cost_usd: '0' }, 'Rule No y.'],
  [
    'a detector',
    { model: 'm', cost_usd: '0', content: 'jo@example.com' },
    'Blocked by content safety “email”',
  ],
  ['a chain', { model: 'm', cost_usd: '3', chain_id: 'c' }, 'Needed $3.00 Remaining then $1.00 of $1.00'],
  [
    'credits',
    { model: 'm', cost_usd: '3', customer_id: 'acme' },
    'Customer acme Needed $3.00 Remaining then $2.00',
  ],
])('a request that %s blocked has a page', async (_, run, expected) => {
  await api('PATCH', '/safety-detectors/email', { enabled: true, action: 'block' });
  // A run without a chain is a chain of its own.
  await api('PUT', '/chain-budget', { max_cost_usd: 'chain_id' in run ? '1' : '100' });
  await api('POST', '/credit-packs', { customer_id: 'acme', amount_usd: '2' });
  expect([402, 403, 429]).toContain((await api('POST', '/v1/runs', run)).status);
  const { status, text } = await open(`/console/refusals/${await latestDenial()}`);
  expect(status).toBe(200);
  expect(textOf(text)).toContain(expected);
  // Every link of the page leads somewhere.
  for (const [, target = ''] of text.split('<main')[1]?.matchAll(/href="(\/console[^"]*)"/g) ?? []) {
    expect([target, (await open(target.replaceAll('&amp;', '&'))).status]).toEqual([target, 200]);
  }
  await api('PUT', '/chain-budget', { max_cost_usd: '100' });
  for (const { id } of (await api('GET', '/credit-packs')).json.data) {
    await api('DELETE', `/credit-packs/${id}`);
  }
});

test('blocked requests are filtered by trace id and by days; an invalid filter is named', async () => {
  const denied = await api('POST', '/v1/runs', { model: 'y', cost_usd: '0', workflow: 'traced' });
  const id = await latestDenial();
  const trace = denied.headers['x-svc-trace-id'];
  const found = await open(`/console/refusals?trace_id=${trace}`);
  expect(found.text).toContain(`href="/console/refusals/${id}"`);
  expect((await open('/console/refusals?from=2026-11-15&to=2026-11-15')).text).toContain(id);
  expect((await open('/console/refusals?from=2026-11-16')).text).toContain('No matches');
  expect((await open('/console/refusals?to=2026-11-14')).text).toContain('No matches');
  for (const query of ['trace_id=x', 'from=2026-02-30', 'colour=red']) {
    const { status, text } = await open(`/console/refusals?${query}`);
    expect([query, status]).toEqual([query, 422]);
    expect(text).toContain(`<code>${query.split('=')[0]}</code>`);
  }
});

test('limits are searched and filtered, and the tabs keep the filters', async () => {
  await api('POST', '/budgets', {
    ...budget,
    name: 'Needle',
    scope_kind: 'model',
    scope_id: 'hay',
    limit_usd: '0',
  });
  const { text } = await open('/console/limits?search=needle&state=exhausted&kind=budget');
  expect(text).toContain('>Needle</a>');
  expect(text).not.toContain('>Triage</a>');
  expect(text).toContain('<input type="hidden" name="kind" value="budget">');
  expect(text).toContain('href="/console/limits?search=needle&amp;state=exhausted&amp;kind=credits"');
  expect((await open('/console/limits?search=none')).text).toContain('No matches');
});

test('a limit shows its usage, past periods and alerts, and a viewer no form', async () => {
  const run = {
    model: 'm',
    status: 'succeeded',
    cost_usd: '2',
    department: 'ops',
    started_at: '2026-10-05T00:00:00Z',
  };
  await api('POST', '/v1/runs/bulk?enforcement=record', { runs: [run] });
  const { id } = (
    await api('POST', '/budgets', { ...budget, name: 'Ops', scope_kind: 'department', scope_id: 'ops' })
  ).json;
  await api('POST', '/v1/runs', { model: 'm', cost_usd: '4', department: 'ops' });
  const { text } = await open(`/console/limits/${id}`);
  const shown = textOf(text);
  expect(shown).toContain('1 Oct 2026 – 31 Oct 2026');
  expect(shown).toContain('$2.00 40%');
  expect(shown).toContain('80% reached');
  expect(text).toContain('href="/console/runs?department=ops&amp;from=2026-10-01&amp;to=2026-10-31"');
  expect((await open('/console/runs?department=ops&from=2026-10-01&to=2026-10-31')).text).toContain('$2.00');
  expect(text).toContain(`href="/console/refusals?limit_id=${id}"`);
  expect(text).toContain('>Edit</a>');
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read', 'budgets:write']);
  const viewer = await open(`/console/limits/${id}`, await signedIn(secret));
  expect([viewer.status, viewer.text.includes('>Edit</a>')]).toEqual([200, false]);
  expect((await open('/console/limits/bud_none')).status).toBe(404);
});

test('a limit leads to its changes, and a limit of each value to the spend of its own period', async () => {
  const each = { name: 'Weekly', scope_kind: 'member', scope_id: '*', period: 'week', limit_usd: '5' };
  const { id } = (await api('POST', '/budgets', each)).json;
  // The clock of the test is on a Sunday, the last day of the week.
  const spend = 'href="/console/usage?group_by=member_id&amp;from=2026-11-09&amp;to=2026-11-15"';
  expect((await open('/console/limits?kind=budget')).text).toContain(spend);
  const page = (await open(`/console/limits/${id}`)).text;
  expect(page).toContain(spend);
  const changes = /href="(\/console\/audit[^"]*)">Changes</.exec(page)?.[1] ?? '';
  expect((await open(changes)).text).toContain('budgets.create');
});

test('a credit pack expires, and does not reset', async () => {
  const pack = { customer_id: 'acme', amount_usd: '5', expires_at: '2026-11-26T12:00:00Z' };
  await api('POST', '/credit-packs', pack);
  for (const path of ['/console/limits?kind=credits', '/console/customers/of/acme']) {
    expect(textOf((await open(path)).text)).toContain('expires 26 Nov 2026');
  }
});

test('the overview shows its time and refreshes, with or without scripts, unless it is paused', async () => {
  const live = (await open('/console')).text;
  expect(live).toContain('data-refresh="30"');
  expect(live).toContain('<noscript><meta http-equiv="refresh" content="30"></noscript>');
  expect(textOf(live)).toMatch(/As of \d\d:\d\d:\d\d/);
  const paused = (await open('/console?still=yes')).text;
  expect(paused).not.toContain('data-refresh');
  expect(paused).toContain('<a href="/console">Resume updates</a>');
});
