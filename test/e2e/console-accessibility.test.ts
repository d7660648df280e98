/** axe finds nothing on any page of the console: in light and dark mode, on a wide and on a narrow screen. */
import { describe, expect, test } from 'vitest';
import { expectNoViolations, findBrowser } from '../support/browser.ts';
import { createFixtures, createPendingWork } from '../support/console-fixtures.ts';
import { followLinks, pageTemplates, type Side } from '../support/console-links.ts';
import { openAccountMenu, walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();
const screenSizes = { wide: { width: 1_440, height: 900 }, narrow: { width: 390, height: 844 } };
const modes = (['light', 'dark'] as const).flatMap((colors) =>
  (['wide', 'narrow'] as const).map((width) => ({ colors, width })),
);

describe.skipIf(executable === undefined)('axe finds nothing', () => {
  const walk = walkThrough(executable, {});

  test.each<Side>(['org', 'operator'])('axe finds nothing on the pages of the %s side', async (side) => {
    const { world, url } = walk;
    const org = await world.createOrg('Northwind');
    await createFixtures(world, org);
    await createPendingWork(world, org);
    const { page } = await walk.visitor(side === 'org' ? org.ownerKey : world.operatorKey);
    const seen = await followLinks(side, async (path, template) => {
      if (template.endsWith('/export')) {
        // A file.
        return undefined;
      }
      const answer = await page.goto(`${url}${path}`);
      expect([path, answer?.status()]).toEqual([path, 200]);
      await openAccountMenu(page);
      for (const { colors, width } of modes) {
        await page.emulateMedia({ colorScheme: colors });
        await page.setViewportSize(screenSizes[width]);
        await expectNoViolations(page, `${colors} ${width}`);
      }
      return page.content();
    });
    expect(pageTemplates(side).filter((template) => !seen.includes(template))).toEqual([]);
  });
});
