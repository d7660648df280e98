/** An engineer with a 402, in a real browser: why it was blocked, how full the budget is, whom to ask. Clicks are counted. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('an engineer with a 402', () => {
  const walk = walkThrough(executable, {});

  /** Denies a run of a member by a budget with an owner; returns the key and the trace id of the denied run. */
  async function denied() {
    const owner = await walk.owner();
    const { org, api } = owner;
    const budget = {
      name: 'Code review',
      scope_kind: 'workflow',
      scope_id: 'review',
      period: 'month',
      limit_usd: '50',
      owner: 'finance@example.com',
    };
    const { id } = (await api('POST', '/budgets', budget)).json;
    await api('POST', '/v1/runs', { model: 'large', cost_usd: '42', workflow: 'review' });
    const member = await walk.world.mintKey(org, 'member', ['runs:read', 'runs:write']);
    const call = (cost_usd: string) =>
      walk.world.request('POST', '/v1/runs', {
        key: member.secret,
        body: { model: 'large', cost_usd, workflow: 'review' },
      });
    const traceId = String((await call('9')).headers['x-svc-trace-id']);
    await call('9.5');
    await walk.world.runJob('record-refusals');
    return { owner, budgetId: id as string, member, traceId };
  }

  /** Counts clicks; typing and Enter are not clicks. */
  function clicking(page: Page) {
    let clicks = 0;
    return {
      clicks: () => clicks,
      async click(name: string | RegExp) {
        clicks += 1;
        await page.getByRole('link', { name }).first().click();
        await page.waitForLoadState();
      },
    };
  }

  test('finds the blocked request by the trace id in the log, and whom to ask, in two clicks, as a member', async () => {
    const { member, traceId } = await denied();
    const { page, look } = await walk.visitor(member.secret);
    await look('/console', 'Overview');
    const { click, clicks } = clicking(page);
    await click('Blocked requests');
    await page.getByLabel('Trace ID').fill(traceId);
    await page.keyboard.press('Enter');
    await page.waitForURL(/trace_id=/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await click('Budget: Code review');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'Blocked by budget “Code review”',
    );
    const main = (await page.locator('main').textContent()) ?? '';
    expect(main).toContain('Needs $9.00; $8.00 of $50.00 remaining');
    expect(main).toMatch(/Resets\s*1 Dec 2026/);
    expect(main).toContain(traceId);
    expect(await page.getByRole('link', { name: 'finance@example.com' }).isVisible()).toBe(true);
    // A member without the scope of budgets is not offered what it may not do.
    expect(await page.getByRole('link', { name: 'Raise limit' }).count()).toBe(0);
    await expectGood(page);
    expect(clicks()).toBeLessThanOrEqual(2);
  });

  test('sees which budget it was and how full it is now in three clicks, and an admin raises it', async () => {
    const { owner, budgetId } = await denied();
    const { page, look, press, arrived, api } = owner;
    await look('/console', 'Overview');
    const { click, clicks } = clicking(page);
    // The overview lists recently blocked requests.
    await click('Budget: Code review');
    expect(await page.getByText('$8.00 of $50.00 remaining').first().isVisible()).toBe(true);
    await click('Code review');
    await page.waitForURL(new RegExp(`/console/limits/${budgetId}$`));
    expect(clicks()).toBeLessThanOrEqual(3);
    expect(await page.getByText('84%').first().isVisible()).toBe(true);
    expect(await page.getByText('Near limit').isVisible()).toBe(true);
    await expectGood(page);
    expect(await page.getByRole('link', { name: 'View runs' }).first().getAttribute('href')).toBe(
      '/console/runs?workflow=review&from=2026-11-01&to=2026-11-30',
    );
    await page.goBack();
    await click('Raise limit');
    await page.getByLabel('Limit', { exact: true }).fill('100');
    await press('Save');
    await arrived('saved');
    expect(new URL(page.url()).pathname).toBe(`/console/limits/${budgetId}`);
    expect((await api('GET', `/budgets/${budgetId}`)).json).toMatchObject({
      limit_usd: '100',
      owner: 'finance@example.com',
    });
  });

  test('finds its limit among many, and a pending approval', async () => {
    const { owner } = await denied();
    const { page, look, api, org } = owner;
    for (let index = 0; index < 30; index += 1) {
      const budget = { name: `Team ${index}`, scope_kind: 'team', scope_id: `t${index}` };
      await api('POST', '/budgets', { ...budget, period: 'month', limit_usd: '5' });
    }
    await look('/console/limits', 'Limits');
    await page.getByLabel('State').selectOption('near');
    await page.waitForURL(/state=near/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.getByLabel('State').selectOption('');
    await page.waitForURL(/state=(&|$)/);
    await page.getByLabel('Name, scope or owner').fill('TEAM 17');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/search=TEAM/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await expectGood(page);
    const rule = { effect: 'require_approval', actions: ['wipe'], priority: 1, reason: 'Ask first.' };
    await api('POST', '/policies', { ...rule, owner: '#security' });
    const member = await walk.world.mintKey(org, 'member', ['runs:write']);
    const body = { model: 'm', cost_usd: '0', action: 'wipe' };
    await walk.world.request('POST', '/v1/runs', { key: member.secret, body });
    await walk.world.runJob('record-refusals');
    await look('/console/refusals?code=policy_approval_required', 'Blocked requests');
    await page.getByRole('link', { name: 'Approval required' }).click();
    await page.waitForLoadState();
    expect(await page.getByText('#security').isVisible()).toBe(true);
    expect(await page.getByText('Pending').isVisible()).toBe(true);
    await expectGood(page);
    await page.getByRole('link', { name: 'Review approval' }).click();
    await page.waitForURL(/approvals\?state=pending/);
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(1);
  });

  test('sees every figure of the overview lead somewhere, and the time of the figures', async () => {
    const { owner, budgetId } = await denied();
    const { page, look } = owner;
    await look('/console', 'Overview');
    expect(await page.locator('.as-of').textContent()).toMatch(
      /As of \d\d:\d\d:\d\d, updated every 30 seconds/,
    );
    expect(await page.locator('main').getAttribute('data-refresh')).toBe('30');
    for (const value of await page.locator('.stat-value').all()) {
      expect(await value.locator('a').count()).toBe(1);
    }
    expect(
      await page
        .locator('figure', { hasText: 'Spend per day' })
        .locator('svg a')
        .first()
        .getAttribute('href'),
    ).toMatch(/^\/console\/usage\?.*range=custom&from=([-\d]+)&to=\1$/);
    expect(await page.locator('a.row-link').first().getAttribute('href')).toBe(`/console/limits/${budgetId}`);
    await page.getByRole('link', { name: 'Pause updates' }).click();
    await page.waitForURL(/still=yes/);
    expect(await page.locator('main').getAttribute('data-refresh')).toBeNull();
    await expectGood(page);
    await page.getByRole('link', { name: 'Resume updates' }).click();
    await page.waitForURL(/\/console$/);
  });

  test('reads everything without JavaScript', async () => {
    const { member, traceId } = await denied();
    const page = await walk.stranger({ javaScriptEnabled: false });
    await page.goto(`${walk.url}/console/login?return_to=/console/refusals`);
    await page.getByLabel('API key').fill(member.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Trace ID').fill(traceId);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('link', { name: 'Budget: Code review' }).click();
    expect(await page.getByRole('link', { name: 'finance@example.com' }).isVisible()).toBe(true);
    await page.goto(`${walk.url}/console`);
    expect(await page.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
  });
});
