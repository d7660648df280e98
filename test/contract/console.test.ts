/**
 * Every page of the console is served, and none bypasses access control. Browser tests check what the pages look like.
 */
import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../harness.ts';
import { createFixtures, mailSettings } from '../support/console-fixtures.ts';
import { followLinks, pageTemplates, type Side } from '../support/console-links.ts';
import { cookieOf, postForm, signIn } from '../support/sign-in.ts';
import { focusCsv, focusRow, statementBody } from '../support/statement-files.ts';

const world = useWorld({ SVC_REGION: 'eu', ...mailSettings });
const org = useOrg(world, 'Northwind');
let cookie: string;
beforeAll(async () => {
  ({ cookie } = await signIn(world, org.ownerKey, org.id));
  await createFixtures(world, org);
});

const api = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key: org.ownerKey, ...(body && { body }) });
const asOperator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body && { body }) });
const open = (path: string, as = cookie) => world.request('GET', path, { headers: { cookie: as } });

test.each<Side>(['org', 'operator'])(
  'every page of the %s console is linked and returns 200',
  async (side) => {
    const as = side === 'org' ? cookie : (await signIn(world, world.operatorKey)).cookie;
    const faults: string[] = [];
    const seen = await followLinks(side, async (path, template) => {
      const { status, headers, text } = await open(path, as);
      const policy = headers['content-security-policy'] ?? '';
      // The export rejects a request without the fields of its form.
      const expected = template === '/console/audit/export' ? 422 : 200;
      if (
        status !== expected ||
        headers.deprecation !== undefined ||
        !/^default-src 'none'(?!.*unsafe)/.test(policy)
      ) {
        faults.push(`${path} ${status}`);
      }
      return text;
    });
    expect(faults).toEqual([]);
    expect(pageTemplates(side).filter((template) => !seen.includes(template))).toEqual([]);
  },
);

test('a list without matches links to the unfiltered list; an empty list shows the next step', async () => {
  for (const path of [
    '/console/runs?model=none',
    '/console/customers?customer_id=none',
    '/console/refusals?model=none',
    '/console/audit?action=none',
    '/console/settings/members?email=none%40example.com',
  ]) {
    const { text } = await open(path);
    expect([path, text.includes('No matches')]).toEqual([path, true]);
    expect(text).toContain(`<a class="button" href="${path.replace(/\?.*/, '')}">Clear filters</a>`);
  }
  expect((await open('/console/customers/erased?cursor=')).text).toContain('No erased customers');
});

test('forms of other sites are rejected, and no form redirects to another site', async () => {
  const foreign = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  const refused = await postForm(world, '/console/theme', { theme: 'dark', back: '/console' }, foreign);
  expect(refused.status).toBe(403);
  expect(refused.headers['set-cookie']).toBeUndefined();
  const budget = { name: 'Forged', scope_kind: 'org', period: 'day', limit_usd: '1', enforcement: 'block' };
  expect((await postForm(world, '/console/limits/budgets/new', budget, foreign)).status).toBe(403);
  expect((await api('GET', '/budgets')).text).not.toContain('Forged');
  for (const back of ['https://evil.example/console', '//evil.example', '/console/..//evil.example']) {
    const led = await postForm(world, '/console/theme', { theme: 'dark', back }, { cookie });
    expect(String(led.headers.location)).toMatch(/^\/console/);
  }
});

test('the sign-in pages use the selected theme', async () => {
  const chosen = await postForm(world, '/console/theme', { theme: 'dark', back: '/console' });
  expect(chosen.headers['set-cookie']).toMatch(/; Path=\/;/);
  const dark = cookieOf(chosen);
  const link = (await asOperator('POST', '/console-links', {})).json.url as string;
  for (const [path, status] of [
    ['/console/login', 200],
    ['/console/support', 200],
    ['/console/sso?org=northwind', 200],
    [new URL(link).pathname, 200],
    ['/console/invitations/none', 410],
    ['/sso/none/login', 404],
    ['/saml/none/login', 404],
  ] as const) {
    const page = await open(path, dark);
    expect([path, page.status, /data-theme="(\w+)"/.exec(page.text)?.[1]]).toEqual([path, status, 'dark']);
  }
  const refused = await postForm(world, '/console/login', { key: 'none' }, { cookie: dark });
  expect(refused.text).toContain('data-theme="dark"');
  expect((await open('/console/login', 'purser_theme=pink')).text).toContain('data-theme="auto"');
});

test('pages show the current name of the org, and every page view of support is recorded', async () => {
  const renamed = await world.createOrg('Before');
  const { id, ownerKey } = renamed;
  const { secret } = await world.mintKey(renamed, 'viewer', ['runs:read']);
  const { cookie: theirs } = await signIn(world, ownerKey, id);
  const narrow = cookieOf(await postForm(world, '/console/login', { key: secret }));
  const named = async (as: string) =>
    /class="org">([^<]*)</.exec((await open('/console/runs', as)).text)?.[1];
  expect([await named(theirs), await named(narrow)]).toEqual(['Before', 'Before']);
  const change = { name: 'After <b>', timezone: 'Asia/Tokyo' };
  await world.request('PATCH', `/v1/orgs/${id}`, { key: ownerKey, body: change });
  expect([await named(theirs), await named(narrow)]).toEqual(['After &lt;b&gt;', 'After &lt;b&gt;']);
  const inTheirZone = await open('/console/audit', theirs);
  expect(inTheirZone.text).toContain('Asia/Tokyo');

  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const grant = { org_id: id, scope: ['runs:read'], reason: 'Ticket 4711', expires_at };
  const granted = (await asOperator('POST', '/support/grants', grant)).json;
  const { token } = (await asOperator('POST', `/support/grants/${granted.id}/sessions`, {})).json;
  const support = cookieOf(await postForm(world, '/console/support', { token }));
  expect(await named(support)).toBe('After &lt;b&gt;');
  const looks = async () => {
    const { json } = await world.request('GET', `/v1/orgs/${id}/support-access`, { key: ownerKey });
    return json.data.flatMap(({ operation }: { operation: string | null }) => operation ?? []);
  };
  expect((await looks()).toSorted()).toEqual(['org.read', 'runs.list', 'usage.values']);
  // The page of a form that support may not use calls no API, and yet the page view is recorded.
  expect((await open('/console/limits/budgets/new', support)).status).toBe(403);
  expect((await looks()).toSorted()).toEqual(['org.read', 'org.read', 'runs.list', 'usage.values']);
});

test('resources of another org can be neither viewed nor changed', async () => {
  const other = await world.createOrg('Contoso');
  const theirs = await signIn(world, other.ownerKey, other.id);
  const pack = (await api('POST', '/credit-packs', { customer_id: 'acme', amount_usd: '20' })).json;
  const run = await world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: 'm', cost_usd: '1', customer_id: 'acme' },
  });
  const paths = [`/console/limits/credits/${pack.id}`, `/console/runs/${run.json.id}`];
  expect(await statuses(paths)).toEqual([200, 200]);
  expect(await statuses(paths, theirs.cookie)).toEqual([404, 404]);
  const forged = await postForm(world, `${paths[0]}/void`, {}, { cookie: theirs.cookie });
  expect(forged.status).toBe(404);
  expect((await api('GET', `/credit-packs/${pack.id}`)).json.status).toBe('live');
  expect((await open('/console/runs', theirs.cookie)).text).not.toContain('acme');
});

async function statuses(paths: readonly string[], as = cookie): Promise<number[]> {
  const answers = await Promise.all(paths.map((path) => open(path, as)));
  return answers.map(({ status }) => status);
}

/** Returns the cookie of a support session with a scope. */
async function supportCookie(scope: readonly string[]): Promise<string> {
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const grant = { org_id: org.id, scope, reason: 'Ticket 4711', expires_at };
  const { id } = (await asOperator('POST', '/support/grants', grant)).json;
  const { token } = (await asOperator('POST', `/support/grants/${id}/sessions`, {})).json;
  return cookieOf(await postForm(world, '/console/support', { token }));
}

test('the audit log can be exported by everyone who may read it, including support, and by no one else', async () => {
  const week = '/console/audit/export?from=2026-11-10T00:00&to=2026-11-16T00:00';
  const file = await open(`${week}&format=cef`);
  expect(file.headers).toMatchObject({ 'content-disposition': 'attachment; filename="audit-log.cef"' });
  expect(file.text).toMatch(/^CEF:0\|/);

  const tooLong = await open('/console/audit/export?from=2026-01-01T00:00&to=2026-11-16T00:00');
  expect([tooLong.status, tooLong.headers['content-type']]).toEqual([422, 'text/html; charset=utf-8']);
  expect(tooLong.text).toContain('<code>to</code>');
  expect(tooLong.text).toMatch(/<details class="fold" open>.*name="from" value="2026-01-01T00:00"/s);

  const asSupport = async (...scope: string[]) => open(week, await supportCookie(scope));
  const granted = await asSupport('audit:read');
  expect(granted.text.split('\n').length).toBeGreaterThan(1);
  expect(JSON.parse(granted.text.split('\n')[0] ?? '')).toMatchObject({ seq: 1 });
  expect((await asSupport('runs:read')).status).toBe(403);
});

test('pages show what is paid for, by kind of usage', async () => {
  const body = {
    model: 'gpt-4o-mini',
    customer_id: 'kinds',
    input_tokens: 9_000,
    cached_input_tokens: 8_000,
  };
  const { json: run } = await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
  const rows = async (page: string) =>
    [...(await open(page)).text.matchAll(/data-title="Kind">(?:<a[^>]*>)?([^<]*)/g)].map(([, name]) => name);
  for (const page of ['/console/customers/of/kinds', `/console/runs/${run.id}`]) {
    expect((await rows(page)).toSorted(), page).toEqual(['Cached input', 'Input']);
  }
  for (const page of ['/console/usage?group_by=kind', '/console/usage', `/console/keys/${run.key_id}`]) {
    expect(await rows(page), page).toContain('Cached input');
  }
  const cached = await open('/console/usage?kind=cached_input&group_by=customer_id');
  expect(cached.text).toMatch(/Quantity<\/span><strong class="stat-value">8,000</);
  expect((await open('/console/usage?kind=cached')).status).toBe(422);
});

test('usage can be exported as CSV and in FOCUS columns, by everyone who may read it', async () => {
  const files = {
    csv: ['usage.csv', 'text/csv; charset=utf-8', /^team,runs,.*,previous_cost_usd,/],
    csv_days: ['usage-per-day.csv', 'text/csv; charset=utf-8', /^day,team,runs,/],
    focus_1_4_csv: [
      'focus-1.4.csv',
      'text/csv; charset=utf-8',
      /^BilledCost,.*,ServiceProviderName,.*,x_Kind,x_Model\r\n.+/s,
    ],
    focus_1_4_parquet: ['focus-1.4.parquet', 'application/vnd.apache.parquet', /^PAR1.*PAR1$/s],
    focus_csv: [
      'focus.csv',
      'text/csv; charset=utf-8',
      /^BilledCost,BillingAccountId,.*,ProviderName,.*\r\n.+/s,
    ],
    focus_parquet: ['focus.parquet', 'application/vnd.apache.parquet', /^PAR1.*PAR1$/s],
  } as const;
  const range = 'from=2026-11-10&to=2026-11-16';
  for (const [format, [fileName, type, content]] of Object.entries(files)) {
    const file = await open(`/console/usage/export?group_by=team&${range}&format=${format}`);
    expect(file.headers).toMatchObject({
      'content-type': type,
      'content-disposition': `attachment; filename="${fileName}"`,
    });
    expect(file.text).toMatch(content);
  }
  const body = { model: 'gpt-4o-mini', input_tokens: 9_000, cached_input_tokens: 8_000 };
  await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
  const byKind = `group_by=team&kind=cached_input&${range}`;
  expect((await open(`/console/usage?${byKind}`)).text).toContain('All kinds are exported');
  for (const format of Object.keys(files)) {
    expect([format, (await open(`/console/usage/export?${byKind}&format=${format}`)).status]).toEqual([
      format,
      200,
    ]);
  }
  const tooLong = await open(
    '/console/usage/export?group_by=tag:env&from=2024-01-01&to=2026-11-16&format=csv',
  );
  expect([tooLong.status, tooLong.headers['content-type']]).toEqual([422, 'text/html; charset=utf-8']);
  expect(tooLong.text).toContain('<code>to</code>');
  expect(tooLong.text).toMatch(/name="from" value="2024-01-01" required/);
  const asSupport = async (scope: string) =>
    (await open(`/console/usage/export?${range}&format=csv`, await supportCookie([scope]))).status;
  expect([await asSupport('runs:read'), await asSupport('audit:read')]).toEqual([200, 403]);
});

test('a statement can be pasted as a page, a list of pages, a page per line or CSV', async () => {
  const [costs, usage] = statementBody(7).pages;
  const files = [
    JSON.stringify(costs, null, 2),
    JSON.stringify([costs]),
    `${JSON.stringify(costs)}\n\n${JSON.stringify(usage)}`,
    focusCsv([
      focusRow({ ChargePeriodStart: '2026-11-10T00:00:00Z', ChargePeriodEnd: '2026-11-11T00:00:00Z' }),
    ]),
  ];
  for (const file of files) {
    const uploaded = await postForm(world, '/console/statements/new', { file }, { cookie });
    expect([uploaded.status, uploaded.headers.location]).toEqual([303, expect.stringMatching(/statements/)]);
    const { data } = (await api('GET', '/statements')).json;
    expect((await api('DELETE', `/statements/${data[0].id}`)).status).toBe(204);
  }
  const broken = await postForm(world, '/console/statements/new', { file: '{"data": [' }, { cookie });
  expect([broken.status, broken.text]).toEqual([422, expect.stringContaining('pages[0]')]);
});

test('an invalid approval decision shows the form again, with the entered values', async () => {
  const rule = { effect: 'require_approval', actions: ['drop'], priority: 2, reason: 'Two pairs of eyes.' };
  await api('POST', '/policies', rule);
  const { secret: agent } = await world.mintKey(org, 'member', ['runs:write']);
  const body = { model: 'm', cost_usd: '1', action: 'drop' };
  const { error } = (await world.request('POST', '/v1/runs', { key: agent, body })).json;
  const path = `/console/approvals/${error.details.approval_id}/approve`;
  const again = await postForm(world, path, { uses: 'many', reason: 'For "Ada"' }, { cookie });
  expect(again.status).toBe(422);
  expect(again.text).toMatch(/role="alert">.*<code>uses<\/code>/s);
  expect(again.text).toContain('name="uses" value="many"');
  expect(again.text).toContain('name="reason" value="For &quot;Ada&quot;"');
  expect((await postForm(world, path, { uses: '2' }, { cookie })).headers.location).toMatch(/done=approved/);
  const tooLate = await postForm(world, path, { uses: '2' }, { cookie });
  expect([tooLate.status, tooLate.text.includes('role="alert"')]).toEqual([409, true]);
});

test('an org sees its home region and its read limit, which operators set', async () => {
  const { id, ownerKey } = await world.createOrg();
  const { cookie: theirs } = await signIn(world, ownerKey, id);
  const settings = async () => (await open('/console/settings', theirs)).text;
  expect(await settings()).toContain('No data region set');
  expect(await settings()).toContain('Unlimited read requests.');
  await asOperator('PUT', `/orgs/${id}/rate-limits`, { read_rpm: 6_000 });
  for (const [mode, words] of [
    ['forward', 'Requests to other regions are forwarded.'],
    ['strict', 'Requests to other regions are blocked.'],
  ]) {
    await asOperator('PUT', `/orgs/${id}/residency`, { home_region: 'eu', mode });
    expect(await settings()).toContain(words);
  }
  expect(await settings()).toContain('6,000 read requests per minute');
  const { json } = await world.request('GET', `/v1/orgs/${id}`, { key: ownerKey });
  expect(json).toMatchObject({ home_region: 'eu', residency_mode: 'strict' });
});

test('an org with another home region gets a page with that region and a sign-out link', async () => {
  const mover = await world.createOrg('Mover');
  const { cookie: before } = await signIn(world, mover.ownerKey, mover.id);
  for (const mode of ['forward', 'strict']) {
    await asOperator('PUT', `/orgs/${mover.id}/residency`, { home_region: 'us', mode });
    const page = await open('/console/limits', before);
    expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<h1>Organization in another region</h1>');
    expect(page.text).toContain('home region of the organization is us');
    expect(page.text).toContain('<button class="button">Sign out</button>');
    const signInAgain = await postForm(world, '/console/login', { key: mover.ownerKey });
    expect(signInAgain.status).toBe(403);
    expect(signInAgain.text).toContain('home region of the organization is us');
  }
});

test('the single sign-on form keeps groups unchanged', async () => {
  const sso = `/v1/orgs/${org.id}/sso`;
  const groups = ['board ', ' root', 'CN=board,OU=groups', '"quoted"', 'a = b', 'plain'];
  const body = {
    issuer: 'https://login.example.com',
    client_id: 'purser',
    role_mapping: groups.map((group) => ({ group, role: 'viewer' })),
  };
  const put = await world.request('PUT', sso, { key: org.ownerKey, body });
  expect(put.status, put.text).toBe(200);
  const page = await world.request('GET', '/console/settings/sso/oidc', { headers: { cookie } });
  const written = /name="role_mapping"[^>]*>([^<]*)</.exec(page.text)?.[1] ?? '';
  expect(written).toContain('CN=board,OU=groups = viewer');
  const fields = {
    issuer: body.issuer,
    client_id: body.client_id,
    role_mapping: written.replaceAll('&quot;', '"'),
  };
  const saved = await postForm(world, '/console/settings/sso/oidc', fields, { cookie });
  expect(saved.status, saved.text).toBe(303);
  const { json } = await world.request('GET', sso, { key: org.ownerKey });
  expect(json.role_mapping).toEqual(body.role_mapping);
  expect((await world.request('DELETE', sso, { key: org.ownerKey })).status).toBe(204);
});
