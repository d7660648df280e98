/** The layout of console pages, measured in a real browser on wide and narrow screens. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { type Owner, walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();
const narrow = { width: 390, height: 844 };

describe.skipIf(executable === undefined)('the layout of the console', () => {
  const walk = walkThrough(executable, {});

  async function boxOf(locator: Locator) {
    const box = await locator.boundingBox();
    if (box === null) {
      throw new Error('it is not shown');
    }
    return box;
  }

  async function expectInside(page: Page, locator: Locator): Promise<void> {
    const { x, y, width, height } = await boxOf(locator);
    const screen = page.viewportSize() ?? { width: 0, height: 0 };
    expect(x).toBeGreaterThanOrEqual(0);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(screen.width);
    expect(y + height).toBeLessThanOrEqual(screen.height);
  }

  async function spent({ api }: Owner): Promise<void> {
    await api('PUT', '/spend-cap', { cap_usd: '500' });
    await api('POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '50' });
    await api('POST', '/v1/runs', { model: 'small', cost_usd: '2', customer_id: 'acme', team: 'web' });
  }

  test('shows a confirmation inside the screen without moving its row', async () => {
    const { page, look } = await walk.owner();
    for (const size of [{ width: 1_280, height: 900 }, { width: 1_024, height: 768 }, narrow]) {
      await page.setViewportSize(size);
      await look('/console/keys', 'API keys');
      await page.setViewportSize(size);
      const row = page.locator('tbody tr').first();
      const rotate = row.getByRole('link', { name: 'Rotate' });
      const [rowBefore, rotateBefore] = [await boxOf(row), await boxOf(rotate)];
      await row.locator('summary', { hasText: 'Revoke' }).click();
      const question = page.locator('.confirm[open] .confirm-box');
      await expectInside(page, question);
      expect([await boxOf(row), await boxOf(rotate)]).toEqual([rowBefore, rotateBefore]);
      // A click outside the confirmation closes it.
      await page.mouse.click(3, 3);
      expect(await question.count()).toBe(0);
    }
  });

  test('shows the confirmation of a deletion inside the screen, and closes it by the keyboard', async () => {
    const owner = await walk.owner();
    const { page, look } = owner;
    await spent(owner);
    await look('/console/limits/spend-cap', 'Daily spend cap');
    await page.locator('summary', { hasText: 'Remove spend cap' }).click();
    await expectInside(page, page.locator('.confirm[open] .confirm-box'));
    await expectGood(page);
    await page.keyboard.press('Escape');
    expect(await page.locator('.confirm[open]').count()).toBe(0);
  });

  test('breaks a long name without spaces in tables and on buttons', async () => {
    const { page, look, api } = await walk.owner();
    await api('POST', '/budgets', budgetNamed('Short'));
    const { id } = (await api('POST', '/budgets', budgetNamed('x'.repeat(200)))).json;
    for (const size of [{ width: 1_280, height: 900 }, narrow]) {
      await look('/console/limits?kind=budget', 'Limits');
      await page.setViewportSize(size);
      const edit = page.getByRole('row', { name: 'Short' }).getByRole('link', { name: 'Edit' });
      const { x, width } = await boxOf(edit);
      expect(x + width).toBeLessThanOrEqual(size.width);
      await look(`/console/limits/budgets/${id}`, 'Budget');
      await page.setViewportSize(size);
      await page.locator('summary', { hasText: 'Delete budget' }).click();
      await expectInside(page, page.locator('.confirm[open] .button.danger'));
    }
  });

  test('shows the details of an audit entry in the full width of the table', async () => {
    const { page, look, api } = await walk.owner();
    const { id } = (await api('POST', '/budgets', budgetNamed('Before'))).json;
    await api('PATCH', `/budgets/${id}`, { name: `After ${'long '.repeat(30)}` });
    for (const size of [{ width: 1_280, height: 900 }, { width: 1_024, height: 768 }, narrow]) {
      await page.setViewportSize(size);
      await look('/console/audit?target_kind=budget', 'Audit log');
      await page.setViewportSize(size);
      const table = await boxOf(page.getByRole('table', { name: 'Audit log' }));
      await page.locator('details.entry > summary').first().click();
      const details = await boxOf(page.locator('details.entry pre').first());
      expect(details.width).toBeGreaterThan(table.width * 0.9);
      expect(await boxOf(page.getByRole('table', { name: 'Audit log' }))).toMatchObject({
        width: table.width,
      });
    }
  });

  test('exports the audit log repeatedly without a reload', async () => {
    const { page, look } = await walk.owner();
    await look('/console/audit', 'Audit log');
    await page.locator('summary', { hasText: 'Export' }).click();
    for (const _ of ['once', 'again']) {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ]);
      expect(file.suggestedFilename()).toBe('audit-log.ndjson');
    }
    expect(await page.locator('.is-waiting, [aria-busy]').count()).toBe(0);
  });

  test('creates one API key, however often its page is reloaded', async () => {
    const { page, look, press, api } = await walk.owner();
    await look('/console/keys/new?preset=gateway', 'Create API key');
    await page.getByLabel('Name').fill('Reloaded');
    await press('Create API key');
    const secret = await page.locator('#secret').textContent();
    await page.reload();
    expect(await page.locator('#secret').textContent()).toBe(secret);
    expect((await api('GET', '/keys?name=Reloaded')).json.data).toHaveLength(1);
  });

  test('shows every value with its title, and every button, on a narrow screen', async () => {
    const owner = await walk.owner();
    const { page, look } = owner;
    await spent(owner);
    for (const [path, title, caption, wanted] of [
      ['/console/limits', 'Limits', 'Limits', ['Remaining', 'Spent', 'Resets']],
      ['/console/runs', 'Runs', 'Runs', ['Cost', 'Status', 'Tokens', 'Latency']],
      ['/console/keys', 'API keys', 'API keys', ['Role', 'Last used']],
      ['/console/customers', 'Customers', 'Customers', ['Spend', 'Total spend', 'Remaining credits']],
    ] as const) {
      await look(path, title);
      await page.setViewportSize(narrow);
      const row = page.getByRole('table', { name: caption }).locator('tbody tr').first();
      for (const name of wanted) {
        const cell = row.locator(`td[data-title="${name}"]`);
        const { x, width } = await boxOf(cell);
        expect([path, name, x >= 0 && x + width <= narrow.width]).toEqual([path, name, true]);
        const shown = await cell.evaluate((one) => getComputedStyle(one, '::before').content);
        expect(shown).toBe(`"${name}"`);
      }
      for (const button of await row.locator('.button:visible').all()) {
        const { x, width } = await boxOf(button);
        expect([path, x >= 0 && x + width <= narrow.width]).toEqual([path, true]);
      }
      await expectGood(page);
      await page.setViewportSize({ width: 1_280, height: 900 });
    }
  });

  test('scrolls time series to their end on a narrow screen, also without JavaScript', async () => {
    const owner = await walk.owner();
    await spent(owner);
    const cookies = await owner.page.context().cookies();
    for (const javaScriptEnabled of [true, false]) {
      const page = await walk.stranger({ javaScriptEnabled });
      await page.setViewportSize(narrow);
      await page.context().addCookies(cookies);
      await page.goto(`${walk.url}/console`);
      const frame = page.locator('.chart-scroll').first();
      const [outer, drawing] = [await boxOf(frame), await boxOf(frame.locator('svg'))];
      expect(drawing.width).toBeGreaterThan(outer.width);
      expect(drawing.x + drawing.width).toBeCloseTo(outer.x + outer.width, 0);
    }
  });
});

function budgetNamed(name: string): object {
  return { name, scope_kind: 'org', period: 'month', limit_usd: '50' };
}
