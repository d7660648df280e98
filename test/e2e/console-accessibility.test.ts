/** axe finds nothing on any page of the console: in light and dark mode, on a wide and on a narrow screen. */
import { describe, expect, test } from 'vitest';
import { expectNoViolations, findBrowser } from '../support/browser.ts';
import { createFixtures, createPendingWork } from '../support/console-fixtures.ts';
import { followLinks, pageTemplates, type Side } from '../support/console-links.ts';
import { walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();
const screenSizes = { wide: { width: 1_440, height: 900 }, narrow: { width: 390, height: 844 } };

describe.skipIf(executable === undefined)('the console is accessible', () => {
  const walk = walkThrough(executable, {});

  test.each(
    (['org', 'operator'] as const).flatMap((side: Side) =>
      (['light', 'dark'] as const).flatMap((colors) =>
        (['wide', 'narrow'] as const).map((width) => [side, colors, width] as const),
      ),
    ),
  )('on the %s side, in %s mode, on a %s screen', async (side, colors, width) => {
    const { world, url } = walk;
    const org = await world.createOrg('Northwind');
    await createFixtures(world, org);
    await createPendingWork(world, org);
    const { page } = await walk.visitor(side === 'org' ? org.ownerKey : world.operatorKey);
    await page.setViewportSize(screenSizes[width]);
    await page.emulateMedia({ colorScheme: colors });
    const seen = await followLinks(side, async (path, template) => {
      if (template === '/console/audit/export' || template === '/console/spend/export') {
        // Files.
        return undefined;
      }
      const answer = await page.goto(`${url}${path}`);
      expect([path, answer?.status()]).toEqual([path, 200]);
      await page.locator('details.account > summary').click();
      await expectNoViolations(page, `${side} ${colors} ${width}`);
      return page.content();
    });
    expect(pageTemplates(side).filter((template) => !seen.includes(template))).toEqual([]);
  });
});
