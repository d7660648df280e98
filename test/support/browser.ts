/** A real browser on the machine, and what every page has to hold to when it is shown in one. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Undefined: this machine has none. Where everything is required, that is a failure. */
export function findBrowser(): string | undefined {
  const found = places.find((place) => existsSync(place));
  if (found === undefined && process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error('Chromium was not found on this machine, and PURSER_TEST_REQUIRE_ALL is set');
  }
  return found;
}

export function openBrowser(executablePath: string): Promise<Browser> {
  // The sandbox needs rights that test machines, and root, do not have.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Notes what a page must never do: ask another host, break its content policy, throw. */
export function watched(page: Page, ownUrl: string): string[] {
  const faults: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(ownUrl)) {
      faults.push(`asked ${request.url()}`);
    }
  });
  page.on('pageerror', (error) => void faults.push(`threw ${error.message}`));
  page.on('console', (message) => {
    // A page that refuses is answered with its status, which browsers write down as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(`said ${message.text()}`);
    }
  });
  return faults;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** No fault that keeps somebody out, in light and in dark. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axeSource);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Nothing but the colors is different in the dark.
    const options = colorScheme === 'light' ? '{}' : '{ runOnly: ["color-contrast"] }';
    const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
    const serious = violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
    expect(serious, `${page.url()} in ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
}
