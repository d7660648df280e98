/** A real browser on the machine, and the checks that every page must pass in it. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** The headless build comes first: it needs about half the CPU time to start and render. */
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Returns undefined if the machine has no browser. Throws instead if PURSER_TEST_REQUIRE_ALL is set. */
export function findBrowser(): string | undefined {
  const found = places.find((place) => existsSync(place));
  if (found === undefined && process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error('Chromium was not found on this machine, and PURSER_TEST_REQUIRE_ALL is set');
  }
  return found;
}

export function openBrowser(executablePath: string): Promise<Browser> {
  // The sandbox needs permissions that test machines and root do not have. Test machines have no GPU either: a separate
  // process that emulates one takes a fifth of the browser's CPU time, and its output is not used.
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--in-process-gpu', '--disable-software-rasterizer'],
  });
}

/** Records violations: requests to other hosts, violations of the content policy, and uncaught errors. */
export function watched(page: Page, ownUrl: string): string[] {
  const faults: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(ownUrl)) {
      faults.push(`asked ${request.url()}`);
    }
  });
  page.on('pageerror', (error) => void faults.push(`threw ${error.message}`));
  page.on('console', (message) => {
    // Browsers also log an error for a page with an error status, which is expected.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(`said ${message.text()}`);
    }
  });
  return faults;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Describes an element by its tag, class, parent, role and attribute names. */
const partOf = `(one) => {
  const name = (element) => element.tagName + ' ' + element.getAttribute('class');
  const attributes = [...one.attributes].map((each) => each.name).sort().join(',');
  return [name(one), name(one.parentElement), one.getAttribute('role'), attributes, one.labels?.length].join(' / ');
}`;
/** Lists the distinct elements of a page. */
const partsOfPage = `[...new Set([...document.querySelectorAll('body *')].map(${partOf}))]`;
const partsSeen = new Set<string>();

/**
 * Checks that a page has no serious accessibility violations in light and dark mode, has no duplicate ids, and does not
 * scroll sideways on a small screen. The accessibility check takes most of the time, so a page whose elements were all
 * checked before is not checked again. Contrast takes most of the check, so only the new elements of a page are checked for it.
 */
export async function expectGood(page: Page): Promise<void> {
  const parts = await page.evaluate<string[]>(partsOfPage);
  const unseen = parts.filter((part) => !partsSeen.has(part));
  if (unseen.length > 0) {
    await page.evaluate(axeSource);
    const unseenElements = `[...document.querySelectorAll('body *')].filter((one) => ${JSON.stringify(unseen)}.includes((${partOf})(one)))`;
    await expectNoFaults(page, 'light', 'document', { rules: { 'color-contrast': { enabled: false } } });
    await expectNoFaults(page, 'light', unseenElements, { runOnly: ['color-contrast'] });
    // Dark mode changes only the colors.
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectNoFaults(page, 'dark', unseenElements, { runOnly: ['color-contrast'] });
    await page.emulateMedia({ colorScheme: null });
    for (const part of unseen) {
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

/**
 * Checks that axe finds nothing at all on a page, as it is shown now. `mode` names the colors and the screen: a page whose
 * elements were all checked in the same mode is not checked again.
 */
export async function expectNoViolations(page: Page, mode: string): Promise<void> {
  const parts = (await page.evaluate<string[]>(partsOfPage)).map((part) => `${mode}: ${part}`);
  if (parts.every((part) => partsSeen.has(part))) {
    return;
  }
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run(document, { preload: false, resultTypes: ['violations'] })",
  );
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`),
    `${page.url()}, ${mode}`,
  ).toEqual([]);
  for (const part of parts) {
    partsSeen.add(part);
  }
}

/** `context` is an expression that returns what to check. */
async function expectNoFaults(page: Page, colors: string, context: string, rules: object): Promise<void> {
  const options = { preload: false, resultTypes: ['violations'], ...rules };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${context}, ${JSON.stringify(options)})`);
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  expect(serious, `${page.url()} in ${colors}`).toEqual([]);
}
