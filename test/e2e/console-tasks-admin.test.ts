/** Tasks of admins and operators in a browser, from the first page on, with the number of clicks that they take. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { walkThrough } from '../support/console-walk.ts';
import { type OidcIdp, startOidcProvider } from '../support/oidc-provider.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('in a browser', () => {
  const walk = walkThrough(executable, {
    SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
    SVC_AUTH_BACKOFF_ATTEMPTS: '1000',
  });

  /** Counts clicks. Typing and choosing in a list are not counted. */
  function counting(page: Page) {
    let clicks = 0;
    const click = async (what: Locator) => {
      clicks += 1;
      await what.click();
      await page.waitForLoadState();
    };
    const main = page.locator('main');
    return {
      clicks: () => clicks,
      menu: (name: string) =>
        click(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true })),
      link: (name: string) => click(main.getByRole('link', { name, exact: true }).first()),
      button: (name: string) => click(main.getByRole('button', { name }).first()),
      click: (what: Locator) => click(what),
    };
  }

  describe('an admin', () => {
    test('sets a budget for a department that runs have used, in 3 clicks', async () => {
      const { page, look, api } = await walk.owner();
      await api('POST', '/v1/runs', { model: 'm', cost_usd: '1', department: 'finance' });
      await look('/console', 'Overview');
      const { menu, link, button, clicks } = counting(page);
      await menu('Limits');
      await link('Create budget');
      await page.getByLabel('Name', { exact: true }).fill('Finance');
      await page.getByLabel('Applies to').selectOption('department');
      const suggestions = await page
        .locator('#field-scope_id-list option')
        .evaluateAll((options) => options.map((option) => option.getAttribute('value')));
      expect(suggestions).toContain('finance');
      await page.getByLabel('Value').fill('finance');
      await page.getByLabel('Limit').fill('80');
      await button('Create budget');
      await page.waitForURL(/done=budget_created/);
      expect(clicks()).toBe(3);
    });

    test('blocks a model except for one team, with an example from the list of variables, in 5 clicks', async () => {
      const { page, look, api } = await walk.owner();
      await look('/console', 'Overview');
      const { menu, link, button, click, clicks } = counting(page);
      await menu('Policies');
      await link('Create rule');
      await page.getByLabel('Models').fill('o1-*');
      await page.getByLabel('Condition').fill('role != "owner" || role != "admin"');
      await click(page.getByText('Variables and examples'));
      await expectGood(page);
      await click(page.getByRole('button', { name: 'Insert example of department' }));
      await page.getByLabel('Reason').fill('Engineering only.');
      await button('Create rule');
      await page.waitForURL(/done=rule_created/);
      expect(clicks()).toBe(5);
      const [rule] = (await api('GET', '/policies')).json.data;
      expect(rule.expression).toBe('(role != "owner" || role != "admin") && (department != "engineering")');
    });

    test('creates a signed webhook without typing event types, in 5 clicks', async () => {
      const { page, look, api } = await walk.owner();
      await look('/console', 'Overview');
      const { menu, link, button, click, clicks } = counting(page);
      await menu('Webhooks');
      await link('Create webhook');
      await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/hook');
      await click(page.locator('.option-group > summary', { hasText: /^Limit$/ }));
      await click(page.getByLabel('All limit events'));
      await expectGood(page);
      await button('Create webhook');
      expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/);
      expect(clicks()).toBe(5);
      const [made] = (await api('GET', '/webhooks')).json.data;
      expect(made).toMatchObject({ events: ['limit.*'], event_version: 2 });
    });

    describe('with an identity provider', () => {
      let idp: OidcIdp;
      let page: Page;
      let slug: string;
      beforeAll(async () => {
        walk.world.baseUrl = walk.url;
        const org = await walk.world.createOrg('Contoso');
        const settings = await walk.world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
        ({ slug } = settings.json);
        idp = await startOidcProvider(`${walk.url}/sso/callback`, `${walk.url}/sso/${slug}/callback`);
        // Not watched: its pages go to another host, that of the identity provider.
        page = await (await walk.browser.newContext()).newPage();
        const [, name = '', value = ''] =
          /^([^=]+)=(.*)$/.exec(
            cookieOf(await postForm(walk.world, '/console/login', { key: org.ownerKey })),
          ) ?? [];
        await page.context().addCookies([{ name, value, url: walk.url }]);
      });
      afterAll(() => idp.close());

      test('sets up single sign-on with the URIs in view, and tests it, in 6 clicks', async () => {
        await page.goto(`${walk.url}/console`);
        const { menu, link, button, clicks } = counting(page);
        await menu('Settings');
        await link('Single sign-on');
        await link('Configure OIDC');
        expect(await page.getByText(`${walk.url}/sso/${slug}/callback`).isVisible()).toBe(true);
        await page.getByLabel('Issuer URL').fill(idp.issuer);
        await page.getByLabel('Client ID').fill(idp.clientId);
        await page.getByLabel('Client secret').fill(idp.clientSecret);
        await page.getByLabel('Group to role mapping').fill('finance = admin');
        await page.getByLabel('Create members on first sign-in').check();
        await button('Save');
        await page.waitForURL(/done=saved/);
        idp.account = { sub: 'ada', email: 'ada@example.com', email_verified: true, groups: ['finance'] };
        await button('Test sign-in');
        await link('Continue to identity provider');
        await page.waitForURL(/sso\?test=sst_/);
        expect(clicks()).toBe(6);
        const shown = await page.locator('main').textContent();
        expect(shown).toContain('This person can sign in.');
        expect(shown).toContain('Would be created');
        expect(shown).toMatch(/Role\s*Admin/);
        await expectGood(page);
      });
    });
  });

  describe('an operator', () => {
    test('creates an organization with its first key in 4 clicks', async () => {
      const { page, look } = await walk.visitor(walk.world.operatorKey);
      await look('/console', 'Organizations');
      const { link, button, clicks } = counting(page);
      await link('Create organization');
      await page.getByLabel('Name', { exact: true }).fill('Fabrikam');
      await button('Create organization');
      await link('Create API key');
      await button('Create API key');
      expect(await page.locator('#secret').textContent()).toMatch(/^svc_/);
      expect(clicks()).toBe(4);
    });

    test('sees which organizations spend most without a click, and which are near a limit', async () => {
      const { world } = walk;
      const small = await world.createOrg('Small spender');
      const large = await world.createOrg('Large spender');
      for (const [org, cost_usd, limit_usd] of [
        [small, '9', '10'],
        [large, '500', '100000'],
      ] as const) {
        const as = { key: org.ownerKey };
        await world.request('POST', `/v1/orgs/${org.id}/budgets`, {
          ...as,
          body: { name: 'All', scope_kind: 'org', period: 'month', limit_usd },
        });
        await world.request('POST', '/v1/runs', { ...as, body: { model: 'm', cost_usd } });
      }
      await world.runJob('summarize-orgs');
      const { page, look } = await walk.visitor(world.operatorKey);
      await look('/console', 'Organizations');
      const first = () => page.locator('tbody tr').first().textContent();
      expect(await first()).toMatch(/Large spender.*\$500\.00/s);
      await page.getByLabel('Sort by').selectOption('-used_percent');
      await page.waitForURL(/sort=-used_percent/);
      expect(await first()).toMatch(/Small spender.*90% of budget/s);
      await expectGood(page);
    });

    test('sees whether the installation is healthy in 1 click', async () => {
      const { page, look } = await walk.visitor(walk.world.operatorKey);
      await look('/console', 'Organizations');
      const { menu, clicks } = counting(page);
      await menu('Health');
      await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor();
      expect(await page.getByRole('row', { name: /migrations OK All migrations are applied/ }).count()).toBe(
        1,
      );
      expect(clicks()).toBe(1);
      await expectGood(page);
    });

    test('looks into an organization by a grant in 6 clicks, and the organization sees it', async () => {
      const { world } = walk;
      const org = await world.createOrg('Looked into');
      const { page, look } = await walk.visitor(world.operatorKey);
      await look('/console/orgs?search=looked', 'Organizations');
      const { link, button, click, clicks } = counting(page);
      await link('Looked into');
      await link('Open console');
      await page.getByLabel('Reason').fill('Ticket 4711');
      await click(page.getByLabel('runs:read'));
      await button('Request access');
      await page.waitForURL(/done=grant_made/);
      await button('Open console');
      await button('Enter console');
      await page.waitForURL(/\/console$/);
      expect(await page.locator('header .org').textContent()).toBe('Looked into');
      expect(clicks()).toBe(6);
      const seen = async (path: string) =>
        (await world.request('GET', `/v1/orgs/${org.id}/support-access${path}`, { key: org.ownerKey })).json
          .data;
      expect(await seen('/grants')).toEqual([expect.objectContaining({ reason: 'Ticket 4711' })]);
      expect(await seen('?kind=session_opened')).toHaveLength(1);
      expect((await seen('?kind=request')).length).toBeGreaterThan(0);
    });

    test('finds out who changed a price in 1 click', async () => {
      const { world } = walk;
      const colleague = await world.request('POST', '/v1/admin/keys', {
        key: world.operatorKey,
        body: { name: 'Night shift' },
      });
      await world.request('PUT', '/v1/admin/models/maker%2Fnew', {
        key: colleague.json.secret,
        body: { input_usd_per_million: '3' },
      });
      const { page, look } = await walk.visitor(world.operatorKey);
      await look('/console', 'Organizations');
      const { menu, clicks } = counting(page);
      await menu('Audit log');
      const row = page.getByRole('row', { name: /Night shift.*models\.prices\.put.*maker\/new/ });
      expect(await row.count()).toBe(1);
      expect(clicks()).toBe(1);
      await expectGood(page);
    });
  });
});
