/** The console in a real browser: every page is walked, what people do there is done, and what must not work does not. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, engine, type TestOrg, type World } from '../harness.ts';
import { expectAccessible, findBrowser, openBrowser, watched } from '../support/browser.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

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
    for (const path of ['/console', '/console/refusals']) {
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

  test('shows nobody else’s', async () => {
    const other = await world.createOrg('Contoso');
    const theirs = await signedIn(other.ownerKey);
    expect(await theirs.page.textContent('main')).not.toContain('Daily spend cap:');
    await theirs.page.goto(`${url}/console/refusals`);
    expect(await theirs.page.getByText('Nothing was refused').isVisible()).toBe(true);
    await theirs.page.context().close();
  });
});
