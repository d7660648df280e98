/** The pages of operators: organizations with their figures, health, audit log, retention, and the way into a console. */
import { beforeAll, expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const world = useWorld();
const org = useOrg(world, 'Northwind');
let cookie: string;
beforeAll(async () => {
  cookie = cookieOf(await postForm(world, '/console/login', { key: world.operatorKey }));
});

const open = (path: string, as = cookie) => world.request('GET', path, { headers: { cookie: as } });
const submit = (path: string, fields: Record<string, string> = {}) =>
  postForm(world, path, fields, { cookie });
const asOperator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body && { body }) });
const asOwner = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });

/** Returns the texts of the cells of a row. */
function rowOf(text: string, name: string): string[] {
  const row = text.split('<tr role="row">').find((one) => one.includes(name)) ?? '';
  return [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
    cell
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
}

test('the list of organizations shows spend, balance, nearness to limits and activity, and sorts by them', async () => {
  const quiet = await world.createOrg('Quiet & Co');
  await asOwner('POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '20' });
  await asOperator('PUT', `/orgs/${org.id}/prepaid`, { enabled: true });
  await asOperator('POST', `/orgs/${org.id}/prepaid/top-ups`, { amount_usd: '100' });
  await asOwner('POST', '/v1/runs', { model: 'm', cost_usd: '12.5' });
  await world.runJob('summarize-orgs');
  const { text } = await open('/console/orgs');
  const [name, spend, runs, balance, nearest, activity] = rowOf(text, `/console/orgs/${org.id}`);
  expect(name).toContain('Northwind');
  expect([spend, runs, balance, nearest]).toEqual(['$12.50', '1', '$87.50', '62% of budget']);
  expect(activity).toMatch(/ago|just now/);
  expect(rowOf(text, `/console/orgs/${quiet.id}`).slice(1, 5)).toEqual([
    '$0.00',
    '0',
    '–',
    'No organization-wide limit',
  ]);
  const order = async (query: string) =>
    [...(await open(`/console/orgs${query}`)).text.matchAll(/href="\/console\/orgs\/(org_\w+)"/g)].map(
      ([, id]) => id,
    );
  expect(await order('')).toEqual([org.id, quiet.id]);
  expect(await order('?sort=-created_at')).toEqual([quiet.id, org.id]);
  expect(await order('?search=QUIET%20%26')).toEqual([quiet.id]);
  expect(await order('?search=orth&sort=-used_percent')).toEqual([org.id]);
  expect((await open('/console/orgs?search=none')).text).toContain('No matches');
  expect((await open('/console/orgs?sort=size')).status).toBe(422);
  const one = (await open(`/console/orgs/${org.id}`)).text;
  expect(one).toMatch(/Spend this month<\/span><strong class="stat-value">\$12\.50</);
  expect(one).toContain('Nearest organization-wide limit</span><strong class="stat-value">62%<');
  expect(one).toMatch(/Prepaid balance<\/span><strong class="stat-value">\$87\.50</);
});

test('the health page shows checks, version, migrations, processes and the last error of a job', async () => {
  await world.db.query('ALTER TABLE sso_tests RENAME TO sso_tests_away');
  await expect(world.runJob('delete-old-sign-ins')).rejects.toThrow();
  await world.db.query('ALTER TABLE sso_tests_away RENAME TO sso_tests');
  const { text, status } = await open('/console/health');
  expect(status).toBe(200);
  expect(rowOf(text, '<code>jobs</code>')).toEqual([
    'jobs',
    'Warning',
    expect.stringContaining('delete-old-sign-ins failed.'),
  ]);
  expect(rowOf(text, '<code>migrations</code>')[1]).toBe('OK');
  const [job, , , jobStatus, error] = rowOf(text, '<code>delete-old-sign-ins</code>');
  expect([job, jobStatus]).toEqual(['delete-old-sign-ins', 'Failed']);
  expect(error).toContain('sso_tests');
  expect(text).toContain(world.services.processes.id);
  expect(text).toMatch(/PostgreSQL \d+/);
  await world.runJob('delete-old-sign-ins');
  expect(rowOf((await open('/console/health')).text, '<code>jobs</code>')[1]).toBe('OK');
});

test('the audit log of operators says who changed a price, by name, and can be verified and exported', async () => {
  const colleague = (await asOperator('POST', '/keys', { name: 'Night shift' })).json;
  await world.request('PUT', '/v1/admin/models/maker%2Fnew', {
    key: colleague.secret,
    body: { input_usd_per_million: '3' },
  });
  const { text } = await open('/console/audit?action=models.prices.put');
  const cells = rowOf(text, 'maker/new');
  expect(cells[1]).toBe('Night shift operator');
  expect(cells[2]).toBe('models.prices.put');
  expect(text).toContain(colleague.id);
  for (const link of ['/console/operator-keys', '/console/audit?target=maker%2Fnew']) {
    expect(text).toContain(`href="${link}"`);
    expect([link, (await open(link)).status]).toEqual([link, 200]);
  }
  const verified = await submit('/console/audit/verify');
  expect(verified.text).toContain('Log intact');
  const file = await open('/console/audit/export?from=2026-11-10T00:00&to=2026-11-17T00:00&format=ndjson');
  expect(file.text).toContain('maker/new');
  const member = cookieOf(await postForm(world, '/console/login', { key: org.ownerKey }));
  expect((await open('/console/audit', member)).text).not.toContain('maker/new');
  for (const path of ['/console/health', '/console/retention', '/console/orgs']) {
    expect([path, (await open(path, member)).status]).toEqual([path, 404]);
  }
});

test('the retention of the audit log of operators can be changed', async () => {
  expect((await open('/console/retention')).text).toMatch(/Audit log<\/dt><dd>Forever/);
  const wrong = await submit('/console/retention/edit', { audit_days: '7' });
  expect([wrong.status, wrong.text.includes('id="field-audit_days-fault"')]).toEqual([422, true]);
  const saved = await submit('/console/retention/edit', { audit_days: '400', legal_hold: 'true' });
  expect(saved.status).toBe(303);
  expect((await asOperator('GET', '/retention-policy')).json).toMatchObject({
    audit_days: 400,
    legal_hold: true,
  });
  const { text } = await open('/console/retention');
  expect(text).toContain('400 days');
  expect(text).toContain('Legal hold');
});

test('“Open console” leads through a grant with a reason, and each step and page is recorded', async () => {
  const path = `/console/orgs/${org.id}`;
  const before = (await open(path)).text;
  expect(before).toContain(`href="/console/grants/new?org_id=${org.id}">Open console</a>`);
  expect(before).not.toMatch(/grants\/\w+\/open/);
  const form = (await open(`/console/grants/new?org_id=${org.id}`)).text;
  expect(form).toContain(`name="org_id" required value="${org.id}"`);
  const asked = await submit('/console/grants/new', {
    org_id: org.id,
    reason: 'Ticket 4711',
    scope: 'runs:read',
    hours: '1',
  });
  expect(asked.headers.location).toBe(`${path}?done=grant_made`);
  const granted = (await open(path)).text;
  const action = /action="(\/console\/grants\/\w+\/open)"/.exec(granted)?.[1] ?? '';
  const opened = await submit(action);
  expect(opened.text).toContain('Enter console');
  const token = /name="token" value="([^"]+)"/.exec(opened.text)?.[1] ?? '';
  const support = cookieOf(await postForm(world, '/console/support', { token }, { cookie }));
  expect((await open('/console/runs', support)).status).toBe(200);
  expect((await open('/console/limits', support)).status).toBe(403);
  const log = (await asOwner('GET', '/support-access?limit=200')).json.data;
  const kinds = new Set(log.map(({ kind }: { kind: string }) => kind));
  expect([...kinds]).toEqual(expect.arrayContaining(['grant_created', 'session_opened', 'request']));
  // Without the consent of the organization there is no way in.
  await asOwner('PUT', '/support-access/settings', { allowed: true, approval_required: true });
  const [grant] = (await asOperator('GET', `/support/grants?org_id=${org.id}&status=active`)).json.data;
  await asOperator('DELETE', `/support/grants/${grant.id}`);
  await submit('/console/grants/new', { org_id: org.id, reason: 'Again', scope: 'runs:read', hours: '1' });
  const waiting = (await open(path)).text;
  expect(waiting).toContain('Access requested');
  expect(waiting).not.toMatch(/grants\/\w+\/open/);
});

test('removing an organization requires that it is suspended, and its name', async () => {
  const doomed = await world.createOrg('Doomed “1”');
  const path = `/console/orgs/${doomed.id}/remove`;
  const { text } = await open(path);
  expect(text).toContain('Type “Doomed “1”” to confirm');
  expect(text).toMatch(/<button class="button danger">Remove organization “Doomed “1””<\/button>/);
  for (const typed_name of ['', 'doomed', 'Doomed']) {
    const refused = await submit(path, { typed_name });
    expect([typed_name, refused.status]).toEqual([typed_name, 422]);
    expect(refused.text).toContain('id="field-typed_name-fault"');
  }
  const active = await submit(path, { typed_name: 'Doomed “1”' });
  expect([active.status, /role="alert"/.test(active.text)]).toEqual([409, true]);
  await asOperator('POST', `/orgs/${doomed.id}/suspend`);
  const removed = await submit(path, { typed_name: ' Doomed “1” ' });
  expect(removed.headers.location).toBe('/console/orgs?done=org_removed');
  expect((await asOperator('GET', `/orgs/${doomed.id}`)).status).toBe(404);
  // Its entries in the audit log lead to the search.
  expect((await open(`/console/search?q=${doomed.id}`)).headers.location).toBe(
    `/console/audit?target=${doomed.id}`,
  );
});

test('a key of an organization, whatever its scopes, sees none of the operators’ figures', async () => {
  const { secret } = await world.mintKey(org, 'owner', scopes);
  for (const path of ['/org-summaries', '/installation', '/audit-log', '/retention-policy']) {
    const { status } = await world.request('GET', `/v1/admin${path}`, { key: secret });
    expect([path, status]).toEqual([path, 403]);
  }
});

test('the plan form selects the plan of the organization, also one beyond the first 200', async () => {
  let last = '';
  for (let number = 100; number <= 300; number += 1) {
    last = (await asOperator('POST', '/plans', { name: `Plan ${number}`, overage_policy: 'block' })).json.id;
  }
  await asOperator('PUT', `/orgs/${org.id}/plan`, { plan_id: last });
  const { text } = await open(`/console/orgs/${org.id}/plan`);
  expect(text).toContain(`<option value="${last}" selected>Plan 300</option>`);
});
