/** Somebody who is signed in to the console in a real browser, and what every page has to hold to when they look at it. */
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { engine } from '../harness.ts';
import { expectAccessible, watched } from './browser.ts';

export interface Walker {
  readonly page: Page;
  /** What the pages did that they must not. */
  readonly faults: readonly string[];
  /** Opens a page, whatever its state, and holds it to what every page has to hold to. */
  look(path: string, title: string | RegExp, status?: number): Promise<void>;
  /** Presses a button that is folded away until it is asked for. */
  confirm(label: string): Promise<void>;
}

export async function walker(browser: Browser, url: string, key: string): Promise<Walker> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
  const page = await context.newPage();
  const faults = watched(page, url);
  await page.goto(`${url}/console`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(/\/console(\/orgs)?$/);
  return {
    page,
    faults,
    async look(path, title, status = 200) {
      const answer = await page.goto(`${url}${path}`);
      expect([path, answer?.status()]).toEqual([path, status]);
      const headers = answer?.headers() ?? {};
      expect(headers.deprecation).toBeUndefined();
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(title);
      // What a page looks like does not depend on the engine.
      if (engine === 'embedded') {
        await expectAccessible(page);
      }
    },
    async confirm(label) {
      await page.locator('summary', { hasText: label }).first().click();
      await page.locator('.ask[open]').getByRole('button', { name: label }).click();
    },
  };
}
