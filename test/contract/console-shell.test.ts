/** The frame of the console: search, account menu, onboarding, and the page at the base URL. */

import { beforeAll, describe, expect, test } from 'vitest';
import type { KeyScope, OrgRole } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { createFixtures, createPendingWork, mailSettings } from '../support/console-fixtures.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const world = useWorld(mailSettings);
const org = useOrg(world, 'Northwind');
let cookie: string;
beforeAll(async () => {
  await createFixtures(world, org);
  await createPendingWork(world, org);
  cookie = await signedIn(org.ownerKey);
});

const api = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });
const open = (path: string, as = cookie) => world.request('GET', path, { headers: { cookie: as } });
const search = (q: string, as = cookie) => open(`/console/search?q=${encodeURIComponent(q)}`, as);

async function signedIn(key: string): Promise<string> {
  return cookieOf(await postForm(world, '/console/login', { key }));
}

async function signedInAs(role: OrgRole, held: readonly KeyScope[], to = org): Promise<string> {
  return signedIn((await world.mintKey(to, role, held)).secret);
}

/** Returns the matches of a results page as `kind: name` with their links. */
function matchesOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, title = '', list = ''] of text.matchAll(
    /<h2>([^<]+)<\/h2><\/div><ul class="rows">(.*?)<\/ul>/gs,
  )) {
    for (const [, href = '', name = ''] of list.matchAll(/<a href="([^"]+)">([^<]+)</g)) {
      found.set(`${title}: ${name}`, href.replaceAll('&amp;', '&'));
    }
  }
  return found;
}

describe('the search', () => {
  test('opens the page of an id', async () => {
    const first = async (path: string) => (await api('GET', path)).json.data[0].id as string;
    for (const [list, page] of [
      ['/v1/runs', '/console/runs/'],
      ['/keys', '/console/keys/'],
      ['/budgets', '/console/limits/budgets/'],
      ['/customer-limits', '/console/limits/customers/'],
      ['/credit-packs', '/console/limits/credits/'],
      ['/policies', '/console/policies/'],
      ['/members', '/console/settings/members/'],
      ['/webhooks', '/console/webhooks/'],
      ['/email-subscriptions', '/console/email-alerts/'],
      ['/connections', '/console/gateway/connections/'],
      ['/statements', '/console/statements/'],
      ['/capacity-scenarios', '/console/forecasts/scenarios/'],
      ['/v1/benchmarks/cohorts', '/console/benchmarks/'],
    ] as const) {
      const id = await first(list);
      const found = await search(` ${id} `);
      expect([list, found.status, found.headers.location]).toEqual([list, 303, `${page}${id}`]);
      expect([list, (await open(`${page}${id}`)).status]).toEqual([list, 200]);
    }
  });

  test('finds the runs of a decision, a chain and an external id, and the entries of a trace', async () => {
    const decided = await api('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.5' });
    const { decision_id } = decided.json;
    expect((await search(decision_id)).headers.location).toBe('/console/limits/holds');
    const run = {
      model: 'm',
      cost_usd: '0.25',
      decision_id,
      external_id: 'request-4711',
      chain_id: 'chain-9',
    };
    expect((await api('POST', '/v1/runs', run)).status).toBe(201);
    expect((await search(decision_id)).headers.location).toBe(`/console/runs?decision_id=${decision_id}`);
    expect((await search('request-4711')).headers.location).toBe('/console/runs?external_id=request-4711');
    expect((await search('chain-9')).headers.location).toBe('/console/runs?chain_id=chain-9');
    expect((await open(`/console/runs?decision_id=${decision_id}`)).text).toContain('/console/runs/run_');

    const [approval] = (await api('GET', '/approvals')).json.data;
    expect(matchesOf((await search(approval.id)).text).get(`ID: ${approval.attempted}`)).toBe(
      '/console/approvals?state=pending',
    );
    const [entry] = (await api('GET', '/audit-log?limit=1')).json.data;
    expect((await search(entry.trace_id)).headers.location).toBe(`/console/audit?trace_id=${entry.trace_id}`);
  });

  test('finds by a part of the name, in any case, and every link works', async () => {
    await api('POST', '/keys', { name: 'Orion gateway', role: 'member', scopes: ['runs:write'] });
    await api('POST', '/budgets', {
      name: 'Orion launch',
      scope_kind: 'workflow',
      scope_id: 'orion-triage',
      period: 'month',
      limit_usd: '5',
    });
    await api('POST', '/policies', { effect: 'block', models: ['o'], priority: 9, reason: 'Not for Orion.' });
    await api('POST', '/webhooks', { url: 'https://orion.example.com/hook', events: ['*'] });
    await api('POST', '/members', { email: 'orion@example.com', name: 'Ori Onassis', role: 'viewer' });
    await api('POST', '/v1/runs', {
      model: 'orion-large',
      cost_usd: '1',
      customer_id: 'orion-customer',
      workflow: 'orion-triage',
      team: 'orion-team',
    });
    const { status, text } = await search('oRiOn');
    expect(status).toBe(200);
    const matches = matchesOf(text);
    expect([...matches.keys()]).toEqual([
      'API keys: Orion gateway',
      'Budgets: Orion launch',
      'Policies: Not for Orion.',
      'Webhooks: https://orion.example.com/hook',
      'Members: Ori Onassis',
      'Customers: orion-customer',
      'Models: orion-large',
      'Workflows: orion-triage',
      'Teams: orion-team',
    ]);
    for (const href of matches.values()) {
      const page = await open(href);
      expect([href, page.status]).toEqual([href, 200]);
      expect([href, /orion|onassis/i.test(page.text.split('<main')[1] ?? '')]).toEqual([href, true]);
    }
    expect(matchesOf((await search('limits')).text).get('Pages: Limits')).toBe('/console/limits');
  });

  test('shows no results for special characters, nothing or too much', async () => {
    for (const q of ['%', '%_', '<script>alert(1)</script>', `'"`, '\\', 'run_unknown', 'x'.repeat(5_000)]) {
      const { status, text } = await search(q);
      expect([q.slice(0, 30), status, text.includes('No matches')]).toEqual([q.slice(0, 30), 200, true]);
      expect(text).not.toContain('<script>alert');
    }
    expect((await search('  ')).text).toContain('Enter an ID or a part of a name.');
    expect((await open('/console/search')).status).toBe(200);
  });

  test('finds nothing of another organization', async () => {
    const [run] = (await api('GET', '/v1/runs')).json.data;
    const other = await world.createOrg('Contoso');
    const theirs = await signedIn(other.ownerKey);
    expect((await search(run.id, theirs)).text).toContain('No matches');
    expect((await search('triage', theirs)).text).toContain('No matches');
  });

  test('skips what the visitor may not read, says so, and records no denied call', async () => {
    const before = (await api('GET', '/audit-log?outcome=denied')).json.data.length;
    const [budget] = (await api('GET', '/budgets')).json.data;
    const as = await signedInAs('member', ['runs:read', 'runs:write']);
    const { status, text } = await search(budget.id, as);
    expect([status, text.includes('No matches')]).toEqual([200, true]);
    expect(text).toMatch(/Not searched.*<code>budgets:read<\/code>/s);
    expect((await api('GET', '/audit-log?outcome=denied')).json.data).toHaveLength(before);
  });

  test('the search of operators finds organizations by a part of the name, and by id', async () => {
    const as = await signedIn(world.operatorKey);
    expect((await search(org.id, as)).headers.location).toBe(`/console/orgs/${org.id}`);
    expect(matchesOf((await search('northw', as)).text).get('Organizations: Northwind')).toBe(
      `/console/orgs/${org.id}`,
    );
  });
});

describe('the filter `search` of a list', () => {
  test.each(['/keys', '/budgets', '/policies', '/webhooks', '/members'])('%s', async (list) => {
    const [row] = (await api('GET', `${list}?limit=1`)).json.data;
    const found = (await api('GET', `${list}?search=${row.id.toUpperCase()}`)).json.data;
    expect(found.map(({ id }: { id: string }) => id)).toEqual([row.id]);
    expect((await api('GET', `${list}?search=%25`)).json.data).toEqual([]);
    const empty = await api('GET', `${list}?search=`);
    expect([empty.status, empty.json.error.details.fields[0].field]).toEqual([422, 'search']);
  });
});

describe('the account menu', () => {
  test('shows who is signed in, the role and the organization', async () => {
    const { secret } = await world.mintKey(org, 'viewer', ['runs:read', 'org:read']);
    const text = (await open('/console', await signedIn(secret))).text;
    const menu = /<details class="account">.*?<\/details>/s.exec(text)?.[0] ?? '';
    expect(menu).toMatch(/Signed in as<\/span> <strong>[^<]+</);
    expect(menu).toMatch(/<dt>Role<\/dt><dd>Viewer</);
    expect(menu).toMatch(/<dt>Organization<\/dt><dd>Northwind</);
    expect(menu).toContain('action="/console/theme"');
    expect(menu).toContain('href="/console/settings/sessions"');
    expect(menu).toContain('action="/console/logout"');
  });

  test('the account menu has no entry in the menu for a page that the visitor may not open', async () => {
    const menu = async (as: string) =>
      /<nav class="menu".*?<\/nav>/s.exec((await open('/console', as)).text)?.[0];
    expect(await menu(cookie)).toContain('href="/console/webhooks"');
    const narrow = await menu(await signedInAs('viewer', ['runs:read']));
    expect(narrow).toContain('href="/console/runs"');
    expect(narrow).not.toContain('href="/console/webhooks"');
    expect(narrow).not.toContain('href="/console/keys"');
  });
});

describe('the base URL', () => {
  const at = async (accept?: string) =>
    (await world.request('GET', '/', { headers: accept === undefined ? {} : { accept } })).headers.location;

  test('opens the console in a browser, and the documentation for other clients', async () => {
    expect(await at('text/html,application/xhtml+xml,*/*;q=0.8')).toBe('/console');
    expect([await at('application/json'), await at('*/*'), await at()]).toEqual(['/docs', '/docs', '/docs']);
  });
});

describe('the onboarding', () => {
  test('ticks off what is done, from the state of the organization', async () => {
    const theirs = await world.createOrg('Fabrikam');
    const as = await signedIn(theirs.ownerKey);
    const steps = async () => {
      const { text } = await open('/console/get-started', as);
      const list = /<ol class="checklist">(.*?)<\/ol>/s.exec(text)?.[1] ?? '';
      return [...list.matchAll(/<li class="step-item( is-done)?"><div><strong>([^<]+)</g)].map(
        ([, done, title]) => `${done === undefined ? '-' : 'x'} ${title}`,
      );
    };
    const change = (path: string, body: object, method = 'POST') =>
      world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${theirs.id}${path}`, {
        key: theirs.ownerKey,
        body,
      });
    expect(await steps()).toEqual([
      '- Set a limit',
      '- Create an API key for your service',
      '- Connect a provider',
      '- Send the first call',
      '- Send alerts to your systems',
      '- Invite your team',
    ]);
    expect((await open('/console', as)).text).toContain('0 of 3 required steps done.');
    await change('/spend-cap', { cap_usd: '5' }, 'PUT');
    await change('/keys', { name: 'Gateway', role: 'member', scopes: ['gateway:call'] });
    expect((await open('/console', as)).text).toContain('2 of 3 required steps done.');
    await change('/v1/runs', { model: 'm', cost_usd: '1' });
    await change('/webhooks', { url: 'https://hooks.example.com', events: ['*'] });
    expect(await steps()).toEqual([
      'x Set a limit',
      'x Create an API key for your service',
      '- Connect a provider',
      'x Send the first call',
      'x Send alerts to your systems',
      '- Invite your team',
    ]);
    expect((await open('/console/get-started', as)).text).toContain('All required steps are done.');
  });

  test('shows a missing scope instead of an unfinished step', async () => {
    const { text } = await open('/console/get-started', await signedInAs('viewer', ['runs:read']));
    expect(text).toMatch(/Set a limit<\/strong> <span class="quiet">Requires <code>budgets:read<\/code>/);
    expect(text).not.toContain('href="/console/limits/spend-cap"');
  });

  test('fills a new key into the code for its scopes', async () => {
    const created = async (...held: string[]) => {
      const body = new URLSearchParams([
        ['name', 'Snippets'],
        ['role', 'member'],
        ...held.map((scope) => ['scopes', scope]),
      ]).toString();
      const { text } = await world.request('POST', '/console/keys/new', {
        raw: body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
      });
      return text;
    };
    const gateway = await created('gateway:call');
    const secret = /<code id="secret">([^<]+)</.exec(gateway)?.[1] ?? '';
    for (const part of ['curl', 'OpenAI SDK, TypeScript', 'OpenAI SDK, Python', 'Environment']) {
      const code = new RegExp(`aria-label="${part}">([^<]+)<`).exec(gateway)?.[1] ?? '';
      expect([part, code.includes(secret)]).toEqual([part, true]);
    }
    expect(gateway).toContain('export OPENAI_BASE_URL=');
    expect(gateway).not.toContain('/v1/edge/decision');
    const own = await created('edge:decide', 'runs:write');
    expect(own).toContain('/v1/edge/decision');
    expect(own).not.toContain('OPENAI_BASE_URL');
    expect(await created('runs:read')).toContain(`/v1/orgs/${org.id}/usage?group_by=model`);
  });

  test('the onboarding has presets with a role, limited to the role and scopes of the visitor', async () => {
    const form = async (preset: string, as = cookie) =>
      (await open(`/console/keys/new?preset=${preset}`, as)).text;
    const roleIn = (text: string) => /<option value="(\w+)" selected>/.exec(text)?.[1];
    const presetsIn = (text: string) =>
      [
        ...(/<p class="presets">.*?<\/p>/s.exec(text)?.[0] ?? '').matchAll(/class="button"[^>]*>([^<]+)</g),
      ].map(([, label]) => label);
    expect(roleIn(await form('reporting'))).toBe('viewer');
    expect(roleIn(await form('admin'))).toBe('admin');
    expect(presetsIn(await form(''))).toEqual([
      'Gateway',
      'Own gateway',
      'Read-only',
      'Reporting',
      'Admin',
      'Custom',
    ]);
    const narrow = await signedInAs('admin', ['keys:read', 'keys:write', 'runs:read']);
    expect(presetsIn(await form('', narrow))).toEqual(['Read-only', 'Reporting', 'Admin', 'Custom']);
  });
});
