/** The documentation site: links, search, Markdown, examples, and the questions of new users. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { deadLinks } from '../scripts/docs-links.ts';
import { committedSite, docsProblems } from '../scripts/docs-problems.ts';
import { guideOf } from '../src/console/guides.ts';
import { operatorMenu, orgMenu } from '../src/console/navigation.ts';
import { errorCodes } from '../src/contract/errors.ts';
import { eventTypes } from '../src/contract/events.ts';
import { titleOf } from '../src/docs/document.ts';
import { readExamples } from '../src/docs/files.ts';
import { parseMarkdown, renderMarkdown } from '../src/docs/markdown.ts';
import { jsonSchemaOf, operationsOf, successOf } from '../src/docs/openapi.ts';
import { createSearch, type Search } from '../src/docs/search.ts';
import type { Site } from '../src/docs/site.ts';
import { exampleMigrations } from './support/recorded-examples.ts';

const committed = committedSite();
const { site, openApi } = committed;
const operations = operationsOf(openApi);
/** Pages are rendered for each request, and these tests read most of them several times. */
const texts = new Map<string, string>();
function textOf(path: string): string {
  const text = texts.get(path) ?? site.page(path, 'auto')?.text ?? '';
  texts.set(path, text);
  return text;
}

let search: Search;
beforeAll(async () => {
  search = await createSearch(site.documents, async () => undefined);
});

test('the documentation has no dead links, and no reference page above 100 KB', () => {
  expect(docsProblems(committed)).toEqual([]);
});

describe('a link', () => {
  const broken = (markdown: string): string[] => {
    const documents = [{ path: '/docs/a', section: 'guides' as const, markdown }];
    const page = (path: string) => ({
      contentType: '',
      headers: {},
      text: path.endsWith('.md') ? markdown : renderMarkdown(parseMarkdown(markdown), (href) => href),
    });
    const fake: Site = { ...site, documents, page };
    return deadLinks(fake, new Set(['/v1/meta/errors']));
  };

  test.each([
    ['[a](/docs/nothing)', ['/docs/a links to /docs/nothing']],
    ['# Heading\n\n[a](#other)', ['/docs/a links to #other']],
    ['[a](/docs/a.md#other)', ['/docs/a links to /docs/a.md#other']],
    ['![a](/docs/images/nothing.png)', ['/docs/a links to /docs/images/nothing.png']],
    ['[a](/v1/nothing)', ['/docs/a links to /v1/nothing']],
    ['# Heading\n\n[a](#heading) [b](/v1/meta/errors) [c](https://example.com)', []],
  ])('a link is found if it is dead: %j', (markdown, found) => {
    expect(broken(markdown)).toEqual(found);
  });
});

test.each([
  ['a <script>alert(1)</script>', '<script'],
  ['<img src=x onerror=alert(1)>', '<img'],
  ['<a id="x" onclick="y">z</a>', '<a id'],
  ['[a](x "><script>")', '<script'],
  ['```sh\n<script>\n```', '<script'],
  ['| <b> |\n|---|\n| <i> |', '<i>'],
])('HTML in Markdown is escaped: %j', (markdown, tag) => {
  expect(renderMarkdown(parseMarkdown(markdown), (href) => href)).not.toContain(tag);
});

describe('the search', () => {
  const first = (query: string) => search.find(query)[0]?.href;

  test('finds each error code by name', () => {
    expect(errorCodes.filter((code) => first(code) !== `/docs/errors#${code}`)).toEqual([]);
  });

  test('finds each setting by name', () => {
    const names = [...textOf('/docs/settings.md').matchAll(/^\| `(SVC_\w+)`/gm)].map(
      ([, name]) => name ?? '',
    );
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => first(name) !== `/docs/settings#${name}`)).toEqual([]);
  });

  test('finds each guide and operations page by its title and by its file name', () => {
    const pages = site.documents.filter(({ section }) => section === 'guides' || section === 'operations');
    expect(pages.length).toBeGreaterThan(30);
    const missing = pages.flatMap(({ path, markdown }) => {
      const names = [titleOf(markdown), (path.split('/').at(-1) ?? '').replaceAll('-', ' ')];
      return names
        .filter(
          (name) =>
            !search
              .find(name)
              .slice(0, 10)
              .some(({ href }) => href.split('#')[0] === path),
        )
        .map((name) => `${name}: ${path}`);
    });
    expect(missing).toEqual([]);
    const notFirst = pages.filter(({ path, markdown }) => first(titleOf(markdown)) !== path);
    expect(notFirst.map(({ path }) => path)).toEqual([]);
  });

  test('finds each event type by name', () => {
    expect(eventTypes.filter((type) => first(type) !== `/docs/events#${type}`)).toEqual([]);
  });

  test('finds each operation by its id', () => {
    const missing = operations.filter(({ operationId: id }) => first(id)?.endsWith(`#${id}`) !== true);
    expect(missing.map(({ operationId }) => operationId)).toEqual([]);
  });

  test('tolerates a typing error, and finds nothing for nonsense', () => {
    expect(search.find('budgte_exceeded').map(({ href }) => href)).toContain('/docs/errors#budget_exceeded');
    expect(search.find('xyzzyqwrtp')).toEqual([]);
    expect(search.find('  ')).toEqual([]);
    expect(search.find('a'.repeat(100_000))).toEqual([]);
  });
});

/** What new users ask first, and the pages that answer it. */
const questions: readonly (readonly [question: string, ...pages: string[]])[] = [
  ['How do I see why a call was blocked?', '/docs/guides/decisions', '/docs/guides/why-blocked'],
  ['How do I rotate a key?', '/docs/guides/keys'],
  ['What happens when Purser is down?', '/docs/operations/running'],
  ['How do I use it with the OpenAI SDK?', '/docs/guides/gateway-clients', '/docs/guides/openai-sdk'],
  ['How do I give each team a monthly budget?', '/docs/guides/limits', '/docs/guides/developer-budgets'],
  ['How do I run it on PostgreSQL?', '/docs/operations/running', '/docs/guides/postgresql-failover'],
  ['How do I retry a request safely?', '/docs/guides/idempotency'],
  ['How do I verify a webhook signature?', '/docs/guides/webhooks'],
  ['How do I back up and restore?', '/docs/operations/backup'],
  ['Where do the prices of models come from?', '/docs/guides/prices'],
];

describe('ten questions of new users', () => {
  const resultsRead = 5;

  /** Pages that a reader reaches with two clicks from the start page. */
  const withinTwoClicks = () => {
    const linked = (path: string) =>
      [...textOf(path).matchAll(/href="(\/docs[^"#?]*)/g)].map(([, target]) => target ?? '');
    const one = new Set(linked('/docs'));
    return new Set([...one, ...[...one].flatMap(linked)]);
  };

  let reached: Set<string> | undefined;

  test.each(questions)('%s', (question, ...pages) => {
    const found = search.find(question).slice(0, resultsRead);
    const answers = found.map(({ href }) => href.split('#')[0] ?? '').filter((page) => pages.includes(page));
    expect(answers, JSON.stringify(found.map(({ href }) => href))).not.toEqual([]);
    reached ??= withinTwoClicks();
    expect(answers.filter((page) => reached?.has(page) !== true)).toEqual([]);
  });
});

test('every page of the console leads to a page about its subject', () => {
  const targets = [orgMenu, operatorMenu].flatMap((menu) =>
    menu.flatMap(({ entries }) => entries.map(({ path }) => [path, guideOf(menu, path)] as const)),
  );
  expect(targets.length).toBeGreaterThan(20);
  for (const [path, target] of targets) {
    const [page = '', anchor] = target.split('#');
    expect(page, path).toMatch(/^\/docs\/(guides|operations)\//);
    expect(textOf(page), path).toContain(anchor === undefined ? '<h1' : `id="${anchor}"`);
  }
});

test('every page is served as Markdown too, and llms.txt lists each of them', () => {
  const list = textOf('/docs/llms.txt');
  for (const { path, markdown } of site.documents) {
    expect(textOf(`${path}.md`), path).toContain(titleOf(markdown));
    expect(list).toContain(`(http://localhost:8080${path}.md)`);
  }
});

test('keeps the same entity tags when it is created again', () => {
  const again = committedSite().site;
  for (const path of ['/docs', '/docs.md', '/docs/llms.txt', '/docs/errors', '/docs/api/budgets']) {
    expect(again.page(path, 'auto')?.headers.etag).toBe(site.page(path, 'auto')?.headers.etag);
  }
});

describe('the recorded examples', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(openApi, 'openapi');
  const examples = readExamples();
  /** Texts in examples are shortened, and secrets replaced. */
  const isShortened = ({ keyword }: { readonly keyword: string }) => keyword === 'pattern';

  test('exist for exactly the operations', () => {
    expect(Object.keys(examples).sort(), 'record them: see test/e2e/samples.test.ts').toEqual(
      operations.map(({ operationId }) => operationId).sort(),
    );
  });

  test('the recorded examples have the status and the form of the responses', () => {
    const wrong = operations.flatMap(({ operationId, responses }) => {
      const [status = ''] = Object.keys(responses);
      const example = examples[operationId];
      if (String(example?.status) !== status) {
        return [`${operationId}: ${example?.status} instead of ${status}`];
      }
      if (example?.body === undefined) {
        return [];
      }
      const schema = JSON.stringify(jsonSchemaOf(successOf(responses)) ?? {});
      const validate = ajv.compile(JSON.parse(schema.replaceAll('"#/components', '"openapi#/components')));
      validate(example.body);
      return (validate.errors ?? [])
        .filter((error) => !isShortened(error))
        .map(({ instancePath, message }) => `${operationId}${instancePath}: ${message}`);
    });
    expect(wrong, 'record them again: see test/e2e/samples.test.ts').toEqual([]);
  });

  test('name migrations that a later one does not make out of date', () => {
    expect(examples['installation.read']?.body).toMatchObject({ migrations: exampleMigrations });
  });

  test('contain no secrets', () => {
    const text = readFileSync(new URL('../docs/generated/examples.json', import.meta.url), 'utf8');
    expect(text).not.toMatch(/(svc_[a-z]+_|whsec_)[\w-]{8,}/);
  });
});
