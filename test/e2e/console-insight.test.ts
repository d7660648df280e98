/** Settings, benchmarks and operator pages of the console in a real browser. */
import { describe, expect, test } from 'vitest';
import { findBrowser } from '../support/browser.ts';
import { newPair } from '../support/certificates.ts';
import { openAccountMenu, walkThrough } from '../support/console-walk.ts';
import { pendingPriceChange } from '../support/price-updates.ts';
import { signIn } from '../support/sign-in.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('settings, benchmarks and operator pages', () => {
  const walk = walkThrough(executable, { SVC_BENCHMARK_K_FLOOR: '5' });
  const asOperator = (method: string, path: string, body?: object) =>
    walk.world.request(method, `/v1/admin${path}`, {
      key: walk.world.operatorKey,
      ...(body !== undefined && { body }),
    });

  test('renames the organization, and rejects an IP allowlist that locks out its owner', async () => {
    const { page, look, api } = await walk.owner();
    await look('/console/settings', 'Settings');
    await look('/console/settings/organization', 'Organization');
    await page.getByLabel('Name', { exact: true }).fill('Northwind Traders');
    await page.getByLabel('Time zone').selectOption('Europe/Lisbon');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect(await page.locator('header .org').textContent()).toBe('Northwind Traders');
    expect((await api('GET', '')).json.timezone).toBe('Europe/Lisbon');
    await look('/console/settings/addresses', 'IP allowlist');
    await page.getByLabel('Networks').fill('203.0.113.0/24');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await page.getByRole('alert').isVisible()).toBe(true);
    await page.getByLabel('Networks').fill('127.0.0.0/8, ::1/128');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await api('GET', '/ip-allow-list')).json.cidrs).toEqual(['127.0.0.0/8', '::1/128']);
  });

  test('invites a member by a sign-in link, changes their role and removes them', async () => {
    const { page, look, confirm } = await walk.owner();
    await look('/console/settings/members', 'Members');
    await look('/console/settings/members/new', 'Invite member');
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Name').fill('Ada');
    await page.getByRole('button', { name: 'Invite' }).click();
    const link = new URL((await page.locator('#secret').textContent()) ?? '');
    const theirs = await walk.stranger();
    await theirs.goto(`${new URL(page.url()).origin}${link.pathname}${link.search}`);
    await theirs.getByRole('button').first().click();
    await theirs.waitForURL(/\/console$/);
    await look('/console/settings/members', 'Members');
    expect(await page.getByRole('row', { name: /Ada.* viewer.* active/i }).isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Ada' }).click();
    await page.getByLabel('Role').selectOption('admin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    await theirs.reload();
    expect(await theirs.locator('header .role').textContent()).toBe('Admin');
    await confirm('Remove');
    await page.waitForURL(/done=member_removed/);
    await theirs.reload();
    expect(new URL(theirs.url()).pathname).toBe('/console/login');
  });

  test('configures SSO, shows field errors, and removes it', async () => {
    const { page, look, confirm, api } = await walk.owner();
    await look('/console/settings/sso', 'Single sign-on');
    await look('/console/settings/sso/oidc', 'Configure OIDC');
    await look('/console/settings/sso/saml', 'Configure SAML');
    await page.getByLabel('entity ID').fill('https://idp.example.com/metadata');
    await page.getByLabel('sign-in URL').fill('https://idp.example.com/sso');
    await page.getByLabel('Certificate').fill('no certificate');
    await page.getByLabel('Group to role mapping').fill('engineering = member');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await page.locator('#field-idp_certificate-fault').textContent()).not.toBe('');
    expect(await page.getByLabel('Group to role mapping').inputValue()).toBe('engineering = member');
    await page.getByLabel('Certificate').fill(newPair().certificate);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await api('GET', '/sso')).json).toMatchObject({
      kind: 'saml',
      role_mapping: [{ group: 'engineering', role: 'member' }],
      default_role: 'viewer',
      just_in_time: true,
    });
    await look('/console/settings/sso', 'Single sign-on');
    await confirm('Remove SSO');
    await page.waitForURL(/done=deleted/);
    expect((await api('GET', '/sso')).status).toBe(404);
  });

  test('the settings page changes retention periods', async () => {
    const { page, look, api } = await walk.owner();
    await look('/console/settings/retention', 'Retention');
    await look('/console/settings/retention/edit', 'Retention');
    await page.getByLabel('Audit log').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await page.getByLabel('Audit log').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Audit log').fill('400');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await api('GET', '/retention-policy')).json).toMatchObject({ runs_days: null, audit_days: 400 });
  });

  test('the settings page ends a session immediately', async () => {
    const { page, look, org } = await walk.owner();
    const operator = await walk.visitor(walk.world.operatorKey);
    const { world } = walk;
    const { secret } = await world.mintKey(org, 'viewer', ['org:read']);
    const { cookie } = await signIn(world, secret, org.id);
    await look('/console/settings/sessions', 'Sessions');
    const other = page.getByRole('row', { name: /viewer, API key/ });
    await other.locator('summary').click();
    await other.getByRole('button', { name: 'End session' }).click();
    await page.waitForURL(/done=session_ended/);
    const answer = await world.request('GET', `/v1/orgs/${org.id}`, { headers: { cookie } });
    expect([answer.status, answer.json.error.code]).toEqual([401, 'session_revoked']);
    await look('/console/settings/sessions?status=revoked', 'Sessions');
    expect(await page.getByRole('row', { name: /viewer, API key/ }).isVisible()).toBe(true);
    await operator.look('/console/sessions', 'Sessions');
    expect(await operator.page.getByRole('row', { name: /This device/ }).isVisible()).toBe(true);
  });

  test('requires approval of support grants, and shows them and their activity', async () => {
    const { page, look, org } = await walk.owner();
    const operator = await walk.visitor(walk.world.operatorKey);
    await look('/console/settings/support', 'Support access');
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Require admin approval').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    await operator.look(`/console/grants/new?org_id=${org.id}`, 'Request access');
    await operator.page.getByLabel('Reason').fill('Ticket 7: denied runs');
    await operator.page.getByLabel('runs:read').check();
    await operator.page.getByRole('button', { name: 'Request access' }).click();
    await operator.page.waitForURL(/done=grant_made/);
    await look('/console/settings/support', 'Support access');
    await page
      .getByRole('row', { name: /Ticket 7/ })
      .getByRole('button', { name: 'Approve' })
      .click();
    await page.waitForURL(/done=approved/);
    await operator.look('/console/grants', 'Support grants');
    expect(await operator.page.getByRole('row', { name: /Ticket 7.*Active/ }).isVisible()).toBe(true);
    await operator.page.getByRole('button', { name: 'Open session' }).click();
    await operator.page.getByRole('button', { name: 'Enter console' }).click();
    await operator.page.waitForURL(/\/console$/);
    await operator.look('/console/runs', 'Runs');
    expect(await operator.page.getByRole('complementary').innerText()).toMatch(
      /Operator key_\w+ has access until 15 Nov 2026, \d\d:\d\d: “Ticket 7: denied runs”/,
    );
    await operator.look('/console/limits', 'Not covered by the support grant', 403);
    await openAccountMenu(operator.page);
    await operator.page.getByRole('button', { name: 'Sign out' }).click();
    await operator.page.waitForURL(/\/console\/orgs$/);
    await operator.look('/console/grants', 'Support grants');
    await operator.confirm('Revoke');
    await operator.page.waitForURL(/done=grant_revoked/);
    await look('/console/settings/support', 'Support access');
    expect(await page.getByRole('row', { name: /grant revoked/ }).isVisible()).toBe(true);
  });

  test('shows which API keys call deprecated endpoints, to the organization and to operators', async () => {
    const owner = await walk.owner('Northwind');
    const operator = await walk.visitor(walk.world.operatorKey);
    const { world } = walk;
    const { org } = owner;
    const { json: routes } = await world.request('GET', '/v1/meta/deprecations');
    await owner.look('/console/settings/deprecations', 'Deprecations');
    expect(await owner.page.getByText('No API key calls a deprecated endpoint').isVisible()).toBe(true);
    await asOperator('GET', `/orgs/${org.id}/webhook-secret`);
    await world.request('GET', `/v1/admin/orgs/${org.id}/webhook-secret`, { key: org.ownerKey });
    await owner.look('/console/settings/deprecations', 'Deprecations');
    const calls = owner.page.getByRole('table', { name: 'Calls of deprecated endpoints' });
    expect(await calls.locator('tbody tr').count()).toBe(1);
    await operator.look('/console/deprecations', 'Deprecations');
    expect(await operator.page.getByRole('row', { name: /Northwind/ }).count()).toBe(1);
    expect(await operator.page.getByRole('link', { name: 'Migration guide' }).count()).toBe(routes.length);
  });

  test('participates in benchmarks, and shows when a cohort is too small', async () => {
    const { world } = walk;
    const { page, look, org } = await walk.owner();
    await look('/console/benchmarks', 'Benchmarks');
    await look('/console/benchmarks/participation', 'Participation');
    await page.getByLabel('Participate in benchmarks').check();
    await page.getByLabel('Industry').fill('Software');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    await look('/console/benchmarks/new', 'Create cohort');
    await page.getByLabel('Name').fill('Peers');
    await page.getByLabel('Industry').fill('software');
    await page.getByRole('button', { name: 'Create cohort' }).click();
    await page.waitForURL(/done=cohort_created/);
    await page.getByRole('link', { name: 'Peers' }).click();
    const here = new URL(page.url()).pathname;
    await look(here, 'Cohort');
    expect(await page.getByText('Not enough participants').isVisible()).toBe(true);
    for (let index = 0; index < 6; index++) {
      const other = index === 0 ? org : await world.createOrg(`Peer ${index}`);
      const as = { key: other.ownerKey };
      await world.request('PUT', `/v1/orgs/${other.id}/benchmark-participation`, {
        ...as,
        body: { enabled: true, industry: 'software' },
      });
      await world.request('POST', '/v1/runs', {
        ...as,
        body: { model: 'm', cost_usd: `0.${index + 1}`, input_tokens: 100, output_tokens: 10 },
      });
    }
    world.clock.advanceSeconds(7 * 86_400);
    // The first session has expired, so this signs in again.
    const later = await walk.visitor(org.ownerKey);
    await later.look(here, 'Peers');
    const bar = later.page.getByRole('img', { name: /^Cost per run: middle half from/ });
    expect(await bar.getAttribute('aria-label')).toMatch(/you \$0\.10$/);
    expect(await later.page.getByText('in the lowest quarter').first().isVisible()).toBe(true);
    await later.page.getByText('Delete cohort').first().click();
    await later.page.getByRole('button', { name: 'Delete cohort' }).click();
    await later.page.waitForURL(/done=deleted/);
    expect(await later.page.getByText('No cohorts yet').isVisible()).toBe(true);
  });

  test('creates an organization with a plan and an API key, suspends, reinstates and removes it', async () => {
    const { world } = walk;
    const { page, look, press } = await walk.visitor(world.operatorKey);
    await look('/console', 'Organizations');
    await look('/console/plans', 'Plans');
    await look('/console/plans/new', 'Create plan');
    await page.getByLabel('Name').fill('Starter');
    await page.getByLabel('Runs per month').fill('1,000');
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.waitForURL(/done=plan_created/);
    await look('/console/orgs/new', 'Create organization');
    await page.getByLabel('Name', { exact: true }).fill('Contoso');
    await page.getByRole('button', { name: 'Create organization' }).click();
    await page.waitForURL(/\/console\/orgs\/org_\w+\?done=org_created/);
    const here = new URL(page.url()).pathname;
    const id = here.replace('/console/orgs/', '');
    await look(here, 'Contoso');
    await page.getByRole('link', { name: 'Change plan' }).click();
    await page.getByLabel('Plan').selectOption({ label: 'Starter' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await asOperator('GET', `/orgs/${id}/plan`)).json.plan.monthly_runs).toBe(1_000);
    await look(`${here}/key`, 'Create API key for the organization');
    await page.getByRole('button', { name: 'Create API key' }).click();
    const key = (await page.locator('#secret').textContent()) ?? '';
    const works = async () => (await world.request('GET', `/v1/orgs/${id}`, { key })).status;
    expect(await works()).toBe(200);
    await look(`${here}/suspend`, 'Suspend organization');
    await page.getByLabel('Reason').fill('Unpaid');
    await page.getByRole('button', { name: 'Suspend organization' }).click();
    await page.waitForURL(/done=suspended/);
    expect(await works()).toBe(403);
    await look(here, 'Contoso');
    expect(await page.getByText('Unpaid').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Reinstate organization' }).click();
    await page.waitForURL(/done=reinstated/);
    expect(await works()).toBe(200);
    for (const [path, title] of [
      [`${here}/edit`, 'Edit organization'],
      [`${here}/top-up`, 'Top up'],
      ['/console/orgs/org_none', 'Page not found'],
    ] as const) {
      await look(path, title, path.endsWith('none') ? 404 : 200);
    }
    await asOperator('POST', `/orgs/${id}/suspend`, {});
    await look(here, 'Contoso');
    await page.getByRole('link', { name: 'Remove organization' }).click();
    await page.getByLabel('Type “Contoso” to confirm').fill('Contoso');
    await press('Remove organization “Contoso”');
    await page.waitForURL(/done=org_removed/);
    expect(await page.getByRole('link', { name: 'Contoso' }).count()).toBe(0);
  });

  test('sets standard prices, and custom prices for one organization', async () => {
    const org = await walk.world.createOrg();
    const { page, look, confirm } = await walk.visitor(walk.world.operatorKey);
    await look('/console/prices', 'Prices');
    await look('/console/prices/new', 'Create model');
    await page.getByLabel('Model').fill('maker/large');
    await page.getByLabel('Input, per million tokens', { exact: true }).fill('2.50');
    await page.getByLabel(/^Output, per million tokens/).fill('10');
    await page.getByRole('button', { name: 'Save price' }).click();
    await page.waitForURL(/done=saved/);
    // The catalog has hundreds of models before it in the list.
    await look('/console/prices?model=maker%2Flarge', 'Prices');
    await page.getByRole('link', { name: 'maker/large' }).click();
    expect(await page.getByLabel(/^Output, per million tokens/).inputValue()).toBe('10');
    await look('/console/prices/maker%2Flarge/versions', 'Price versions');
    await look(`/console/orgs/${org.id}/prices/new`, 'Custom price');
    await page.getByLabel('Model').fill('maker/large');
    await page.getByLabel('Discount').fill('20');
    await page.getByRole('button', { name: 'Save price' }).click();
    await page.waitForURL(/done=saved/);
    await look(`/console/orgs/${org.id}/prices`, 'Custom prices');
    expect(await page.getByRole('row', { name: /maker\/large 20%/ }).isVisible()).toBe(true);
    await confirm('Remove');
    await page.waitForURL(/done=deleted/);
    expect((await asOperator('GET', `/orgs/${org.id}/prices`)).json.data).toEqual([]);
  });

  test('approves and rejects price changes that wait', async () => {
    await pendingPriceChange(walk.world, 'maker/rising');
    walk.world.clock.advanceSeconds(1);
    await pendingPriceChange(walk.world, 'maker/falling');
    const { page, look } = await walk.visitor(walk.world.operatorKey);
    await look('/console/prices', 'Prices');
    await page.getByRole('link', { name: 'Price changes' }).click();
    await page.waitForURL(/\/prices\/changes/);
    expect(
      await page.getByRole('row', { name: /input_usd_per_million \$1\.00 \$9\.00 \+800%/ }).count(),
    ).toBe(2);
    await page.getByRole('button', { name: 'Approve maker/rising' }).click();
    await page.waitForURL(/done=approved/);
    await page.getByRole('button', { name: 'Reject maker/falling' }).click();
    await page.waitForURL(/done=rejected/);
    expect(await page.getByText('No pending price changes').isVisible()).toBe(true);
    const inputOf = async (model: string) =>
      (await asOperator('GET', `/models/${encodeURIComponent(model)}`)).json.input_usd_per_million;
    expect([await inputOf('maker/rising'), await inputOf('maker/falling')]).toEqual(['9', '1']);
    await look('/console/prices/maker%2Frising', 'Model price');
    expect(await page.getByLabel('Follow price updates').isChecked()).toBe(true);
  });

  test('sets the data region and the rate limits of an organization', async () => {
    const { id } = await walk.world.createOrg();
    const here = `/console/orgs/${id}`;
    const { page, look } = await walk.visitor(walk.world.operatorKey);
    await look(`${here}/residency`, 'Data region');
    await page.getByLabel('Data region').fill('eu');
    await page.getByLabel('Requests to other regions').selectOption('strict');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await asOperator('GET', `/orgs/${id}/residency`)).json).toEqual({
      home_region: 'eu',
      mode: 'strict',
    });
    await look(`${here}/rates`, 'Rate limits');
    await page.getByLabel('Read requests per minute').fill('600');
    await page.getByLabel('Name').first().fill('gateway');
    await page.getByLabel('Limit').first().fill('100');
    await page.getByLabel('Window (seconds)').first().fill('60');
    await page.getByLabel('Routes').first().selectOption('edge');
    await page.getByLabel('Name').nth(1).fill('dollars');
    await page.getByLabel('Type').nth(1).selectOption('quota');
    await page.getByLabel('Limit').nth(1).fill('12.5');
    await page.getByLabel('Unit', { exact: true }).nth(1).selectOption('usd');
    await page.getByLabel('Window (seconds)').nth(1).fill('never');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await page.locator('#field-policies-1-window_seconds-fault').isVisible()).toBe(true);
    await page.getByLabel('Window (seconds)').nth(1).fill('3600');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    const { read_rpm, policies } = (await asOperator('GET', `/orgs/${id}/rate-limits`)).json;
    expect(read_rpm).toBe(600);
    expect(policies).toHaveLength(2);
    expect(policies).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'gateway', limit: 100, match: { route_class: 'edge' } }),
        expect.objectContaining({ name: 'dollars', kind: 'quota', unit: 'usd', limit: '12.5', match: {} }),
      ]),
    );
    await look(`${here}/rates`, 'Rate limits');
    const fields = await page.getByLabel('Limit').all();
    const limits = await Promise.all(fields.map((field) => field.inputValue()));
    expect(limits).toEqual(expect.arrayContaining(['100', '12.5']));
  });

  test('creates an operator key, and revokes it', async () => {
    const { page, look } = await walk.visitor(walk.world.operatorKey);
    await look('/console/operator-keys', 'API keys');
    await look('/console/operator-keys/new', 'Create API key');
    await page.getByLabel('Name').fill('On-call');
    await page.getByRole('button', { name: 'Create API key' }).click();
    const key = (await page.locator('#secret').textContent()) ?? '';
    const works = async () => (await walk.world.request('GET', '/v1/admin/orgs', { key })).status;
    expect(await works()).toBe(200);
    await page.getByRole('link', { name: 'All API keys' }).click();
    const row = page.getByRole('row', { name: /On-call/ });
    await row.locator('summary').click();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.waitForURL(/operator-keys\?done=key_revoked/);
    expect(await works()).toBe(410);
  });

  test('hides operator pages from members of organizations, and the other way around', async () => {
    const owner = await walk.owner();
    const operator = await walk.visitor(walk.world.operatorKey);
    for (const path of ['/console/orgs', '/console/plans', '/console/prices', '/console/grants']) {
      await owner.look(path, 'Page not found', 404);
    }
    await operator.look('/console/settings', 'Page not found', 404);
  });
});
