/** Signed-in visitors of the console in a real browser, and the checks of every page they open. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type TestAnswer, type TestOrg, useWorld, type World } from '../harness.ts';
import { expectGood, openBrowser, watched } from './browser.ts';
import { mailSettings } from './console-fixtures.ts';
import { cookieOf, postForm } from './sign-in.ts';

export interface Walker {
  readonly page: Page;
  /** Opens a page, and checks its status, title, accessibility and layout. */
  look(path: string, title: string | RegExp, status?: number): Promise<void>;
  /** Clicks a button, and waits for the next page. */
  press(label: string): Promise<void>;
  /** Clicks a button and its confirmation. */
  confirm(label: string): Promise<void>;
  /** Waits for the redirect after a form. */
  arrived(outcome: string): Promise<void>;
}

/** The owner of a new organization. */
export interface Owner extends Walker {
  readonly org: TestOrg;
  /** Calls the API with the owner's key: a path below the organization, or one that starts with `/v1`. */
  api(method: string, path: string, body?: object): Promise<TestAnswer>;
}

export interface Walk {
  readonly world: World;
  readonly browser: Browser;
  readonly url: string;
  owner(name?: string): Promise<Owner>;
  /** Signs in with a key. */
  visitor(key: string): Promise<Walker>;
  /** Returns a browser page that is not signed in. */
  stranger(options?: { readonly javaScriptEnabled?: boolean }): Promise<Page>;
}

export async function openAccountMenu(page: Page): Promise<void> {
  await page.locator('details.account > summary').click();
}

/**
 * One world and one browser per test file. Fails tests whose pages call other hosts, violate the content policy or
 * throw.
 */
export function walkThrough(executable: string | undefined, settings: Record<string, string>): Walk {
  const world = useWorld({ ...mailSettings, ...settings });
  let browser: Browser;
  let url = '';
  /** Violations by the pages of each visitor. */
  let faults: string[][] = [];

  beforeAll(async () => {
    ({ url } = await world.listen());
    browser = await openBrowser(executable ?? '');
  });
  afterEach(async () => {
    const heard = faults.flat();
    faults = [];
    await Promise.all(browser.contexts().map((context) => context.close()));
    expect(heard).toEqual([]);
  });
  afterAll(() => browser?.close());

  async function newPage(options: object = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options });
    const page = await context.newPage();
    faults.push(watched(page, url));
    return page;
  }

  async function visitor(key: string): Promise<Walker> {
    const page = await newPage();
    const [, name = '', value = ''] =
      /^([^=]+)=(.*)$/.exec(cookieOf(await postForm(world, '/console/login', { key }))) ?? [];
    await page.context().addCookies([{ name, value, url }]);
    return {
      page,
      async look(path, title, status = 200) {
        const answer = await page.goto(`${url}${path}`);
        expect([path, answer?.status()]).toEqual([path, status]);
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(title);
        await expectGood(page);
      },
      async press(label) {
        await page.getByRole('button', { name: label }).click();
        await page.waitForLoadState();
      },
      async confirm(label) {
        await page.locator('summary', { hasText: label }).first().click();
        await page.locator('.confirm[open]').getByRole('button', { name: label }).click();
        await page.waitForLoadState();
      },
      arrived: (outcome) => page.waitForURL(new RegExp(`done=${outcome}`)),
    };
  }

  return {
    world,
    get browser() {
      return browser;
    },
    get url() {
      return url;
    },
    visitor,
    stranger: (options = {}) => newPage(options),
    async owner(name = 'Northwind') {
      const org = await world.createOrg(name);
      return {
        ...(await visitor(org.ownerKey)),
        org,
        api: (method, path, body) =>
          world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
            key: org.ownerKey,
            ...(body !== undefined && { body }),
          }),
      };
    },
  };
}
