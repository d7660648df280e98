/** The console in a real browser: every page is walked, what people do there is done, and what must not work does not. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, engine, type TestOrg, type World } from '../harness.ts';
import { expectAccessible, findBrowser, openBrowser, watched } from '../support/browser.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';
import { startReceiver } from '../support/webhook-receiver.ts';
import { controlWebhooks } from '../support/webhooks.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('the console', () => {
  let world: World;
  let browser: Browser;
  let url: string;
  let org: TestOrg;
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    world = await createWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
    ({ url } = await world.listen());
    browser = await openBrowser(executable ?? '');
    org = await world.createOrg('Northwind');
    ({ page, faults } = await signedIn(org.ownerKey));
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });
  afterEach(() => {
    expect(faults).toEqual([]);
  });

  async function signedIn(key: string) {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
    const fresh = await context.newPage();
    const heard = watched(fresh, url);
    await fresh.goto(`${url}/console`);
    await fresh.getByLabel('API key').fill(key);
    await fresh.getByRole('button', { name: 'Sign in' }).click();
    await fresh.waitForURL(`${url}/console`);
    return { page: fresh, faults: heard };
  }

  const api = (method: string, path: string, body?: object) =>
    world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
      key: org.ownerKey,
      ...(body !== undefined && { body }),
    });
  const runJob = (name: string) => world.app.jobs.find((job) => job.name === name)?.runOnce();

  /** Opens a page, whatever its state, and holds it to what every page has to hold to. */
  async function look(path: string, title: string | RegExp, status = 200): Promise<void> {
    const answer = await page.goto(`${url}${path}`);
    expect([path, answer?.status()]).toEqual([path, status]);
    const headers = answer?.headers() ?? {};
    expect(headers.deprecation).toBeUndefined();
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(title);
    if (engine === 'embedded') {
      await expectAccessible(page);
    }
  }

  test('shows the way in to those who are not signed in, and back to where they wanted to go', async () => {
    const context = await browser.newContext();
    const stranger = await context.newPage();
    await stranger.goto(`${url}/console/refusals?code=rate_limited`);
    expect(new URL(stranger.url()).pathname).toBe('/console/login');
    if (engine === 'embedded') {
      await expectAccessible(stranger);
    }
    await stranger.getByLabel('API key').fill(org.ownerKey);
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.waitForURL(`${url}/console/refusals?code=rate_limited`);
    await context.close();
  });

  test('says what to do first where there is nothing yet', async () => {
    await look('/console', 'Overview');
    expect(await page.getByRole('heading', { name: 'First steps' }).isVisible()).toBe(true);
    await look('/console/refusals', 'Refusals');
    expect(await page.getByText('Nothing was refused').isVisible()).toBe(true);
    await look('/console/no-such-page', 'There is no such page', 404);
  });

  test('shows a refusal soon after it happened, with its cause', async () => {
    await api('PUT', '/spend-cap', { cap_usd: '5' });
    await api('POST', '/v1/runs', { model: 'small', cost_usd: '2', workflow: 'triage', customer_id: 'acme' });
    expect((await api('POST', '/v1/runs', { model: 'large', cost_usd: '9' })).status).toBe(402);
    await runJob('write what was refused');
    await look('/console', 'Overview');
    const refused = page.getByRole('row', { name: /Daily spend cap/ });
    expect(await refused.textContent()).toContain('$2.00 of $5.00 used, $9.00 more asked for');
    expect(await page.getByRole('img', { name: /Daily spend cap: \$2\.00 settled/ }).count()).toBeGreaterThan(
      0,
    );
  });

  test('lists runs by what they were about, and shows one with its chain', async () => {
    await api('PUT', '/spend-cap', { cap_usd: '100' });
    const run = async (body: object) => (await api('POST', '/v1/runs', body)).json.id as string;
    const chain = { workflow: 'research', chain_id: 'chain-7', cost_usd: '0.25' };
    const plan = await run({ ...chain, model: 'planner', action: 'plan' });
    const search = await run({ ...chain, model: 'searcher', action: 'search', parent_run_id: plan });
    await run({ ...chain, model: 'reader', action: 'read <b>', parent_run_id: search });
    await look('/console/runs', 'Runs');
    await page.getByLabel('Workflow').fill('research');
    await page.getByRole('button', { name: 'Apply' }).click();
    expect(await page.getByRole('row').count()).toBe(1 + 3);
    await look(`/console/runs/${search}`, 'Run of searcher');
    expect(await page.locator('.tree [aria-current]').textContent()).toContain('search');
    // The run that follows from it stands inside its own branch.
    expect(await page.locator('.tree ul ul').textContent()).toContain('read <b>');
    expect(await page.getByText('3 runs, $0.75 in all, 3 deep').isVisible()).toBe(true);
    await look('/console/runs?tag=none', 'Runs', 422);
    await look('/console/runs/run_none', 'There is no such page', 404);
  });

  test('makes a budget, says beside the field what is wrong with it, changes and deletes it', async () => {
    await look('/console/limits/budgets/new', 'New budget');
    await page.getByLabel('Name').fill('Research');
    await page.getByLabel('Counts the runs of').selectOption('workflow');
    await page.getByLabel('Limit').fill('much');
    await page.getByRole('button', { name: 'Create the budget' }).click();
    const limit = page.getByLabel('Limit');
    expect(await limit.getAttribute('aria-invalid')).toBe('true');
    expect(await limit.inputValue()).toBe('much');
    expect(await page.locator('#field-limit_usd-fault').textContent()).toContain('decimal string');
    if (engine === 'embedded') {
      await expectAccessible(page);
    }
    await limit.fill('$1,250.50');
    await page.getByLabel('Which one').fill('research');
    await page.getByRole('button', { name: 'Create the budget' }).click();
    await page.waitForURL(/\/console\/limits/);
    expect(await page.getByRole('status').textContent()).toBe('The budget was created.');
    const [made] = (await api('GET', '/budgets')).json.data;
    expect(made).toMatchObject({
      name: 'Research',
      limit_usd: '1250.5',
      period: 'month',
      scope_id: 'research',
    });
    await look('/console/limits', 'Limits');
    const bar = page.getByRole('img', {
      name: 'Research: $0.75 settled, $0.00 held, $1,249.75 left of $1,250.50',
    });
    expect(await bar.isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Research' }).click();
    await page.getByLabel('Limit').fill('2000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await api('GET', `/budgets/${made.id}`)).json.limit_usd).toBe('2000');
    await look(`/console/limits/budgets/${made.id}`, 'Budget');
    await page.locator('summary', { hasText: 'Delete' }).click();
    await page.locator('.ask-box').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/done=deleted/);
    expect((await api('GET', '/budgets')).json.data).toEqual([]);
  });

  test('sets the other limits', async () => {
    for (const [path, title] of [
      ['/console/limits/spend-cap', 'Daily spend cap'],
      ['/console/limits/chain', 'Chain budget'],
      ['/console/limits/customers/new', 'New customer limit'],
      ['/console/limits/credits/new', 'New credit pack'],
    ] as const) {
      await look(path, title);
    }
    await page.getByLabel('Customer').fill('globex');
    await page.getByLabel('Amount').fill('20');
    await page.getByLabel('Expires').fill('2026-12-24T18:00');
    await page.getByRole('button', { name: 'Create the pack' }).click();
    await page.waitForURL(/kind=credits&done=pack_created/);
    const [pack] = (await api('GET', '/credit-packs')).json.data;
    expect(pack).toMatchObject({ amount_usd: '20', expires_at: '2026-12-24T18:00:00.000Z' });
    await look(`/console/limits/credits/${pack.id}`, 'Credit pack');
    expect(await page.getByLabel('Expires').inputValue()).toBe('2026-12-24T18:00');
    await api('POST', '/v1/edge/decision', { model: 'held-one', estimated_cost_usd: '0.5' });
    await look('/console/limits/holds', 'Open holds');
    await page
      .getByRole('row', { name: /held-one/ })
      .locator('summary')
      .click();
    await page
      .getByRole('row', { name: /held-one/ })
      .getByRole('button', { name: 'Void' })
      .click();
    await page.waitForURL(/done=voided/);
    expect((await api('GET', '/holds')).json.data).toEqual([]);
  });

  test('mints a key that is shown once, rotates it and revokes it', async () => {
    await look('/console/keys/new', 'Mint a key');
    await page.getByLabel('Name').fill('Gateway');
    await page.getByLabel('edge:decide').check();
    await page.getByLabel('runs:read').check();
    await page.getByRole('button', { name: 'Mint the key' }).click();
    const secret = (await page.locator('#secret').textContent()) ?? '';
    expect((await world.request('GET', '/v1/runs', { key: secret })).status).toBe(200);
    if (engine === 'embedded') {
      await expectAccessible(page);
    }
    await runJob('write when keys were last used');
    await look('/console/keys', 'Keys');
    const row = page.getByRole('row', { name: /Gateway/ });
    expect(await row.textContent()).toContain('just now');
    expect(await page.content()).not.toContain(secret);
    world.clock.advanceSeconds(1);
    await row.getByRole('link', { name: 'Rotate' }).click();
    await page.getByLabel('Both work for').selectOption('3600');
    await page.getByRole('button', { name: 'Rotate' }).click();
    const successor = (await page.locator('#secret').textContent()) ?? '';
    await page.getByRole('link', { name: 'All keys' }).click();
    // The newest stands first.
    await page
      .getByRole('row', { name: /Gateway/ })
      .first()
      .locator('summary', { hasText: 'Revoke' })
      .click();
    await page.locator('.ask[open]').getByRole('button', { name: 'Revoke' }).click();
    await page.waitForURL(/done=key_revoked/);
    expect((await world.request('GET', '/v1/runs', { key: successor })).status).toBe(410);
    expect((await world.request('GET', '/v1/runs', { key: secret })).status).toBe(200);
  });

  test('subscribes a receiver, gives it a secret of its own, and delivers again', async () => {
    const receiver = await startReceiver();
    const webhooks = controlWebhooks(world);
    await look('/console/webhooks', 'Webhooks');
    await page.getByRole('link', { name: 'New webhook' }).first().click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByLabel('Events').fill('webhook.*, budget.*');
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.waitForURL(/done=webhook_created/);
    expect(await page.getByText('still signed with the org’s secret (v1)').isVisible()).toBe(true);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.locator('summary', { hasText: 'Make a secret of its own' }).click();
    await page.getByRole('button', { name: 'Make a secret of its own' }).click();
    expect(await page.locator('#secret').textContent()).toMatch(/^\S{20,}$/);
    await page.getByRole('link', { name: 'Back to the webhook' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.waitForURL(/done=test_sent/);
    await webhooks.deliver();
    const here = new URL(page.url()).pathname;
    await look(here, 'Webhook');
    await page
      .getByRole('row', { name: /webhook\.test .*delivered/ })
      .getByRole('button', { name: 'Redeliver' })
      .click();
    await page.waitForURL(/done=redelivered/);
    await webhooks.deliver();
    const tests = receiver.received.filter(({ event }) => event.type === 'webhook.test');
    expect(tests.map(({ event }) => event.id)).toEqual([tests[0]?.event.id, tests[0]?.event.id]);
    await look(`${here}/edit`, 'Webhook');
    expect(await page.getByLabel('Events').inputValue()).toBe('webhook.*\nbudget.*');
    await webhooks.stop();
    await receiver.close();
  });

  test('writes a rule after trying it on past runs, and says what is wrong with its condition', async () => {
    await look('/console/policies', 'Policies');
    await look('/console/policies/new', 'New rule');
    await page.getByLabel('Effect').selectOption('require_approval');
    await page.getByLabel('Actions').fill('delete_*');
    await page.getByLabel('Condition').fill('cost_usd >');
    await page.getByLabel('Reason').fill('Two pairs of eyes.');
    await page.getByRole('button', { name: 'Try it on past runs' }).click();
    expect(await page.locator('#field-expression-fault').textContent()).not.toBe('');
    await page.getByLabel('Condition').fill('');
    await page.getByLabel('Actions').fill('plan');
    await page.getByRole('button', { name: 'Try it on past runs' }).click();
    expect(await page.getByRole('row', { name: /planner plan allow require approval/ }).isVisible()).toBe(
      true,
    );
    if (engine === 'embedded') {
      await expectAccessible(page);
    }
    expect((await api('GET', '/policies')).json.data).toEqual([]);
    await page.getByLabel('Actions').fill('delete_*');
    await page.getByRole('button', { name: 'Put it in force' }).click();
    await page.waitForURL(/done=rule_created/);
    await look('/console/policies/try', 'Try a request');
    await page.getByLabel('Model').fill('m');
    await page.getByLabel('Action').fill('delete_all');
    await page.getByRole('button', { name: 'What would happen?' }).click();
    expect(await page.getByRole('heading', { name: 'Verdict' }).isVisible()).toBe(true);
    expect(await page.getByText('Two pairs of eyes.').isVisible()).toBe(true);
  });

  test('approves what a rule asks for, and the run passes', async () => {
    const { secret } = await world.mintKey(org, 'member', ['runs:write']);
    const run = () =>
      world.request('POST', '/v1/runs', {
        key: secret,
        body: { model: 'm', action: 'delete_all', cost_usd: '0.1' },
      });
    expect((await run()).status).toBe(403);
    await look('/console/approvals', 'Approvals');
    await page.getByLabel('Reason').fill('Fine this time');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.waitForURL(/done=approved/);
    expect((await run()).status).toBe(201);
    expect((await run()).status).toBe(403);
    await look('/console/approvals?state=used', 'Approvals');
    expect(await page.getByText('Fine this time').isVisible()).toBe(true);
  });

  test('turns a detector on, and tries it', async () => {
    await look('/console/safety', 'Safety');
    await page.getByRole('link', { name: 'email' }).click();
    await page.getByLabel('What becomes of a run').selectOption('block');
    await page.getByRole('checkbox', { name: 'On' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    expect((await api('GET', '/safety-detectors/email')).json).toMatchObject({
      enabled: true,
      action: 'block',
    });
    await look('/console/safety/try', 'Try the detectors');
    await page.getByLabel('Content').fill('write to jo@example.com');
    await page.getByRole('button', { name: 'What would fire?' }).click();
    expect(await page.getByRole('row', { name: /email yes yes: block/ }).isVisible()).toBe(true);
    await look('/console/safety/new', 'New detector');
  });

  test('draws what models cost against how they score, and says which one would be chosen', async () => {
    await look('/console/routing', 'Routing and evals');
    const price = { input_usd_per_million: '1', output_usd_per_million: '2' };
    for (const [model, score] of [
      ['route-a', '0.91'],
      ['route-b', '0.62'],
    ] as const) {
      await world.request('PUT', `/v1/admin/models/${model}`, { key: world.operatorKey, body: price });
      await page.goto(`${url}/console/routing/evals/new`);
      await page.getByLabel('Suite').fill('support');
      await page.getByLabel('Model').fill(model);
      await page.getByLabel('Score').fill(score);
      await page.getByLabel('Samples').fill('200');
      await page.getByRole('button', { name: 'Record it' }).click();
      await page.waitForURL(/done=saved/);
    }
    await look('/console/routing/policy', 'Routing policy');
    await page.getByLabel('Candidates').fill('route-*');
    await page.getByLabel('Eval suite').fill('support');
    await page.getByLabel('Bar').fill('0.8');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    await look('/console/routing', 'Routing and evals');
    expect(await page.locator('desc').textContent()).toBe(
      '1 of 2 models reach the bar; the cheapest of them is route-a.',
    );
    await look('/console/routing/try', 'Which model?');
    await page.getByRole('button', { name: 'Choose' }).click();
    expect(await page.getByRole('heading', { name: 'route-a' }).isVisible()).toBe(true);
    expect(await page.getByRole('row', { name: /route-b score too low/ }).isVisible()).toBe(true);
  });

  test('looks ahead, and sets scenarios beside what is expected', async () => {
    await look('/console/forecasts', 'Forecasts and capacity');
    await look('/console/forecasts/scenarios/new', 'New scenario');
    await page.getByLabel('Name').fill('Growth');
    await page.getByLabel('Volume grows each month').fill('20');
    await page.getByLabel('A new deployment').fill('support-bot');
    await page.getByLabel('that costs each day').fill('15');
    await page.getByRole('button', { name: 'Create the scenario' }).click();
    await page.waitForURL(/done=saved/);
    const [made] = (await api('GET', '/capacity-scenarios')).json.data;
    expect(made.changes).toEqual({
      growth_percent_per_month: 20,
      new_deployment: { name: 'support-bot', daily_cost_usd: '15' },
    });
    await api('PATCH', `/capacity-scenarios/${made.id}`, {
      changes: { ...made.changes, seasonality: { weekday_percents: [100, 100, 100, 100, 100, 50, 50] } },
    });
    await page.getByRole('link', { name: 'Growth' }).click();
    await page.getByLabel('Volume grows each month').fill('30');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/done=saved/);
    // What the form has no field for is kept.
    expect((await api('GET', `/capacity-scenarios/${made.id}`)).json.changes).toMatchObject({
      growth_percent_per_month: 30,
      seasonality: { weekday_percents: [100, 100, 100, 100, 100, 50, 50] },
    });
  });

  test('searches, verifies and exports the audit log', async () => {
    await look('/console/audit', 'Audit log');
    await page.getByLabel('Action', { exact: true }).fill('budgets.create');
    await page.getByRole('button', { name: 'Apply' }).click();
    expect(await page.getByRole('row', { name: /budgets\.create/ }).count()).toBe(1);
    await page.getByRole('button', { name: 'Verify the log' }).click();
    expect(await page.getByText('The log is whole').isVisible()).toBe(true);
    if (engine === 'embedded') {
      await expectAccessible(page);
    }
    await page.goto(`${url}/console/audit`);
    await page.locator('summary', { hasText: 'Export' }).click();
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().includes('/audit-log/export')),
      // The browser keeps what comes as a file and stays where it is.
      page.waitForEvent('download').catch(() => undefined),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(answer.status()).toBe(200);
    expect(new URL(answer.url()).searchParams.get('from')).toBe('2026-11-08T12:00:00.000Z');
  });

  test('works by keyboard: the first stop leads past the menu', async () => {
    await page.goto(`${url}/console`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  test('keeps to the colors that were chosen', async () => {
    await page.goto(`${url}/console/refusals?code=rate_limited`);
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.waitForURL(`${url}/console/refusals?code=rate_limited`);
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await page.getByRole('button', { name: 'System' }).click();
    await page.waitForLoadState();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('auto');
  });

  test('fits a small screen', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of [
      '/console',
      '/console/runs',
      '/console/limits',
      '/console/keys/new',
      '/console/policies',
    ]) {
      await page.goto(`${url}${path}`);
      expect(
        await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
      ).toBe(0);
    }
    await page.setViewportSize({ width: 1_280, height: 900 });
  });

  test('works without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${url}/console`);
    await plain.getByLabel('API key').fill(org.ownerKey);
    await plain.getByRole('button', { name: 'Sign in' }).click();
    expect(await plain.getByRole('heading', { level: 1 }).textContent()).toBe('Overview');
    await plain.getByRole('button', { name: 'Sign out' }).click();
    expect(new URL(plain.url()).pathname).toBe('/console/login');
    await context.close();
  });

  test('takes no form from another site, and leads to no other site', async () => {
    const signIn = await postForm(world, '/console/login', { key: org.ownerKey });
    const cookie = cookieOf(signIn);
    const foreign = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const refused = await postForm(world, '/console/theme', { theme: 'dark', back: '/console' }, foreign);
    expect(refused.status).toBe(403);
    expect(refused.headers['set-cookie']).toBeUndefined();
    const budget = { name: 'Forged', scope_kind: 'org', period: 'day', limit_usd: '1', enforcement: 'block' };
    expect((await postForm(world, '/console/limits/budgets/new', budget, foreign)).status).toBe(403);
    expect((await api('GET', '/budgets')).json.data).toEqual([]);
    for (const back of ['https://evil.example/console', '//evil.example', '/console/..//evil.example']) {
      const led = await postForm(world, '/console/theme', { theme: 'dark', back }, { cookie });
      expect(String(led.headers.location)).toMatch(/^\/console/);
    }
  });

  test('shows what a visitor may see, and says what is missing for the rest', async () => {
    const { secret } = await world.mintKey(org, 'viewer', ['runs:read']);
    const limited = await signedIn(secret);
    expect(await limited.page.getByText('lacks the scope').count()).toBeGreaterThan(0);
    expect(await limited.page.getByRole('heading', { name: 'Recent refusals' }).isVisible()).toBe(true);
    await limited.page.context().close();
  });

  test('tells who is here for support, why and until when, and records every look', async () => {
    const operator = { key: world.operatorKey };
    const grant = await world.request('POST', '/v1/admin/support/grants', {
      ...operator,
      body: {
        org_id: org.id,
        scope: ['org:read', 'runs:read'],
        reason: 'Ticket <4711>',
        expires_at: new Date(world.clock.now().getTime() + 3_600_000).toISOString(),
      },
    });
    const opened = await world.request(
      'POST',
      `/v1/admin/support/grants/${grant.json.id}/sessions`,
      operator,
    );
    const context = await browser.newContext();
    const support = await context.newPage();
    const heard = watched(support, url);
    await support.goto(`${url}/console/support`);
    await support.getByLabel('Token of a support session').fill('svc_support_nothing');
    await support.getByRole('button', { name: 'Enter' }).click();
    expect(await support.getByRole('alert').textContent()).toBe('There is no such support session.');
    if (engine === 'embedded') {
      await expectAccessible(support);
    }
    await support.getByLabel('Token of a support session').fill(opened.json.token);
    await support.getByRole('button', { name: 'Enter' }).click();
    await support.waitForURL(`${url}/console`);
    const banner = support.getByRole('complementary', { name: 'Support access' });
    expect(await banner.textContent()).toMatch(
      /Operator key_\w+ .*“Ticket <4711>”, until 15 Nov 2026, 13:00/,
    );
    if (engine === 'embedded') {
      await expectAccessible(support);
    }
    // What the grant does not cover is refused, in the console as elsewhere.
    expect((await support.goto(`${url}/console/keys`))?.status()).toBe(403);
    const seen = (await api('GET', '/support-access?limit=200')).json.data;
    const looks = seen.map(({ operation, outcome }: Record<string, string>) => `${operation} ${outcome}`);
    expect(looks).toEqual(
      expect.arrayContaining(['org.read allowed', 'refusals.list allowed', 'keys.list denied']),
    );
    // Revoked, it is over with the next page.
    await world.request('DELETE', `/v1/admin/support/grants/${grant.json.id}`, operator);
    expect((await support.goto(`${url}/console`))?.status()).toBe(401);
    await support.goto(`${url}/console`);
    expect(new URL(support.url()).pathname).toBe('/console/login');
    expect(heard).toEqual([]);
    await context.close();
  });

  test('shows nobody else’s', async () => {
    const other = await world.createOrg('Contoso');
    const theirs = await signedIn(other.ownerKey);
    expect(await theirs.page.textContent('main')).not.toContain('Daily spend cap:');
    await theirs.page.goto(`${url}/console/refusals`);
    expect(await theirs.page.getByText('Nothing was refused').isVisible()).toBe(true);
    const [pack] = (await api('GET', '/credit-packs')).json.data;
    const [run] = (await api('GET', '/v1/runs')).json.data;
    for (const path of [`/console/limits/credits/${pack.id}`, `/console/runs/${run.id}`]) {
      expect((await theirs.page.goto(`${url}${path}`))?.status()).toBe(404);
    }
    const { headers } = await postForm(world, '/console/login', { key: other.ownerKey });
    const cookie = cookieOf({ headers });
    const voided = await postForm(world, `/console/limits/credits/${pack.id}/void`, {}, { cookie });
    expect(voided.status).toBe(404);
    expect((await api('GET', `/credit-packs/${pack.id}`)).json.status).toBe('live');
    await theirs.page.context().close();
  });
});
