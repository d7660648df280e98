/** People who are signed in to the console in a real browser, and what every page has to hold to when they look at it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createWorld, type TestAnswer, type TestOrg, type World } from '../harness.ts';
import { expectGood, openBrowser, watched } from './browser.ts';
import { cookieOf, postForm } from './sign-in.ts';

export interface Walker {
  readonly page: Page;
  /** Opens a page, whatever its state, and holds it to what every page has to hold to. */
  look(path: string, title: string | RegExp, status?: number): Promise<void>;
  /** Presses a button, and waits until the page that follows is whole. */
  press(label: string): Promise<void>;
  /** Presses a button that is folded away until it is asked for. */
  confirm(label: string): Promise<void>;
  /** Waits for the page after a form, which tells what was done. */
  arrived(outcome: string): Promise<void>;
}

/** Somebody of an org of their own. */
export interface Owner extends Walker {
  readonly org: TestOrg;
  /** The API with the key of the owner: a path below the org, or one that begins with `/v1`. */
  api(method: string, path: string, body?: object): Promise<TestAnswer>;
}

export interface Walk {
  readonly world: World;
  readonly browser: Browser;
  readonly url: string;
  owner(name?: string): Promise<Owner>;
  /** Whoever a key belongs to. */
  visitor(key: string): Promise<Walker>;
  /** Not signed in. */
  stranger(options?: { readonly javaScriptEnabled?: boolean }): Promise<Page>;
}

/** One world and one browser for a file, which are opened and closed with it. Nobody may be seen doing what pages must not. */
export function walkThrough(executable: string | undefined, settings: Record<string, string>): Walk {
  let world: World;
  let browser: Browser;
  let url = '';
  /** What the pages of each visitor did that they must not. */
  let faults: string[][] = [];

  beforeAll(async () => {
    world = await createWorld(settings);
    ({ url } = await world.listen());
    browser = await openBrowser(executable ?? '');
  });
  afterEach(async () => {
    const heard = faults.flat();
    faults = [];
    await Promise.all(browser.contexts().map((context) => context.close()));
    expect(heard).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

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
        await page.locator('.ask[open]').getByRole('button', { name: label }).click();
        await page.waitForLoadState();
      },
      arrived: (outcome) => page.waitForURL(new RegExp(`done=${outcome}`)),
    };
  }

  return {
    get world() {
      return world;
    },
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
