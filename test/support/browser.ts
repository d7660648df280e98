/** A real browser on the machine, and what every page has to hold to when it is shown in one. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** The headless build first: it starts and draws with about half the CPU time. */
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Undefined: this machine has none. Where everything is required, that is a failure. */
export function findBrowser(): string | undefined {
  const found = places.find((place) => existsSync(place));
  if (found === undefined && process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error('Chromium was not found on this machine, and PURSER_TEST_REQUIRE_ALL is set');
  }
  return found;
}

export function openBrowser(executablePath: string): Promise<Browser> {
  // The sandbox needs rights that test machines, and root, do not have. They have no graphics processor either: a process that
  // stands in for one takes a fifth of the browser's time, and nobody looks at what it draws.
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--in-process-gpu', '--disable-software-rasterizer'],
  });
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

/** What a page is made of: each element by what it is, where it stands and what it says of itself. */
const partsOfPage = `[...new Set([...document.querySelectorAll('body *')].map((one) => {
  const name = (element) => element.tagName + ' ' + element.getAttribute('class');
  const attributes = [...one.attributes].map((each) => each.name).sort().join(',');
  return [name(one), name(one.parentElement), one.getAttribute('role'), attributes, one.labels?.length].join(' / ');
}))]`;
const partsSeen = new Set<string>();

/**
 * No fault that keeps somebody out, in light and in dark, and nothing that a small screen would have to be pushed about for.
 * A page that is made of parts alone that were looked at already is not examined again: that takes most of a walk's time.
 */
export async function expectGood(page: Page): Promise<void> {
  const parts = await page.evaluate<string[]>(partsOfPage);
  if (parts.some((part) => !partsSeen.has(part))) {
    await page.evaluate(axeSource);
    await expectNoFaults(page, 'light', []);
    // Nothing but the colors is different in the dark.
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectNoFaults(page, 'dark', ['color-contrast']);
    await page.emulateMedia({ colorScheme: null });
    for (const part of parts) {
      partsSeen.add(part);
    }
  }
  const ids = await page.evaluate<string[]>("[...document.querySelectorAll('[id]')].map((one) => one.id)");
  expect(ids).toEqual([...new Set(ids)]);
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const beyond = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect(beyond, `${page.url()} is wider than a small screen`).toBe(0);
  await page.setViewportSize(wide ?? { width: 1_280, height: 900 });
}

async function expectNoFaults(page: Page, colors: string, only: readonly string[]): Promise<void> {
  const options = { preload: false, resultTypes: ['violations'], ...(only.length > 0 && { runOnly: only }) };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  expect(serious, `${page.url()} in ${colors}`).toEqual([]);
}
