/** A real browser on the machine, and the checks that every page must pass in it. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { isSoak } from './rounds.ts';

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

/** Lists the elements with text of their own, and what their contrast depends on: colors, backgrounds, opacity and font. */
const contrasts = `[...document.querySelectorAll('body *')]
  .filter((one) =>
    one.matches('input, select, textarea') ||
    [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== ''))
  .map((one) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const behind = [];
    let isCovered = false;
    for (let at = one; at !== null; at = at.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(at);
      behind.push(opacity === '1' ? '' : opacity);
      if (!isCovered && (backgroundColor !== 'rgba(0, 0, 0, 0)' || backgroundImage !== 'none')) {
        behind.push(backgroundColor, backgroundImage);
        isCovered = backgroundColor.startsWith('rgb(');
      }
    }
    return [one, [color, fontSize, fontWeight, textShadow, ...behind.filter((each) => each !== '')].join(' / ')];
  })`;
const contrastsSeen = new Set<string>();

/** Rules whose violations axe never rates serious: `console-accessibility.test.ts` checks them. */
const minorRules = [
  'aria-allowed-role',
  'aria-deprecated-role',
  'empty-table-header',
  'form-field-multiple-labels',
  'heading-order',
  'html-xml-lang-mismatch',
  'image-redundant-alt',
  'landmark-banner-is-top-level',
  'landmark-contentinfo-is-top-level',
  'landmark-main-is-top-level',
  'landmark-no-duplicate-banner',
  'landmark-no-duplicate-contentinfo',
  'landmark-no-duplicate-main',
  'landmark-one-main',
  'landmark-unique',
  'meta-viewport-large',
  'no-autoplay-audio',
  'page-has-heading-one',
  'presentation-role-conflict',
  'region',
  'server-side-image-map',
  'skip-link',
  'table-duplicate-name',
];
const withoutColorsAndMinorRules = Object.fromEntries(
  ['color-contrast', ...minorRules].map((rule) => [rule, { enabled: false }]),
);

/**
 * Checks that a page has no serious accessibility violations, has no duplicate ids, and does not scroll sideways on a small
 * screen. The soak run checks the contrast as well, in light and dark mode. The accessibility check takes most of the time, so a page whose elements were all
 * checked before is not checked again.
 */
export async function expectGood(page: Page): Promise<void> {
  const parts = await page.evaluate<string[]>(partsOfPage);
  const unseen = parts.filter((part) => !partsSeen.has(part));
  if (unseen.length > 0) {
    await page.evaluate(axeSource);
    await expectNoFaults(page, 'light', 'document', { rules: withoutColorsAndMinorRules });
    if (isSoak) {
      await expectContrast(page, 'light');
      // Dark mode changes only the colors.
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectContrast(page, 'dark');
      await page.emulateMedia({ colorScheme: null });
    }
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

/** Contrast takes most of the time of axe, so only elements with colors, backgrounds or fonts that no earlier page had are checked. */
async function expectContrast(page: Page, colors: string): Promise<void> {
  const found = await page.evaluate<string[]>(`[...new Set(${contrasts}.map(([, contrast]) => contrast))]`);
  const unseen = found.filter((contrast) => !contrastsSeen.has(contrast));
  if (unseen.length > 0) {
    const elements = `${contrasts}.filter(([, contrast]) => ${JSON.stringify(unseen)}.includes(contrast)).map(([one]) => one)`;
    await expectNoFaults(page, colors, elements, { runOnly: ['color-contrast'] });
    for (const contrast of unseen) {
      contrastsSeen.add(contrast);
    }
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
