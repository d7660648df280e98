/** The gateway pages of the console in a real browser: a key is created without JavaScript and used at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { walkThrough } from '../support/console-walk.ts';
import { type MockProvider, startMockProvider } from '../support/mock-provider.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('the gateway pages', () => {
  const walk = walkThrough(executable, { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true' });
  let provider: MockProvider;
  beforeAll(async () => {
    provider = await startMockProvider();
  });
  afterAll(() => provider?.close());

  test('lead from a connection to a key, its first call and its spend', async () => {
    const { org, api, page, look } = await walk.owner();
    await walk.world.request('PUT', '/v1/admin/models/gpt-4o-mini', {
      key: walk.world.operatorKey,
      body: { provider: 'openai', input_usd_per_million: '100', output_usd_per_million: '100' },
    });
    const connection = { name: 'mock', kind: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-mock' };
    expect((await api('POST', '/connections', connection)).status).toBe(201);

    const plain = await walk.stranger({ javaScriptEnabled: false });
    await plain.goto(`${walk.url}/console/login?return_to=/console/gateway`);
    await plain.getByLabel('API key').fill(org.ownerKey);
    await plain.getByRole('button', { name: 'Sign in' }).click();
    await plain.getByRole('link', { name: 'Create gateway key' }).click();
    await plain.getByLabel('Name').fill('Laptop');
    await plain.getByLabel('Member').fill('amy');
    await plain.getByLabel('Budget per day').fill('5');
    await plain.getByRole('button', { name: 'Create key' }).click();
    expect(await plain.getByRole('heading', { level: 1 }).textContent()).toBe('Gateway key created');
    const secret = (await plain.locator('#secret').textContent()) ?? '';
    expect(await plain.getByRole('group', { name: 'Claude Code' }).textContent()).toContain(secret);
    expect(await plain.getByRole('button', { name: 'Copy curl' }).isVisible(), 'needs JavaScript').toBe(
      false,
    );

    let goOn: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : released);
    const response = await fetch(`${walk.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        stream: true,
        messages: [{ role: 'user', content: 'Say hello.' }],
      }),
    });
    expect(response.status).toBe(200);
    await look('/console/gateway/calls', 'Gateway');
    const row = page.getByRole('row', { name: /Laptop/ });
    expect(await row.textContent()).toMatch(/Streaming.*amy.*mock/s);
    // The page refreshes itself until the call has ended.
    goOn();
    await response.text();
    await page.getByText('No calls in progress').waitFor();

    await look('/console/gateway/developers', 'Gateway');
    expect(await page.getByRole('row', { name: /amy/ }).textContent()).toMatch(
      /\$0\.00\d+.*of \$5\.00 left/s,
    );
    await page.getByRole('link', { name: 'By API key' }).click();
    expect(await page.getByRole('row', { name: /Laptop/ }).count()).toBe(1);

    await page.goto(`${walk.url}/console/gateway/keys/new`);
    await page.getByLabel('Name').fill('With JavaScript');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Gateway key created').first().waitFor();
    expect(await page.getByRole('button', { name: 'Copy curl' }).isVisible()).toBe(true);
    await expectGood(page);

    await provider.close();
    await fetch(`${walk.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }),
    });
    await look('/console/gateway', 'Gateway');
    expect(await page.getByRole('row', { name: /mock/ }).textContent()).toContain('Could not be reached');
    await page.getByRole('link', { name: 'mock' }).click();
    expect(await page.getByText('Could not be reached').count()).toBe(1);
    await expectGood(page);
  });
});
