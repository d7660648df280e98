/** The documentation in a real browser: every page, on wide and narrow screens, in light and dark, with and without JavaScript. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/contract/errors.ts';
import { findBrowser } from '../support/browser.ts';
import { walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const screens = [
  { width: 1_440, height: 900 },
  { width: 390, height: 844 },
];
const schemes = ['light', 'dark'] as const;

describe.skipIf(executable === undefined)('the documentation', () => {
  const walk = walkThrough(executable, {});

  async function pagesOfSite(): Promise<string[]> {
    const { text } = await walk.world.request('GET', '/docs/llms.txt');
    return [...text.matchAll(/\(http:\/\/localhost(\/docs[^)]*)\.md\)/g)].map(([, path]) => path ?? '');
  }

  test('the documentation has no dead link or anchor', async () => {
    const page = await walk.stranger({ javaScriptEnabled: false });
    const paths = await pagesOfSite();
    expect(paths.length).toBeGreaterThan(90);
    const ids = new Map<string, Set<string>>();
    const links = new Map<string, string>();
    for (const path of paths) {
      expect([path, (await page.goto(`${walk.url}${path}`))?.status()]).toEqual([path, 200]);
      const found = await page.evaluate<{ ids: string[]; links: string[] }>(`({
        ids: [...document.querySelectorAll('[id]')].map((one) => one.id),
        links: [...document.querySelectorAll('a[href], img[src]')].map((one) => one.href ?? one.src),
      })`);
      expect(found.ids, path).toEqual([...new Set(found.ids)]);
      ids.set(path, new Set(found.ids));
      for (const link of found.links.filter((one) => one.startsWith(walk.url))) {
        links.set(link.slice(walk.url.length), path);
      }
    }
    const dead: string[] = [];
    const statuses = new Map<string, number>(paths.map((path) => [path, 200]));
    for (const [link, from] of links) {
      const [path = '', anchor] = link.split('#');
      if (!statuses.has(path)) {
        statuses.set(path, (await fetch(`${walk.url}${path}`)).status);
      }
      const target = path === '' ? from : path;
      if (
        statuses.get(path) !== 200 ||
        (anchor !== undefined && ids.get(target)?.has(decodeURIComponent(anchor)) !== true)
      ) {
        dead.push(`${from} links to ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  /** One page of each kind; the others are made of the same parts. */
  const kinds = [
    '/docs',
    '/docs/guides/limits',
    '/docs/guides/console',
    '/docs/operations/running',
    '/docs/errors',
    '/docs/events',
    '/docs/settings',
    '/docs/deprecations',
    '/docs/api',
    '/docs/api/runs',
    '/docs/search?q=budget',
    '/docs/search?q=xyzzyqwrtp',
  ];

  test.each(kinds)('%s is accessible on every screen', async (path) => {
    const page = await walk.stranger();
    for (const size of screens) {
      await page.setViewportSize(size);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        await page.goto(`${walk.url}${path}`);
        await page.evaluate(axeSource);
        const { violations } = await page.evaluate<AxeResults>(
          `axe.run(document, { preload: false, resultTypes: ['violations'] })`,
        );
        const found = violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
        );
        expect(found, `${path} at ${size.width} in ${colorScheme}`).toEqual([]);
      }
      const beyond = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(beyond, `${path} is wider than ${size.width}`).toBe(0);
    }
  });

  test('shows its pictures', async () => {
    const page = await walk.stranger();
    await page.goto(`${walk.url}/docs/guides/console`);
    const shown = await page.evaluate<number>(`Promise.all([...document.images].map((image) => {
      image.loading = 'eager';
      return image.decode();
    })).then((all) => all.length)`);
    expect(shown).toBeGreaterThan(0);
  });

  const firstResult = (page: Page) => page.locator('#results a').first().getAttribute('href');

  test('shows results while a reader types, and the page again when the field is empty', async () => {
    const page = await walk.stranger();
    await page.goto(`${walk.url}/docs/guides/limits`);
    await page.keyboard.press('/');
    await page.keyboard.type('budget_exceeded');
    await page.locator('#results').waitFor();
    await page.getByText('results for “budget_exceeded”').waitFor();
    expect(await firstResult(page)).toBe('/docs/errors#budget_exceeded');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: 'Limits' }).waitFor();
    expect(page.url()).toBe(`${walk.url}/docs/guides/limits`);
  });

  test('finds each error code without JavaScript, on a narrow screen', async () => {
    const page = await walk.stranger({ javaScriptEnabled: false });
    await page.setViewportSize(screens[1] ?? { width: 390, height: 844 });
    for (const code of errorCodes) {
      await page.goto(`${walk.url}/docs`);
      await page.getByRole('searchbox').fill(code);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.locator('#results a').first().click();
      expect(page.url()).toBe(`${walk.url}/docs/errors#${code}`);
    }
  });

  test('leads from an anchor of the former reference to the operation', async () => {
    const page = await walk.stranger();
    await page.goto(`${walk.url}/docs#budgets.create`);
    await page.waitForURL(`${walk.url}/docs/api/budgets#budgets.create`);
    const plain = await walk.stranger({ javaScriptEnabled: false });
    await plain.goto(`${walk.url}/docs#budgets.create`);
    await plain
      .locator('tr', { has: plain.locator('[id="budgets.create"]') })
      .getByRole('link')
      .click();
    expect(plain.url()).toBe(`${walk.url}/docs/api/budgets#budgets.create`);
  });

  test('answers an unknown address with a page', async () => {
    const page = await walk.stranger();
    const answer = await page.goto(`${walk.url}/docs/guides/nothing`);
    expect(answer?.status()).toBe(404);
    await page.locator('article').getByRole('link', { name: 'introduction' }).click();
    expect(page.url()).toBe(`${walk.url}/docs`);
  });
});
