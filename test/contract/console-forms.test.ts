/** Forms of the console: shown only to visitors who may use them, effective once, and without unrequested values. */
import { beforeAll, describe, expect, test } from 'vitest';
import { screens } from '../../src/console/screens.ts';
import { type KeyScope, type OrgRole, scopes } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { createFixtures, createPendingWork, mailSettings } from '../support/console-fixtures.ts';
import { followLinks } from '../support/console-links.ts';
import { fieldsIn, withoutEntities } from '../support/form-fields.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const world = useWorld(mailSettings);
const org = useOrg(world, 'Northwind');
let cookie: string;
beforeAll(async () => {
  await createFixtures(world, org);
  await createPendingWork(world, org);
  cookie = await signedIn(org.ownerKey);
});

const api = (method: string, path: string) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key: org.ownerKey });
const open = (path: string, as = cookie) => world.request('GET', path, { headers: { cookie: as } });

async function signedIn(key: string): Promise<string> {
  return cookieOf(await postForm(world, '/console/login', { key }));
}

async function signedInAs(role: OrgRole, held: readonly KeyScope[], to = org): Promise<string> {
  return signedIn((await world.mintKey(to, role, held)).secret);
}

/** Returns the action URLs of the forms of a page. */
function formsOf(text: string): string[] {
  return [...text.matchAll(/<form method="post"[^>]*?action="([^"]+)"|formaction="([^"]+)"/g)]
    .map(([, action, other]) => (action ?? other ?? '').replaceAll('&amp;', '&'))
    .filter((action) => !/^\/console\/(theme|logout|support\/leave)$/.test(action));
}

interface Offered {
  readonly forms: readonly string[];
  /** Linked pages that the visitor may not open. */
  readonly forbidden: readonly string[];
}

/** Follows every link that a visitor is offered. */
async function offeredTo(as: string): Promise<Offered> {
  const found = new Set<string>();
  const forbidden: string[] = [];
  await followLinks('org', async (path) => {
    const { status, text } = await open(path, as);
    if (status === 403) {
      forbidden.push(path);
    }
    for (const action of formsOf(text)) {
      found.add(action);
    }
    return text;
  });
  // Forms about sessions come last, because they can sign the visitor out.
  const forms = [...found].sort(
    (a, b) => Number(a.includes('/sessions/')) - Number(b.includes('/sessions/')),
  );
  return { forms, forbidden };
}

describe('an action', () => {
  const reads = scopes.filter((scope) => scope.endsWith(':read'));
  test.each<[OrgRole, string, readonly KeyScope[]]>([
    ['viewer', 'every scope', scopes],
    ['member', 'every scope', scopes],
    ['admin', 'every scope', scopes],
    ['owner', 'read scopes alone', reads],
    ['admin', 'read scopes, budgets:write and keys:write', [...reads, 'budgets:write', 'keys:write']],
    ['admin', 'budgets:write alone', ['budgets:write']],
    ['member', 'the scopes of a gateway', ['edge:decide', 'runs:write']],
    ['viewer', 'runs:read alone', ['runs:read']],
    ['owner', 'gateway:call alone', ['gateway:call']],
  ])(
    'an action is not offered to the role %s with %s if that role or its scopes do not permit it',
    async (role, _, held) => {
      // A form that is allowed takes effect, so every case has its own org.
      const theirs = await world.createOrg();
      await createFixtures(world, theirs);
      await createPendingWork(world, theirs);
      const as = await signedInAs(role, held, theirs);
      const { forms, forbidden } = await offeredTo(as);
      const refused: string[] = [];
      for (const action of forms) {
        const { status, text } = await postForm(world, action, {}, { cookie: as });
        if (status === 403) {
          refused.push(`${action}: ${/Code <code>(\w+)/.exec(text)?.[1]}`);
        }
      }
      expect({ forbidden, refused }).toEqual({ forbidden: [], refused: [] });
    },
  );

  test('an action is shown to an owner, for every operation', async () => {
    const { forms } = await offeredTo(cookie);
    // The crawl opens one run, which may have a price.
    const unpriced = await world.request('GET', '/v1/runs?unpriced=true', { key: org.ownerKey });
    const offered = [...forms, ...formsOf((await open(`/console/runs/${unpriced.json.data[0].id}`)).text)];
    const missing = screens
      .filter(({ method, audience }) => method === 'POST' && audience !== 'operator')
      .map(({ path }) => path)
      .filter((path) => !offered.some((action) => patternOf(path).test(action)));
    // The crawl opens one page of each kind: no limit is raised, its webhook is not paused and its delivery waits, its
    // detector is built-in, and single sign-on is not set up.
    expect(missing).toEqual([
      '/console/limits/budgets/{budget_id}/raises/{raise_id}/end',
      '/console/limits/customers/{limit_id}/raises/{limit_raise_id}/end',
      '/console/limits/spend-cap/raises/{cap_raise_id}/end',
      '/console/webhooks/{sub_id}/resume',
      '/console/webhooks/{sub_id}/deliveries/{delivery_id}/redeliver',
      '/console/email-alerts/{email_subscription_id}/deliveries/{email_delivery_id}/redeliver',
      '/console/safety/{detector_id}/delete',
      '/console/settings/sso/test',
      '/console/settings/sso/remove',
    ]);
  });

  test('an action is read-only for visitors who may not use it, and shows the missing role or scope', async () => {
    const [budget] = (await api('GET', '/budgets')).json.data;
    const path = `/console/limits/budgets/${budget.id}`;
    const viewer = await open(path, await signedInAs('viewer', scopes));
    expect(viewer.status).toBe(200);
    expect(viewer.text).toContain('Requires the role admin.');
    expect(viewer.text).toMatch(/<fieldset class="form as-text" disabled>.*value="All"/s);
    expect(formsOf(viewer.text)).toEqual([]);
    const narrow = await open(path, await signedInAs('owner', ['budgets:read']));
    expect(narrow.text).toContain('Requires <code>budgets:write</code>');
    const nothing = await open('/console/limits/budgets/new', await signedInAs('viewer', scopes));
    expect([nothing.status, formsOf(nothing.text)]).toEqual([403, []]);
  });

  test('offers no role or key above that of the visitor', async () => {
    const as = await signedInAs('admin', scopes);
    const { text } = await open('/console/keys/new', as);
    const roles = /<select[^>]* name="role".*?<\/select>/s.exec(text)?.[0] ?? '';
    expect([...roles.matchAll(/<option value="(\w+)"/g)].map(([, role]) => role)).toEqual([
      'member',
      'viewer',
      'admin',
    ]);
    const list = (await open('/console/keys', as)).text;
    const rows = list.split('<tr role="row">').filter((row) => /<td[^>]*>owner</.test(row));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.join('')).not.toMatch(/revoke|rotate/);
  });
});

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

function formWith(text: string, action: string): string {
  return text.split('<form ').find((one) => one.includes(`action="${action}"`)) ?? '';
}

/** Returns the hidden fields of the form with this action URL. */
function hiddenFields(text: string, action: string): Record<string, string> {
  return Object.fromEntries(
    [...formWith(text, action).matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, withoutEntities(value)],
    ),
  );
}

const secretIn = (text: string) => /<code id="secret">([^<]+)</.exec(text)?.[1];

describe('a form that is resubmitted by a reload', () => {
  test('shows the created key again, and creates no second one', async () => {
    const form = { ...hiddenFields((await open('/console/keys/new')).text, '/console/keys/new') };
    const fields = { ...form, name: 'Reloaded', role: 'member', scopes: 'runs:read' };
    const [first, again] = [
      await postForm(world, '/console/keys/new', fields, { cookie }),
      await postForm(world, '/console/keys/new', fields, { cookie }),
    ];
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(secretIn(again.text)).toBe(secretIn(first.text));
    const named = (await api('GET', '/keys?name=Reloaded')).json.data;
    expect(named).toHaveLength(1);
  });

  test('a form that is resubmitted with other values by a reload reports that it was already sent, and can then be sent again', async () => {
    const form = hiddenFields((await open('/console/keys/new')).text, '/console/keys/new');
    const fields = { ...form, name: 'Changed', role: 'member', scopes: 'runs:read' };
    await postForm(world, '/console/keys/new', fields, { cookie });
    const changed = await postForm(world, '/console/keys/new', { ...fields, role: 'viewer' }, { cookie });
    expect([changed.status, changed.text.includes('This form was already sent')]).toEqual([409, true]);
    const next = { ...fields, role: 'viewer', ...hiddenFields(changed.text, '/console/keys/new') };
    expect((await postForm(world, '/console/keys/new', next, { cookie })).status).toBe(200);
    expect((await api('GET', '/keys?name=Changed')).json.data).toHaveLength(2);
  });

  test('rotates a key, and creates a signing secret, a sign-in link and an invitation, only once', async () => {
    const { id } = await world.mintKey(org, 'member', ['runs:read']);
    const [member] = (await api('GET', '/members?status=invited')).json.data;
    const [webhook] = (await api('GET', '/webhooks')).json.data;
    for (const [page, action, typed] of [
      [`/console/keys/${id}/rotate`, `/console/keys/${id}/rotate`, { overlap_seconds: '0' }],
      [`/console/webhooks/${webhook.id}`, `/console/webhooks/${webhook.id}/signing`, {}],
      ['/console/settings/members', `/console/settings/members/${member.id}/link`, {}],
      [
        '/console/settings/members/new',
        '/console/settings/members/new',
        { email: 'grace@example.com', role: 'viewer' },
      ],
    ] as const) {
      const fields = { ...hiddenFields((await open(page)).text, action), ...typed };
      const first = await postForm(world, action, fields, { cookie });
      const again = await postForm(world, action, fields, { cookie });
      expect([action, first.status, again.status]).toEqual([action, 200, 200]);
      expect([action, secretIn(again.text)]).toEqual([action, secretIn(first.text)]);
      expect(secretIn(first.text)).toMatch(/\S{20}/);
    }
  });

  test('opens a support session only once', async () => {
    const as = await signedIn(world.operatorKey);
    const [grant] = (
      await world.request('GET', '/v1/admin/support/grants?status=active', { key: world.operatorKey })
    ).json.data;
    const action = `/console/grants/${grant.id}/open`;
    const fields = hiddenFields((await open('/console/grants', as)).text, action);
    const first = await postForm(world, action, fields, { cookie: as });
    const again = await postForm(world, action, fields, { cookie: as });
    expect(secretIn(first.text)).toMatch(/\S{20}/);
    expect(secretIn(again.text)).toBe(secretIn(first.text));
  });
});

describe('a key', () => {
  test('is created with a hold of its own, or with that of the organization', async () => {
    for (const [name, hold, stored] of [
      ['Paced', 'paced', 'paced'],
      ['Usual', '', undefined],
    ] as const) {
      const fields = { name, role: 'member', scopes: 'gateway:call', hold };
      expect((await postForm(world, '/console/keys/new', fields, { cookie })).status).toBe(200);
      const [key] = (await api('GET', `/keys?name=${name}`)).json.data;
      expect(key.hold).toBe(stored);
    }
  });

  test('a key cannot be created without a scope, neither in an org nor by an operator', async () => {
    const fields = { name: 'Nothing', role: 'member' };
    const own = await postForm(world, '/console/keys/new', fields, { cookie });
    expect(own.status).toBe(422);
    expect(own.text).toMatch(/id="field-scopes-fault">Select at least one scope\.</);
    expect(own.text).toContain('value="Nothing"');
    const operator = await signedIn(world.operatorKey);
    const byOperator = await postForm(world, `/console/orgs/${org.id}/key`, fields, { cookie: operator });
    expect(byOperator.status).toBe(422);
    expect((await api('GET', '/keys?name=Nothing')).json.data).toEqual([]);
  });

  test('a key has presets, limited to the scopes of the visitor', async () => {
    const checked = async (path: string, as?: string) =>
      [...(await open(path, as)).text.matchAll(/value="([a-z]+:[a-z]+)" checked/g)].map(([, scope]) => scope);
    expect(await checked('/console/keys/new')).toEqual([]);
    expect(await checked('/console/keys/new?preset=gateway')).toEqual(['edge:decide', 'runs:write']);
    expect(await checked('/console/keys/new?preset=gateway_calls')).toEqual(['gateway:call']);
    expect(await checked('/console/keys/new?preset=read')).toEqual(
      scopes.filter((scope) => scope.endsWith(':read')).toSorted(),
    );
    const narrow = await signedInAs('admin', ['keys:read', 'keys:write', 'runs:read']);
    expect(await checked('/console/keys/new?preset=read', narrow)).toEqual(['keys:read', 'runs:read']);
    expect((await open('/console/keys/new', narrow)).text).not.toContain('preset=gateway');
  });
});

describe('percents', () => {
  const budget = { name: 'Percents', scope_kind: 'org', period: 'day', limit_usd: '5', enforcement: 'block' };

  test('percents are accepted with a percent sign', async () => {
    const fields = { ...budget, alert_thresholds: '50%, 80 %\n100' };
    const { status } = await postForm(world, '/console/limits/budgets/new', fields, { cookie });
    expect(status).toBe(303);
    const made = (await api('GET', '/budgets')).json.data;
    expect(made).toContainEqual(
      expect.objectContaining({ name: 'Percents', alert_thresholds: [50, 80, 100] }),
    );
  });

  test('percents that are invalid are rejected with a single message', async () => {
    const fields = { ...budget, alert_thresholds: 'half, most' };
    const { text } = await postForm(world, '/console/limits/budgets/new', fields, { cookie });
    expect(text).toContain('id="field-alert_thresholds-fault">Must be a whole number.</p>');
  });
});

test('a phrase of a detector may contain a comma, and is still one phrase after the next save', async () => {
  const words = ['Heron, the project', 'Kestrel'];
  const detector = { name: 'Projects', kind: 'words', words: words.join('\r\n'), action: 'flag' };
  const made = await postForm(world, '/console/safety/new', detector, { cookie });
  expect(made.status, made.text).toBe(303);
  const own = async () =>
    (await api('GET', '/safety-detectors?limit=200')).json.data.find(
      ({ name }: { name: string }) => name === detector.name,
    );
  const { id, ...stored } = await own();
  expect(stored).toMatchObject({ words });
  const path = `/console/safety/${id}`;
  const [, shown = ''] = /name="words"[^>]*>([^<]*)</.exec((await open(path)).text) ?? [];
  const saved = await postForm(world, path, { ...detector, words: shown, threshold: '2' }, { cookie });
  expect(saved.status, saved.text).toBe(303);
  expect(await own()).toMatchObject({ words, threshold: 2 });
});

describe('a filter in the URL', () => {
  test('a filter in the URL is applied if a run links to it', async () => {
    await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'teamwork', cost_usd: '1', team: 'web', department: 'engineering', tags: { a: 'b' } },
    });
    const [run] = (await world.request('GET', '/v1/runs?team=web', { key: org.ownerKey })).json.data;
    const { text } = await open(`/console/runs/${run.id}`);
    const links = [...text.matchAll(/href="(\/console\/runs\?[^"]+)"/g)].map(([, link = '']) =>
      link.replaceAll('&amp;', '&'),
    );
    expect(links.map((link) => /\?(\w+)=/.exec(link)?.[1])).toEqual(
      expect.arrayContaining(['model', 'team', 'department', 'tag', 'key_id']),
    );
    for (const link of links) {
      const page = await open(link);
      expect([link, page.status, page.text.includes(run.id)]).toEqual([link, 200, true]);
      const [, name = '', value = ''] = /\?(\w+)=(.*)/.exec(link) ?? [];
      // The field of the filter, a list of values or a text field, has the value.
      const [, field = ''] = new RegExp(`id="filter-${name}"(.*?)</div>`, 's').exec(page.text) ?? [];
      expect(field).toMatch(new RegExp(`value="${decodeURIComponent(value)}" (selected|autocomplete="off")`));
    }
    const rows = ((await open('/console/runs?team=web')).text.match(/<tr /g) ?? []).length;
    expect(rows).toBe(1 + 1);
  });

  test('a filter in the URL is applied and shown if the API supports it and the page has no field for it', async () => {
    const { text } = await open('/console/runs?external_id=none');
    expect(text).toContain('No matches');
    expect(text).toContain('name="external_id" value="none"');
  });

  test.each([
    '/console/runs?teem=web',
    '/console/runs?range=90d',
    '/console/usage?teem=web',
    '/console/usage?range=90d',
    '/console/refusals?teem=web',
    '/console/customers?teem=web',
    '/console/limits?teem=web',
    '/console/limits?kind=none',
    '/console/approvals?state=none',
    '/console/policies?teem=web',
    '/console/safety?teem=web',
    '/console/keys?teem=web',
    '/console/webhooks?teem=web',
    '/console/audit?teem=web',
    '/console/forecasts?teem=web',
    '/console/settings/members?teem=web',
    '/console/settings/sessions?teem=web',
  ])('a filter in the URL is rejected by name if it is unknown: %s', async (path) => {
    const { status, text } = await open(path);
    expect(status).toBe(422);
    expect(text).toMatch(/<code>(teem|range|kind|state)<\/code>/);
  });
});

test('creating an organization leads to its page, where its first key can be created', async () => {
  const as = await signedIn(world.operatorKey);
  const made = await postForm(world, '/console/orgs/new', { name: 'Fabrikam' }, { cookie: as });
  expect(made.headers.location).toMatch(/^\/console\/orgs\/org_\w+\?done=org_created$/);
  const { text } = await open(made.headers.location ?? '', as);
  expect(text).toContain('<h1>Fabrikam</h1>');
  expect(text).toMatch(/href="\/console\/orgs\/org_\w+\/key">Create API key</);
});

test('saving the routing policy keeps the weights, which the form has no fields for', async () => {
  const path = `/v1/orgs/${org.id}/routing-policy`;
  const policy = { candidates: ['m'], suite: 's', min_score: 0.5, max_age_days: 30, objective: 'cost' };
  const weights = { cost: 60, latency: 30, quality: 10 };
  await world.request('PUT', path, { key: org.ownerKey, body: { ...policy, weights } });
  const fields = { candidates: 'm', suite: 's', min_score: '0.8', max_age_days: '30', objective: 'cost' };
  const saved = await postForm(world, '/console/routing/policy', fields, { cookie });
  expect(saved.status, saved.text).toBe(303);
  expect((await api('GET', '/routing-policy')).json).toMatchObject({ min_score: 0.8, weights });
});

/** Returns the fields of a form as a browser submits them if the visitor changes nothing. */
function untouchedFields(text: string, action: string): Record<string, string> {
  return Object.fromEntries(fieldsIn(formWith(text, action)));
}

/** Opens a form, submits it with these changes, and expects that it is saved. */
async function save(path: string, changes: Record<string, string> = {}): Promise<void> {
  const fields = untouchedFields((await open(path)).text, path);
  const saved = await postForm(world, path, { ...fields, ...changes }, { cookie });
  expect(saved.status, saved.text).toBe(303);
}

test.each(['Etc/UTC', 'US/Pacific', 'europe/berlin'])(
  'saving the settings of the organization keeps the time zone %s, which the form does not list',
  async (timezone) => {
    await world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { timezone } });
    await save('/console/settings/organization', { name: 'Northwind Traders' });
    expect((await api('GET', '')).json).toMatchObject({ name: 'Northwind Traders', timezone });
  },
);

describe('the spend cap form', () => {
  const path = '/console/limits/spend-cap';
  const thresholds = async () => (await api('GET', '/spend-cap')).json.alert_thresholds;

  test('keeps a cap without alerts as it is, and removes all alerts if they are cleared', async () => {
    const cap = { cap_usd: '50', alert_thresholds: [] };
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body: cap });
    await save(path, { cap_usd: '60' });
    expect(await thresholds()).toEqual([]);
    await save(path, { alert_thresholds: '90' });
    expect(await thresholds()).toEqual([90]);
    await save(path, { alert_thresholds: '' });
    expect(await thresholds()).toEqual([]);
  });

  test('gives a new cap the default alerts if it is left blank, also if it is sent twice', async () => {
    await api('DELETE', '/spend-cap');
    const fields = { ...untouchedFields((await open(path)).text, path), cap_usd: '70' };
    const sent = async () => (await postForm(world, path, fields, { cookie })).status;
    expect([await sent(), await sent()]).toEqual([303, 303]);
    expect(await thresholds()).toEqual([50, 80, 100]);
  });
});

describe('the credit pack form', () => {
  async function createPack(expires_at: string) {
    const body = { customer_id: 'globex', amount_usd: '5', name: 'Welcome', expires_at };
    const made = await world.request('POST', `/v1/orgs/${org.id}/credit-packs`, { key: org.ownerKey, body });
    expect(made.status, made.text).toBe(201);
    return made.json.id as string;
  }
  const form = (id: string) => `/console/limits/credits/${id}`;
  const read = async (id: string) => (await api('GET', `/credit-packs/${id}`)).json;

  test('keeps seconds of the expiry, and its hour when clocks are set back, unless the expiry is changed', async () => {
    await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { timezone: 'Europe/Berlin' },
    });
    // Shown as 02:30, which is first an hour earlier.
    const expires_at = '2027-10-31T01:30:27.000Z';
    const id = await createPack(expires_at);
    await save(form(id), { name: 'Renamed' });
    expect(await read(id)).toMatchObject({ name: 'Renamed', expires_at });
    await save(form(id), { expires_at: '2027-11-01T12:00' });
    expect(await read(id)).toMatchObject({ name: 'Renamed', expires_at: '2027-11-01T11:00:00.000Z' });
    await save(form(id), { expires_at: '' });
    expect(await read(id)).toMatchObject({ name: 'Renamed', expires_at: null });
  });

  test('renames a pack that has expired', async () => {
    const expires_at = new Date(world.clock.now().getTime() + 10_000).toISOString();
    const id = await createPack(expires_at);
    world.clock.advanceSeconds(11);
    await save(form(id), { name: 'Used up' });
    expect(await read(id)).toMatchObject({ name: 'Used up', expires_at, status: 'expired' });
  });
});
