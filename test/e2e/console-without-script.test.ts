/** Every form of the console can be sent without JavaScript. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { screens } from '../../src/console/screens.ts';
import { findBrowser } from '../support/browser.ts';
import { createFixtures, createPendingWork } from '../support/console-fixtures.ts';
import { followLinks, type Side } from '../support/console-links.ts';
import { walkThrough } from '../support/console-walk.ts';

const executable = findBrowser();

/** A form, and the page that it is on. */
interface PageForm {
  readonly template: string;
  readonly path: string;
  readonly action: string;
}

const targets = screens
  .filter(({ method }) => method === 'POST')
  .map(({ path }) => ({ template: path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  // `/new` would otherwise match the template of an existing resource.
  .sort((a, b) => a.template.split('{').length - b.template.split('{').length);

function formsOn(path: string, html: string): PageForm[] {
  return [...html.matchAll(/<form method="post"[^>]*?action="([^"]+)"|formaction="([^"]+)"/g)].flatMap(
    ([, action, other]) => {
      const target = (action ?? other ?? '').replaceAll('&amp;', '&');
      const template = targets.find(({ pattern }) => pattern.test(target))?.template;
      return template === undefined ? [] : [{ template, path, action: target }];
    },
  );
}

/** Forms that remove what other forms are about come last, and those that end the session after them. */
function orderOf({ template }: PageForm): number {
  if (template.includes('/sessions/')) {
    return 3;
  }
  if (/(delete|remove|revoke|void|erase|suspend|deny)$/.test(template)) {
    return 2;
  }
  return template.endsWith('/rotate') ? 1 : 0;
}

/** A value for a required field that is empty. */
async function valueFor(field: Locator): Promise<string> {
  const type = (await field.getAttribute('type')) ?? 'text';
  const mode = await field.getAttribute('inputmode');
  if (type === 'url') {
    return 'https://example.com/hook';
  }
  if (type === 'datetime-local') {
    return '2026-12-01T00:00';
  }
  return mode === null ? 'example' : '1';
}

async function fillRequired(form: Locator): Promise<void> {
  for (const field of await form.locator('input[required], textarea[required]').all()) {
    if ((await field.inputValue()) === '') {
      await field.fill(await valueFor(field));
    }
  }
}

/** Opens what hides the button: a confirmation or a folded part of the page. */
async function unfold(button: Locator): Promise<void> {
  for (const fold of await button.locator('xpath=ancestor::details[not(@open)]').all()) {
    await fold.locator('> summary').click();
  }
}

/** Returns `gone` if an earlier form has removed what this one is about. */
async function send(page: Page, { action }: PageForm): Promise<number | 'gone'> {
  const other = page.locator(`button[formaction="${action}"]`).first();
  const form = page.locator(`form[method="post"][action="${action}"]`).first();
  const button = (await other.count()) > 0 ? other : form.locator('button:not([type="button"])').first();
  if ((await button.count()) === 0) {
    return 'gone';
  }
  await unfold(button);
  if ((await other.count()) === 0) {
    await fillRequired(form);
  }
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === 'POST'),
    button.click(),
  ]);
  await page.waitForLoadState();
  return answer.status();
}

describe.skipIf(executable === undefined)('without JavaScript', () => {
  const walk = walkThrough(executable, {});

  test.each<Side>(['org', 'operator'])('every form of the %s side can be sent', async (side) => {
    const { world, url } = walk;
    const org = await world.createOrg('Northwind');
    await createFixtures(world, org);
    await createPendingWork(world, org);
    const { page: signedIn } = await walk.visitor(side === 'org' ? org.ownerKey : world.operatorKey);
    const cookies = await signedIn.context().cookies();
    const page = await walk.stranger({ javaScriptEnabled: false });
    await page.context().addCookies(cookies);

    const forms = new Map<string, PageForm>();
    await followLinks(side, async (path, template) => {
      if (template.endsWith('/export')) {
        return undefined;
      }
      await page.goto(`${url}${path}`);
      const html = await page.content();
      for (const form of formsOn(path, html)) {
        if (!forms.has(form.template)) {
          forms.set(form.template, form);
        }
      }
      return html;
    });
    expect(forms.size).toBeGreaterThan(side === 'org' ? 50 : 15);

    const failed: string[] = [];
    for (const form of [...forms.values()].sort((a, b) => orderOf(a) - orderOf(b))) {
      const opened = await page.goto(`${url}${form.path}`);
      if (opened?.status() !== 200) {
        continue;
      }
      // A browser that holds a form back, because a field is not valid, sends no request.
      const status = await send(page, form).catch(() => undefined);
      // The values may be rejected (409 and 422): then the page says so.
      const isRejected = status === 409 || status === 422;
      const isExplained = (await page.locator('[role="alert"], .fault, main code').count()) > 0;
      if (status !== 'gone' && !(status === 200 || status === 303 || (isRejected && isExplained))) {
        failed.push(`${form.template}: ${status}`);
      }
    }
    expect(failed).toEqual([]);
  });
});
