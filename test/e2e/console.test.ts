/** The tasks of an organization in a real browser. `console-pages.test.ts` opens every page. */
import { describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { walkThrough } from '../support/console-walk.ts';
import { startReceiver } from '../support/webhook-receiver.ts';
import { controlWebhooks } from '../support/webhooks.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('the console', () => {
  const walk = walkThrough(executable, { SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });

  test('shows first steps and empty states in a new organization', async () => {
    const { page, look } = await walk.owner();
    await look('/console', 'Overview');
    expect(await page.getByRole('heading', { name: 'Get started' }).isVisible()).toBe(true);
    await look('/console/refusals', 'Blocked requests');
    expect(await page.getByText('No blocked requests').isVisible()).toBe(true);
    await look('/console/no-such-page', 'Page not found', 404);
  });

  test('shows a recent denial with its reason', async () => {
    const { page, look, api } = await walk.owner();
    await api('PUT', '/spend-cap', { cap_usd: '5' });
    await api('POST', '/v1/runs', { model: 'small', cost_usd: '2', workflow: 'triage', customer_id: 'acme' });
    expect((await api('POST', '/v1/runs', { model: 'large', cost_usd: '9' })).status).toBe(402);
    await walk.world.runJob('record-refusals');
    await look('/console', 'Overview');
    const refused = page.getByRole('row', { name: /Daily spend cap/ });
    expect(await refused.textContent()).toContain('Needs $9.00; $3.00 of $5.00 remaining');
    const bars = page.getByRole('img', { name: /Daily spend cap: \$2\.00 spent/ });
    expect(await bars.count()).toBeGreaterThan(0);
    const models = page.getByRole('table', { name: 'Top models' });
    expect(await models.getByRole('row', { name: 'small 1 $2.00 100%' }).isVisible()).toBe(true);
  });

  test('filters runs, adjusts a cost, and shows a run with its chain', async () => {
    const { page, look, press, api } = await walk.owner();
    const run = async (body: object) => (await api('POST', '/v1/runs', body)).json.id as string;
    const chain = { workflow: 'research', chain_id: 'chain-7', cost_usd: '0.25' };
    await run({ model: 'other', cost_usd: '1' });
    const plan = await run({ ...chain, model: 'planner', action: 'plan' });
    const search = await run({ ...chain, model: 'searcher', action: 'search', parent_run_id: plan });
    await run({ ...chain, model: 'reader', action: 'read <b>', parent_run_id: search });
    await look('/console/runs', 'Runs');
    await page.getByLabel('Workflow').selectOption('research');
    await page.waitForURL(/workflow=research/);
    expect(await page.getByRole('row').count()).toBe(1 + 3);
    await look(`/console/runs/${plan}`, 'planner run');
    await page.getByRole('link', { name: 'Adjust cost' }).click();
    await page.getByLabel('Adjustment').fill('-0.05');
    await page.getByLabel('Reason').fill('A rebate');
    await expectGood(page);
    await press('Save adjustment');
    await page.waitForURL(/done=corrected/);
    expect((await api('GET', `/v1/runs/${plan}`)).json.adjustment_usd).toBe('-0.05');
    await look(`/console/runs/${search}`, 'searcher run');
    expect(await page.locator('.tree [aria-current]').textContent()).toContain('search');
    // The child run is shown inside the branch of its parent.
    expect(await page.locator('.tree ul ul').textContent()).toContain('read <b>');
    expect(await page.getByText('3 runs, $0.70 total, depth 3').isVisible()).toBe(true);
    await look('/console/runs?tag=none', 'Runs', 422);
    await look('/console/runs/run_none', 'Page not found', 404);
  });

  test('fits names of one very long word, also on small screens', async () => {
    const long = 'x'.repeat(120);
    const { look, api } = await walk.owner(long);
    const run = { model: long, workflow: long, customer_id: long, chain_id: long, tags: { team: long } };
    const { id } = (await api('POST', '/v1/runs', { ...run, cost_usd: '1' })).json;
    await api('POST', '/budgets', { name: long, scope_kind: 'org', period: 'month', limit_usd: '5' });
    const rule = { effect: 'require_approval', actions: [long], priority: 1, reason: long };
    await api('POST', '/policies', rule);
    await api('POST', '/v1/runs', { model: long, action: long, cost_usd: '1' });
    await look('/console', 'Overview');
    await look(`/console/runs/${id}`, ' run');
    await look('/console/approvals', 'Approvals');
    await look('/console/forecasts', 'Forecasts');
  });

  test('creates a budget with field errors beside the fields, changes and deletes it', async () => {
    const { page, look, press, confirm, arrived, api } = await walk.owner();
    await api('POST', '/v1/runs', { model: 'm', workflow: 'research', cost_usd: '0.75' });
    await look('/console/limits/budgets/new', 'Create budget');
    await page.getByLabel('Name', { exact: true }).fill('Research');
    await page.getByLabel('Applies to').selectOption('workflow');
    await page.getByLabel('Limit').fill('much');
    await press('Create budget');
    const limit = page.getByLabel('Limit');
    expect(await limit.getAttribute('aria-invalid')).toBe('true');
    expect(await limit.inputValue()).toBe('much');
    expect(await page.locator('#field-limit_usd-fault').textContent()).toContain('such as 2.50');
    await expectGood(page);
    await limit.fill('$1,250.50');
    await page.getByLabel('Value').fill('research');
    await press('Create budget');
    await arrived('budget_created');
    expect(await page.getByRole('status').textContent()).toBe('Budget created.');
    const [made] = (await api('GET', '/budgets')).json.data;
    expect(made).toMatchObject({ name: 'Research', limit_usd: '1250.5', scope_id: 'research' });
    await look('/console/limits', 'Limits');
    const bar = page.getByRole('img', {
      name: 'Research: $0.75 spent, $0.00 reserved, $1,249.75 of $1,250.50 remaining',
    });
    expect(await bar.isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Research', exact: true }).click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Limit').fill('2000');
    await press('Save');
    await arrived('saved');
    expect((await api('GET', `/budgets/${made.id}`)).json.limit_usd).toBe('2000');
    await look(`/console/limits/budgets/${made.id}`, 'Budget');
    await page.locator('summary', { hasText: 'Delete budget' }).click();
    await page.getByRole('link', { name: 'Cancel' }).last().click();
    expect(await page.locator('.confirm[open]').count()).toBe(0);
    await confirm('Delete budget');
    await arrived('deleted');
    expect((await api('GET', '/budgets')).json.data).toEqual([]);
  });

  test('creates credit packs and voids holds', async () => {
    const { page, look, press, confirm, arrived, api } = await walk.owner();
    for (const [path, title] of [
      ['/console/limits/spend-cap', 'Daily spend cap'],
      ['/console/limits/chain', 'Chain limit'],
      ['/console/limits/customers/new', 'Create customer limit'],
      ['/console/limits/credits/new', 'Create credit pack'],
    ] as const) {
      await look(path, title);
    }
    await page.getByLabel('Customer').fill('globex');
    await page.getByLabel('Amount').fill('20');
    await page.getByLabel('Expires').fill('2026-12-24T18:00');
    await press('Create credit pack');
    await page.waitForURL(/kind=credits&done=pack_created/);
    const [pack] = (await api('GET', '/credit-packs')).json.data;
    expect(pack).toMatchObject({ amount_usd: '20', expires_at: '2026-12-24T18:00:00.000Z' });
    await look(`/console/limits/credits/${pack.id}`, 'Credit pack');
    expect(await page.getByLabel('Expires').inputValue()).toBe('2026-12-24T18:00');
    await api('POST', '/v1/edge/decision', { model: 'held-one', estimated_cost_usd: '0.5' });
    await look('/console/limits/holds', 'Open reservations');
    await confirm('Void');
    await arrived('voided');
    expect((await api('GET', '/holds')).json.data).toEqual([]);
  });

  test('shows spend, limits and credits of customers, and erases one', async () => {
    const { page, look, press, api } = await walk.owner();
    const name = 'acme & sons/north';
    await api('POST', '/customer-limits', { customer_id: name, period: 'month', limit_usd: '10' });
    await api('POST', '/credit-packs', { customer_id: name, amount_usd: '20' });
    await api('POST', '/v1/runs', { model: 'small', cost_usd: '2', customer_id: name });
    await look('/console/customers', 'Customers');
    const row = page.getByRole('row', { name: /acme & sons\/north .*\$18\.00/ });
    expect(await row.getByRole('img', { name: /remaining/ }).getAttribute('aria-label')).toContain(
      '$8.00 of $10.00 remaining',
    );
    await row.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    expect(await page.getByRole('table', { name: 'Limits' }).getByRole('row').count()).toBe(1 + 2);
    await expectGood(page);
    await page.getByRole('link', { name: 'Erase customer' }).click();
    await page.getByLabel('to confirm').fill('acme');
    await press(`Erase customer “${name}”`);
    expect(await page.locator('#field-typed_name-fault').textContent()).toBe(`Must be “${name}”.`);
    await expectGood(page);
    await page.getByLabel('to confirm').fill(name);
    await press(`Erase customer “${name}”`);
    await page.waitForURL(/customers\/erased\?done=erasing/);
    expect(await page.getByRole('row', { name: /erased|erasing/ }).count()).toBe(1);
    await look('/console/customers', 'Customers');
    expect(await page.getByText('acme').count()).toBe(0);
    await look('/console/customers/of/nobody', 'Page not found', 404);
  });

  test('the console reconciles the ledger', async () => {
    const { page, look, press, api } = await walk.owner();
    await api('PUT', '/spend-cap', { cap_usd: '5' });
    await api('POST', '/v1/runs', { model: 'small', cost_usd: '2' });
    await look('/console/limits', 'Limits');
    await press('Reconcile');
    expect(await page.getByText('Balanced').isVisible()).toBe(true);
    expect(await page.getByRole('row', { name: 'Cost $2.00 $2.00 $2.00 –' }).isVisible()).toBe(true);
    await expectGood(page);
  });

  test('creates an API key that is shown once, rotates it and revokes it', async () => {
    const { page, look, press, confirm, arrived } = await walk.owner();
    const { world } = walk;
    const works = async (key: string) => (await world.request('GET', '/v1/runs', { key })).status;
    await look('/console/keys/new', 'Create API key');
    await page.getByLabel('Name').fill('Gateway');
    await page.getByLabel('edge:decide').check();
    await page.getByLabel('runs:read').check();
    await press('Create API key');
    const secret = (await page.locator('#secret').textContent()) ?? '';
    expect(await works(secret)).toBe(200);
    await expectGood(page);
    await walk.world.runJob('record-key-uses');
    await look('/console/keys', 'API keys');
    const row = page.getByRole('row', { name: /Gateway/ });
    expect(await row.textContent()).toContain('just now');
    expect(await page.content()).not.toContain(secret);
    world.clock.advanceSeconds(1);
    await row.getByRole('link', { name: 'Rotate' }).click();
    await page.getByLabel('Keep the old key working for').selectOption('3600');
    await expectGood(page);
    await press('Rotate');
    const successor = (await page.locator('#secret').textContent()) ?? '';
    await page.getByRole('link', { name: 'All API keys' }).click();
    // The newest key is first.
    await confirm('Revoke');
    await arrived('key_revoked');
    expect([await works(successor), await works(secret)]).toEqual([410, 200]);
  });

  test('sets and changes the attribution of an API key', async () => {
    const { page, look, press, arrived } = await walk.owner();
    const field = (name: string) => page.locator(`[name="attribution.${name}"]`);
    const lock = (name: string) => page.getByRole('group', { name: 'Locked' }).getByLabel(name);
    await look('/console/keys/new', 'Create API key');
    await page.getByLabel('Name').fill('Search bot');
    await page.getByLabel('runs:write').check();
    await field('team').fill('search');
    await field('tags').fill('env');
    await lock('Customer').check();
    await press('Create API key');
    expect(await page.getByText('Use name=value on each line.').isVisible()).toBe(true);
    await field('tags').fill('env=live\napp = a=b');
    await press('Create API key');
    expect(await page.getByText('Without a value in `attribution`: customer_id.').isVisible()).toBe(true);
    await expectGood(page);
    await field('customer_id').fill('acme');
    await press('Create API key');
    const secret = (await page.locator('#secret').textContent()) ?? '';
    expect(await page.getByText('acme').isVisible()).toBe(true);

    await look('/console/keys?team=search', 'API keys');
    await page.getByRole('link', { name: 'Search bot', exact: true }).click();
    await expectGood(page);
    expect(await page.getByText('app=a=b').isVisible()).toBe(true);
    expect(await page.getByText('Locked', { exact: true }).count()).toBe(1);
    await page.getByRole('link', { name: 'Edit' }).click();
    expect([await field('customer_id').inputValue(), await field('tags').inputValue()]).toEqual([
      'acme',
      'app=a=b\nenv=live',
    ]);
    await expectGood(page);
    await field('customer_id').fill('');
    await field('team').fill('ads');
    await lock('Customer').uncheck();
    await lock('Team').check();
    await press('Save');
    await arrived('saved');
    const run = (body: object) =>
      walk.world.request('POST', '/v1/runs', {
        key: secret,
        body: { model: 'm', cost_usd: '0.01', ...body },
      });
    expect((await run({})).json).toMatchObject({ team: 'ads', customer_id: null, tags: { env: 'live' } });
    expect((await run({ team: 'search' })).status).toBe(403);
  });

  test('creates a webhook with its signing secret, shows a payload, and redelivers an event', async () => {
    const { page, look, press, arrived, api } = await walk.owner();
    const receiver = await startReceiver();
    const webhooks = controlWebhooks(walk.world);
    await look('/console/webhooks', 'Webhooks');
    await page.getByRole('link', { name: 'Create webhook' }).first().click();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.locator('.option-group > summary', { hasText: /^Webhook/ }).click();
    await page.getByLabel('All webhook events').check();
    await page.locator('.option-group > summary', { hasText: /^Budget/ }).click();
    await page.getByLabel('budget.created').check();
    await page.getByText('Example of budget.created').click();
    await expectGood(page);
    await press('Create webhook');
    expect(await page.locator('#secret').textContent()).toMatch(/^whsec_\S{20,}$/);
    await page.getByRole('link', { name: 'Open webhook' }).click();
    const [made] = (await api('GET', '/webhooks')).json.data;
    expect(made).toMatchObject({ events: ['budget.created', 'webhook.*'], event_version: 2 });
    await press('Send test event');
    await arrived('test_sent');
    await webhooks.deliver();
    const here = new URL(page.url()).pathname;
    await look(here, 'Webhook');
    await page.getByRole('link', { name: 'webhook.test' }).click();
    expect(await page.locator('pre').textContent()).toContain('"message": "This is a test."');
    await expectGood(page);
    await look(`${here}?from=2026-11-01T00%3A00&to=2026-11-02T00%3A00`, 'Webhook');
    expect(await page.getByText('No matches').isVisible()).toBe(true);
    await look(`${here}?from=2026-11-01T00%3A00`, 'Webhook');
    await page
      .getByRole('row', { name: /webhook\.test .*Delivered/ })
      .getByRole('button', { name: 'Redeliver' })
      .click();
    await arrived('redelivered');
    await webhooks.deliver();
    const tests = receiver.received.filter(({ event }) => event.type === 'webhook.test');
    expect(tests.map(({ event }) => event.id)).toEqual([tests[0]?.event.id, tests[0]?.event.id]);
    await look(`${here}/edit`, 'Edit webhook');
    expect(await page.getByLabel('All webhook events').isChecked()).toBe(true);
    expect(await page.getByLabel('budget.created').isChecked()).toBe(true);
    await webhooks.stop();
    await receiver.close();
  });

  test('redelivers a time range, and refreshes the page until it is done', async () => {
    const { page, look, press, api } = await walk.owner();
    const receiver = await startReceiver();
    const { id } = (await api('POST', '/webhooks', { url: receiver.url, events: ['webhook.test'] })).json;
    await api('POST', `/webhooks/${id}/test`);
    const before = controlWebhooks(walk.world);
    await before.deliver();
    // A running dispatcher would send the queued delivery before the page shows it.
    await before.stop();
    walk.world.clock.advanceSeconds(1);
    await look(`/console/webhooks/${id}/redeliver`, 'Redeliver');
    await page.getByLabel('Status').selectOption('delivered');
    await press('Redeliver');
    await page.waitForURL(/state=waiting&redelivering=1$/);
    expect(await page.getByRole('row', { name: /webhook\.test/ }).count()).toBe(1);
    expect(await page.getByText('1 delivery queued again').isVisible()).toBe(true);
    expect(await page.getByText('Refreshing automatically').isVisible()).toBe(true);
    await expectGood(page);
    const webhooks = controlWebhooks(walk.world);
    await webhooks.deliver();
    // The page refreshes itself.
    await page.getByText('Refreshing automatically').waitFor({ state: 'detached' });
    await page.getByText('No matches').waitFor();
    expect(receiver.received).toHaveLength(2);
    await webhooks.stop();
    await receiver.close();
  });

  test('tests a rule on past runs before creating it, and shows errors of its condition', async () => {
    const { page, look, press, arrived, api } = await walk.owner();
    await api('POST', '/v1/runs', { model: 'planner', action: 'plan', cost_usd: '0.25' });
    await look('/console/policies', 'Policies');
    await look('/console/policies/new', 'Create rule');
    await page.getByLabel('Effect').selectOption('require_approval');
    await page.getByLabel('Actions').fill('delete_*');
    await page.getByLabel('Condition').fill('cost_usd >');
    await page.getByLabel('Reason').fill('Two pairs of eyes.');
    await press('Test on past runs');
    expect(await page.locator('#field-expression-fault').textContent()).not.toBe('');
    await page.getByLabel('Condition').fill('');
    await page.getByLabel('Actions').fill('plan');
    await press('Test on past runs');
    const changed = page.getByRole('row', { name: /planner plan Allow Require approval/i });
    expect(await changed.isVisible()).toBe(true);
    await expectGood(page);
    expect((await api('GET', '/policies')).json.data).toEqual([]);
    await page.getByLabel('Actions').fill('delete_*');
    await press('Create rule');
    await arrived('rule_created');
    await look('/console/policies/try', 'Test request');
    await page.getByLabel('Model').fill('m');
    await page.getByLabel('Action').fill('delete_all');
    await press('Test');
    expect(await page.getByRole('heading', { name: 'Result' }).isVisible()).toBe(true);
    expect(await page.getByText('Two pairs of eyes.').isVisible()).toBe(true);
    await expectGood(page);
  });

  test('approves a request once, after which one run passes', async () => {
    const { page, look, press, arrived, api, org } = await walk.owner();
    const rule = { effect: 'require_approval', actions: ['delete_*'], reason: 'Two pairs of eyes.' };
    await api('POST', '/policies', { ...rule, priority: 10 });
    const { secret: key } = await walk.world.mintKey(org, 'member', ['runs:write']);
    const body = { model: 'm', action: 'delete_all', cost_usd: '0.1' };
    const run = async () => (await walk.world.request('POST', '/v1/runs', { key, body })).status;
    expect(await run()).toBe(403);
    await look('/console/approvals', 'Approvals');
    await page.getByLabel('Reason').fill('Fine this time');
    await press('Approve');
    await arrived('approved');
    expect([await run(), await run()]).toEqual([201, 403]);
    await look('/console/approvals?state=used', 'Approvals');
    expect(await page.getByText('Fine this time').isVisible()).toBe(true);
  });

  test('enables a detector, and tests it', async () => {
    const { page, look, press, arrived, api } = await walk.owner();
    await look('/console/safety', 'Safety');
    await page.getByRole('link', { name: 'email' }).click();
    await page.getByLabel('Action on match').selectOption('block');
    await page.getByRole('checkbox', { name: 'Enabled' }).check();
    await expectGood(page);
    await press('Save');
    await arrived('saved');
    const { json } = await api('GET', '/safety-detectors/email');
    expect(json).toMatchObject({ enabled: true, action: 'block' });
    await look('/console/safety/try', 'Test detectors');
    await page.getByLabel('Content').fill('write to jo@example.com');
    await press('Test');
    expect(await page.getByRole('row', { name: /email yes block/ }).isVisible()).toBe(true);
    await look('/console/safety/new', 'Create detector');
  });

  test('charts cost and score of models, and tests which one is chosen', async () => {
    const { page, look, press, arrived, api } = await walk.owner();
    const { world } = walk;
    await look('/console/routing', 'Routing');
    const price = { input_usd_per_million: '1', output_usd_per_million: '2' };
    await world.request('PUT', '/v1/admin/models/route-a', { key: world.operatorKey, body: price });
    await world.request('PUT', '/v1/admin/models/route-b', { key: world.operatorKey, body: price });
    await api('POST', '/evals', { suite: 'support', model: 'route-b', score: 0.62, samples: 200 });
    await look('/console/routing/evals/new', /result/i);
    await page.getByLabel('Suite').fill('support');
    await page.getByLabel('Model').fill('route-a');
    await page.getByLabel('Score').fill('0.91');
    await page.getByLabel('Samples').fill('200');
    await press('Save result');
    await arrived('saved');
    await look('/console/routing/policy', 'Routing policy');
    await page.getByLabel('Candidates').fill('route-*');
    await page.getByLabel('Eval suite').fill('support');
    await page.getByLabel('Minimum score').fill('0.8');
    await press('Save');
    await arrived('saved');
    await look('/console/routing', 'Routing');
    expect(await page.locator('desc').textContent()).toBe(
      '1 of 2 models reach the minimum score; the cheapest is route-a.',
    );
    await look('/console/routing/try', 'Test routing');
    await press('Test');
    expect(await page.getByRole('heading', { name: 'route-a' }).isVisible()).toBe(true);
    expect(await page.getByRole('row', { name: /route-b Score too low/ }).isVisible()).toBe(true);
  });

  test('creates and changes a forecast scenario, and keeps parts without a form field', async () => {
    const { page, look, press, arrived, api } = await walk.owner();
    await look('/console/forecasts', 'Forecasts');
    await look('/console/forecasts/scenarios/new', 'Create scenario');
    await page.getByLabel('Name', { exact: true }).fill('Growth');
    await page.getByLabel('Monthly growth').fill('20');
    for (const [line, [from, to, percent]] of [
      ['large', 'small', '300'],
      ['old', 'new', '100'],
    ].entries()) {
      await page
        .getByLabel('From model')
        .nth(line)
        .fill(from ?? '');
      await page
        .getByLabel('To model')
        .nth(line)
        .fill(to ?? '');
      await page
        .getByRole('group', { name: 'Shift traffic' })
        .getByLabel('Percent')
        .nth(line)
        .fill(percent ?? '');
    }
    await page.getByLabel('Deployment name').fill('support-bot');
    await page.getByLabel('Cost per day').fill('15');
    await press('Create scenario');
    expect(await page.locator('#field-model_mix-0-percent-fault').isVisible()).toBe(true);
    await expectGood(page);
    await page.locator('#field-model_mix-0-percent').fill('30');
    await press('Create scenario');
    await arrived('saved');
    const [made] = (await api('GET', '/capacity-scenarios')).json.data;
    const seasonality = { weekday_percents: [100, 100, 100, 100, 100, 50, 50] };
    const changes = {
      growth_percent_per_month: 20,
      model_mix: [
        { from_model: 'large', to_model: 'small', percent: 30 },
        { from_model: 'old', to_model: 'new', percent: 100 },
      ],
      new_deployment: { name: 'support-bot', daily_cost_usd: '15' },
    };
    expect(made.changes).toEqual(changes);
    await api('PATCH', `/capacity-scenarios/${made.id}`, { changes: { ...changes, seasonality } });
    await page.getByRole('link', { name: 'Growth' }).click();
    await page.getByLabel('Monthly growth').fill('30');
    await page.getByRole('group', { name: 'Price changes' }).getByLabel('Model').first().fill('large');
    await page.getByRole('group', { name: 'Price changes' }).getByLabel('Percent').first().fill('-20');
    await press('Save');
    await arrived('saved');
    // Changes without a form field are kept.
    expect((await api('GET', `/capacity-scenarios/${made.id}`)).json.changes).toEqual({
      ...changes,
      growth_percent_per_month: 30,
      price_changes: [{ model: 'large', percent: -20 }],
      seasonality,
    });
  });

  test('searches, verifies and exports the audit log', async () => {
    const { page, look, press, api } = await walk.owner();
    await api('PUT', '/spend-cap', { cap_usd: '5' });
    await look('/console/audit', 'Audit log');
    await page.getByLabel('Action', { exact: true }).fill('spend_cap.put');
    await press('Apply');
    await page.waitForURL(/action=spend_cap/);
    expect(await page.getByRole('row', { name: /spend_cap\.put/ }).count()).toBe(1);
    await press('Verify log');
    expect(await page.getByText('Log intact').isVisible()).toBe(true);
    await expectGood(page);
    await page.goto(`${walk.url}/console/audit`);
    await page.locator('summary', { hasText: 'Export' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), press('Export')]);
    expect(file.suggestedFilename()).toBe('audit-log.ndjson');
  });

  test('shows the permitted parts of a page, and the missing scope for the others', async () => {
    const org = await walk.world.createOrg();
    const { secret } = await walk.world.mintKey(org, 'viewer', ['runs:read']);
    const { page, look } = await walk.visitor(secret);
    await look('/console', 'Overview');
    expect(await page.getByText('Requires budgets:read').count()).toBeGreaterThan(0);
    expect(await page.getByRole('heading', { name: 'Recently blocked' }).isVisible()).toBe(true);
  });

  test('shows who has support access, why and until when, and records every page view', async () => {
    const { world, url } = walk;
    const { org, api } = await walk.owner();
    const asOperator = (method: string, path: string, body?: object) =>
      world.request(method, `/v1/admin/support/grants${path}`, {
        key: world.operatorKey,
        ...(body && { body }),
      });
    const grant = await asOperator('POST', '', {
      org_id: org.id,
      scope: ['org:read', 'runs:read'],
      reason: 'Ticket <4711>',
      expires_at: new Date(world.clock.now().getTime() + 3_600_000).toISOString(),
    });
    const opened = await asOperator('POST', `/${grant.json.id}/sessions`);
    const page = await walk.stranger();
    await page.goto(`${url}/console/support`);
    await page.getByLabel('Token of a support session').fill('svc_support_nothing');
    await page.getByRole('button', { name: 'Enter' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('Support session not found.');
    await expectGood(page);
    await page.getByLabel('Token of a support session').fill(opened.json.token);
    await page.getByRole('button', { name: 'Enter' }).click();
    await page.waitForURL(`${url}/console`);
    const banner = page.getByRole('complementary', { name: 'Support access' });
    expect(await banner.innerText()).toMatch(
      /Operator key_\w+ has access until 15 Nov 2026, 13:00: “Ticket <4711>”/,
    );
    await expectGood(page);
    // The grant is enforced in the console as in the API.
    expect((await page.goto(`${url}/console/keys`))?.status()).toBe(403);
    const seen = (await api('GET', '/support-access?limit=200')).json.data;
    const looks = seen.map(({ operation, outcome }: Record<string, string>) => `${operation} ${outcome}`);
    expect(looks).toEqual(
      expect.arrayContaining(['usage.read allowed', 'refusals.list allowed', 'keys.list denied']),
    );
    // Revocation ends the session at the next page.
    await asOperator('DELETE', `/${grant.json.id}`);
    expect((await page.goto(`${url}/console`))?.status()).toBe(401);
    await page.goto(`${url}/console`);
    expect(new URL(page.url()).pathname).toBe('/console/login');
  });
});
