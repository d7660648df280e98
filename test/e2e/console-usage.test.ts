/** Where the money goes, in a real browser: the tasks of a finance lead with the number of clicks that they take. */
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectGood, findBrowser } from '../support/browser.ts';
import { type Owner, walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();

/** Counts what a visitor does from the first page on: clicks, and choices from a list. */
function clicksOn(page: Page) {
  let clicks = 0;
  return {
    count: () => clicks,
    async click(target: Locator, options: Parameters<Locator['click']>[0] = {}) {
      clicks += 1;
      await target.click(options);
      await page.waitForLoadState();
    },
    async choose(target: Locator, value: string) {
      clicks += 1;
      const loaded = page.waitForEvent('framenavigated');
      await target.selectOption(value);
      await loaded;
      await page.waitForLoadState();
    },
  };
}

/** Runs of two months in two departments, with a spike on 6 November by one workflow. */
async function twoMonths({ api }: Owner): Promise<void> {
  const runs = [
    '2026-09-10',
    '2026-09-20',
    '2026-10-05',
    '2026-10-25',
    '2026-11-04',
    '2026-11-06',
    '2026-11-10',
  ].flatMap((day) => [
    {
      started_at: `${day}T10:00:00Z`,
      department: 'engineering',
      workflow: 'review',
      cost_usd: '2',
      model: 'large',
    },
    {
      started_at: `${day}T11:00:00Z`,
      department: 'finance',
      workflow: 'reports',
      cost_usd: '1',
      model: 'small',
    },
  ]);
  const more = [
    {
      started_at: '2026-10-06T10:00:00Z',
      department: 'finance',
      workflow: 'reports',
      cost_usd: '4',
      model: 'small',
    },
    ...Array.from({ length: 3 }, (_, index) => ({
      started_at: `2026-11-06T1${index}:30:00Z`,
      department: 'engineering',
      workflow: 'runaway',
      cost_usd: String(7 + index),
      model: 'large',
      customer_id: 'acme',
    })),
  ];
  const { status } = await api('POST', '/v1/runs/bulk?enforcement=record', { runs: [...runs, ...more] });
  expect(status).toBe(201);
}

describe.skipIf(executable === undefined)('usage, runs and customers', () => {
  const walk = walkThrough(executable, {});

  test('the cause of a spike on a given day is found in at most 3 clicks', async () => {
    const owner = await walk.owner();
    await twoMonths(owner);
    const { page, look } = owner;
    await look('/console', 'Overview');
    const { click, count } = clicksOn(page);
    await click(page.getByRole('link', { name: 'Usage', exact: true }));
    // The column of the day, above its bar.
    const day = page.locator('svg a[href*="from=2026-11-06"] > rect.column');
    await click(day, { position: { x: 4, y: 4 } });
    expect(await page.locator('.intro').textContent()).toContain('6 Nov 2026');
    await expectGood(page);
    await click(page.getByRole('link', { name: 'View runs of large' }));
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Runs');
    const first = page.getByRole('table', { name: 'Runs' }).locator('tbody tr').first();
    expect(await first.textContent()).toMatch(/runaway.*acme.*\$9\.00/);
    expect(await page.locator('.position').textContent()).toBe('1–4 of 4');
    expect(count()).toBeLessThanOrEqual(3);
  });

  test('October by department against September is a CSV file after at most 4 clicks', async () => {
    const owner = await walk.owner();
    await twoMonths(owner);
    const { page, look } = owner;
    await look('/console', 'Overview');
    const { click, choose, count } = clicksOn(page);
    await click(page.getByRole('link', { name: 'Usage', exact: true }));
    await click(page.getByRole('link', { name: 'Last month' }));
    await choose(page.getByLabel('Group by'), 'department');
    const rows = page.getByRole('table', { name: 'Usage by department' });
    expect(await rows.getByRole('row', { name: /^finance \$6\.00 60\.0% \+200% 3/ }).isVisible()).toBe(true);
    expect(await rows.getByRole('row', { name: /^Total \$10\.00 100% \+67% 5/ }).isVisible()).toBe(true);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      click(page.getByRole('button', { name: 'Export CSV' })),
    ]);
    const [head = '', ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n');
    const columns = head.split(',');
    const cells = lines.map((line) =>
      ['department', 'cost_usd', 'previous_cost_usd'].map((name) => line.split(',')[columns.indexOf(name)]),
    );
    expect(file.suggestedFilename()).toBe('usage.csv');
    expect(cells).toEqual([
      ['finance', '6', '2'],
      ['engineering', '4', '4'],
    ]);
    expect(count()).toBeLessThanOrEqual(4);
    expect(await page.locator('.is-waiting, [aria-busy]').count()).toBe(0);
  });

  test('range and filters stay on the way from usage to runs, customers and back', async () => {
    const owner = await walk.owner();
    await twoMonths(owner);
    const { page, look } = owner;
    await look('/console/usage?range=month&group_by=workflow', 'Usage');
    // The segment of one workflow on one day.
    await page.locator('svg a[href*="from=2026-11-06"][href*="workflow=runaway"]').click();
    await page.waitForURL(/workflow=runaway/);
    expect(await page.locator('.chip').textContent()).toContain('Workflow: runaway');
    await page.getByRole('link', { name: 'View runs', exact: true }).click();
    await page.waitForURL(/\/console\/runs\?/);
    const rows = page.getByRole('table', { name: 'Runs' }).locator('tbody tr');
    expect(await rows.count()).toBe(3);
    await page.getByRole('link', { name: 'View usage' }).click();
    await page.waitForURL(/\/console\/usage\?/);
    expect(new URL(page.url()).searchParams.get('workflow')).toBe('runaway');
    expect(await page.locator('.intro').textContent()).toContain('6 Nov 2026');
    await page.getByRole('link', { name: /Remove filter Workflow: runaway/ }).click();
    expect(await page.locator('.chip').count()).toBe(0);
    await look('/console/usage?range=month&group_by=customer_id', 'Usage');
    await page
      .getByRole('table', { name: 'Usage by customer' })
      .getByRole('link', { name: '(not set)', exact: true })
      .click();
    await page.waitForURL(/without=customer_id/);
    await page.getByRole('link', { name: 'View runs', exact: true }).click();
    await page.waitForURL(/without=customer_id/);
    expect(await rows.count()).toBe(6);
    await look('/console/customers?range=month', 'Customers');
    await page.getByRole('link', { name: 'Usage of acme' }).click();
    await page.waitForURL(/customer_id=acme/);
    expect(await page.locator('.stat-value').first().textContent()).toBe('$24.00');
  });

  test('runs are sorted by a click on a column, and paged in both directions', async () => {
    const owner = await walk.owner();
    const { page, look, api } = owner;
    const runs = Array.from({ length: 120 }, (_, index) => ({
      model: 'm',
      started_at: new Date(Date.UTC(2026, 10, 1) + index * 60_000).toISOString(),
      // Equal costs on both sides of the end of a page.
      cost_usd: String(1 + Math.floor(index / 40)),
      latency_ms: index,
    }));
    expect((await api('POST', '/v1/runs/bulk?enforcement=record', { runs })).status).toBe(201);
    await look('/console/runs', 'Runs');
    await page.getByRole('columnheader', { name: 'Cost' }).getByRole('link').click();
    await page.waitForURL(/sort=-cost_usd/);
    expect(await page.getByRole('columnheader', { name: 'Cost' }).getAttribute('aria-sort')).toBe(
      'descending',
    );
    const position = page.locator('.position');
    const seen = async () =>
      page
        .getByRole('table', { name: 'Runs' })
        .locator('tbody a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
    expect(await position.textContent()).toBe('1–50 of 120');
    const first = await seen();
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.waitForURL(/first=51/);
    expect(await position.textContent()).toBe('51–100 of 120');
    const second = await seen();
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.waitForURL(/first=101/);
    expect(await position.textContent()).toBe('101–120 of 120');
    expect(new Set([...first, ...second, ...(await seen())]).size).toBe(120);
    await page.getByRole('link', { name: 'Previous page' }).click();
    await page.waitForURL(/first=51/);
    expect(await seen()).toEqual(second);
    await page.getByRole('link', { name: 'Previous page' }).click();
    await page.waitForURL((url) => !url.searchParams.has('cursor'));
    expect(await seen()).toEqual(first);
    await expectGood(page);
  });

  test('every control works without JavaScript', async () => {
    const owner = await walk.owner();
    await twoMonths(owner);
    const page = await walk.stranger({ javaScriptEnabled: false });
    await page.context().addCookies(await owner.page.context().cookies());
    await page.goto(`${walk.url}/console/usage`);
    await page.getByRole('link', { name: 'Custom', exact: true }).click();
    await page.getByLabel('From').fill('2026-10-01');
    await page.getByLabel('To', { exact: true }).fill('2026-10-31');
    await page.getByRole('button', { name: 'Show range' }).click();
    await page.getByLabel('Group by').selectOption('department');
    await page.getByLabel('Then by').selectOption('model');
    await page.getByLabel('Measure').selectOption('runs');
    await page.getByLabel('Compare with').selectOption('off');
    await page.getByText('Filters', { exact: true }).click();
    await page.getByLabel('Workflow').selectOption('reports');
    await page.getByRole('button', { name: 'Apply' }).click();
    expect(await page.locator('.intro').textContent()).toBe('1 – 31 Oct 2026 (UTC).');
    expect(await page.getByRole('row', { name: /^finance small \$6\.00 100\.0% 3/ }).isVisible()).toBe(true);
    await page.getByText('View as table').click();
    await page.locator('.as-table').getByRole('link', { name: 'finance' }).click();
    expect(await page.locator('.chip').allTextContents()).toHaveLength(2);
  });
});
