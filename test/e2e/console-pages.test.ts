/**
 * Every page of the console in a real browser: accessible, fits a small screen, loads nothing from other hosts. Also
 * signing in, the keyboard, and use without JavaScript. Whole tasks: `console.test.ts` and `console-insight.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { createFixtures, createPendingWork } from '../support/console-fixtures.ts';
import { followLinks, pageTemplates, type Side } from '../support/console-links.ts';
import { openAccountMenu, walkThrough } from '../support/console-walk.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';

const executable = findBrowser();

describe.skipIf(executable === undefined)('the pages of the console', () => {
  const walk = walkThrough(executable, {});

  test.each<Side>(['org', 'operator'])(
    'the pages of the %s side of the console are accessible and fit a small screen',
    async (side) => {
      const { world, url } = walk;
      const org = await world.createOrg('Northwind');
      await createFixtures(world, org);
      await createPendingWork(world, org);
      const { page } = await walk.visitor(side === 'org' ? org.ownerKey : world.operatorKey);
      const seen = await followLinks(side, async (path, template) => {
        if (template === '/console/audit/export') {
          // A file.
          return undefined;
        }
        const answer = await page.goto(`${url}${path}`);
        expect([path, answer?.status()]).toEqual([path, 200]);
        await expectGood(page);
        return page.content();
      });
      expect(pageTemplates(side).filter((template) => !seen.includes(template))).toEqual([]);
    },
  );

  test('redirects to the sign-in page, and back to the requested page afterwards', async () => {
    const { url, world } = walk;
    const org = await world.createOrg();
    const page = await walk.stranger();
    await page.goto(`${url}/console/refusals?code=rate_limited`);
    expect(new URL(page.url()).pathname).toBe('/console/login');
    await expectGood(page);
    await page.getByLabel('API key').fill(org.ownerKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${url}/console/refusals?code=rate_limited`);
  });

  test('the console works by keyboard, and keeps the chosen theme', async () => {
    const { page } = await walk.owner();
    await page.goto(`${walk.url}/console/refusals?code=rate_limited`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.waitForURL(`${walk.url}/console/refusals?code=rate_limited`);
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'System' }).click();
    await page.waitForLoadState();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('auto');
  });

  test('the console works without JavaScript', async () => {
    const org = await walk.world.createOrg();
    const page = await walk.stranger({ javaScriptEnabled: false });
    await page.goto(`${walk.url}/console`);
    await page.getByLabel('API key').fill(org.ownerKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Overview');
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(new URL(page.url()).pathname).toBe('/console/login');
  });

  test('shows progress and a lost connection without JavaScript', async () => {
    const { world, browser } = walk;
    const org = await world.createOrg();
    const proxy = await startCuttingProxy(walk.url);
    let goOn = () => {};
    world.fault = (point) =>
      point === 'progress' ? new Promise<void>((resolve) => (goOn = resolve)) : undefined;
    try {
      const page = await browser.newPage({ javaScriptEnabled: false });
      await page.goto(`${proxy.url}/console/login?return_to=/console/audit`);
      await page.getByLabel('API key').fill(org.ownerKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      const verify = page.getByRole('button', { name: 'Verify log' });
      const step = page.getByText(/\d+ of \d+ entries/);
      const connectionLost = page.getByText('The connection was lost');
      await verify.click({ noWaitAfter: true });
      await step.waitFor();
      expect(await page.getByText('Log intact').count()).toBe(0);
      goOn();
      await page.getByText('Log intact').waitFor();
      expect(await step.isVisible()).toBe(false);

      await page.goto(`${proxy.url}/console/audit`);
      await verify.click({ noWaitAfter: true });
      await step.waitFor();
      expect(await connectionLost.isVisible()).toBe(false);
      proxy.cut();
      // Skips the delay after which the stylesheet shows that the connection was lost.
      await page.evaluate('document.getAnimations().forEach((one) => one.finish())');
      await connectionLost.waitFor();
      expect(await step.isVisible()).toBe(true);
    } finally {
      goOn();
      world.fault = undefined;
      await proxy.close();
    }
  });
});
