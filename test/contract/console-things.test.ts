/** Forms of webhooks, single sign-on, policies and limits: what they offer, suggest, explain and ask before an action. */
import { beforeAll, describe, expect, test } from 'vitest';
import { eventTypes } from '../../src/contract/events.ts';
import { scopes } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { cookieOf, postForm } from '../support/sign-in.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
const org = useOrg(world, 'Northwind');
let cookie: string;
beforeAll(async () => {
  cookie = await signedIn(org.ownerKey);
});

const signedIn = async (key: string) => cookieOf(await postForm(world, '/console/login', { key }));
const open = (path: string, as = cookie) => world.request('GET', path, { headers: { cookie: as } });
const api = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });
/** Posts a form in which a field may have several values. */
const submit = (path: string, fields: readonly (readonly [string, string])[]) =>
  world.request('POST', path, {
    raw: new URLSearchParams(fields.map(([name, value]) => [name, value])).toString(),
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  });
const checkedIn = (text: string) =>
  [...text.matchAll(/name="events" value="([^"]+)" checked/g)].map(([, value]) => value);

describe('the form of a webhook', () => {
  test('offers every event, by group, with an example of its payload', async () => {
    const { text } = await open('/console/webhooks/new');
    const offered = [...text.matchAll(/name="events" value="([^"]+)"/g)].map(([, value]) => value);
    expect(offered).toEqual(expect.arrayContaining(['*', 'limit.*', ...eventTypes]));
    expect(new Set(offered).size).toBe(offered.length);
    expect(checkedIn(text)).toEqual([]);
    const examples = [...text.matchAll(/<pre class="scroll" tabindex="0">(.*?)<\/pre>/gs)].map(
      ([, json = '']) =>
        JSON.parse(
          json
            .replaceAll('&quot;', '"')
            .replaceAll('&#39;', "'")
            .replaceAll('&lt;', '<')
            .replaceAll('&gt;', '>')
            .replaceAll('&amp;', '&'),
        ),
    );
    expect(examples.map(({ type }) => type).toSorted()).toEqual([...eventTypes].toSorted());
    for (const example of examples) {
      expect(Object.keys(example).toSorted()).toEqual(['created_at', 'data', 'id', 'org_id', 'type']);
      expect(example.org_id).toBe(org.id);
    }
  });

  test('creates a webhook that is signed with its own secret from the start', async () => {
    const page = await open('/console/webhooks/new');
    const once = /name="once" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const fields = [
      ['once', once],
      ['url', 'https://hooks.example.com/a'],
      ['events', 'limit.*'],
      ['events', 'limit.exhausted'],
      ['events', 'run.finished'],
    ] as const;
    const made = await submit('/console/webhooks/new', fields);
    expect(made.status).toBe(200);
    const secret = /<code id="secret">(whsec_[^<]+)</.exec(made.text)?.[1];
    expect(secret).toBeDefined();
    // A reload shows the same secret, and creates no second webhook.
    expect((await submit('/console/webhooks/new', fields)).text).toContain(secret);
    const webhooks = (await api('GET', '/webhooks')).json.data;
    expect(webhooks).toEqual([
      expect.objectContaining({ event_version: 2, events: ['limit.*', 'run.finished'] }),
    ]);
    expect((await open('/console/webhooks')).text).not.toContain('still signed with the organization secret');
    const edited = await open(`/console/webhooks/${webhooks[0].id}/edit`);
    expect(checkedIn(edited.text)).toEqual(['limit.*', 'run.finished']);
    await submit(`/console/webhooks/${webhooks[0].id}/edit`, [
      ['url', 'https://hooks.example.com/a'],
      ['events', '*'],
      ['events', 'run.finished'],
    ]);
    expect((await api('GET', `/webhooks/${webhooks[0].id}`)).json.events).toEqual(['*']);
  });

  test('requires an event, and keeps what was entered', async () => {
    const refused = await submit('/console/webhooks/new', [['url', 'https://hooks.example.com/b']]);
    expect(refused.status).toBe(422);
    expect(refused.text).toMatch(/id="field-events-fault">[^<]+</);
    expect(refused.text).toContain('value="https://hooks.example.com/b"');
    const wrong = await submit('/console/webhooks/new', [
      ['url', 'ftp://hooks.example.com'],
      ['events', 'limit.*'],
    ]);
    expect([wrong.status, checkedIn(wrong.text)]).toEqual([422, ['limit.*']]);
  });
});

describe('the deliveries of a webhook', () => {
  test('the deliveries of a webhook are filtered by time in the time zone of the organization, and show their payload', async () => {
    await api('PATCH', '', { timezone: 'Asia/Tokyo' });
    const { id } = (await api('POST', '/webhooks', { url: 'https://hooks.example.com/c', events: ['*'] }))
      .json;
    const delivery = (await api('POST', `/webhooks/${id}/test`)).json;
    const here = `/console/webhooks/${id}`;
    const shows = async (query: string) =>
      (await open(`${here}?${query}`)).text.includes(`${here}/deliveries/${delivery.id}"`);
    // The clock of the test says 2026-11-15 12:00 UTC or a little later: 21:00 in Tokyo.
    expect(await shows('from=2026-11-15T20:59')).toBe(true);
    expect(await shows('from=2026-11-15T23:59')).toBe(false);
    expect(await shows('to=2026-11-15T20:59')).toBe(false);
    expect(await shows('to=2026-11-15T23:59&state=waiting&event_type=webhook.test')).toBe(true);
    const none = await open(`${here}?to=2026-11-15T20:59`);
    expect(none.text).toContain('No matches');
    expect(none.text).toContain('name="to" value="2026-11-15T20:59"');
    expect((await open(`${here}?from=yesterday`)).text).toMatch(/from/);
    const page = await open(`${here}/deliveries/${delivery.id}`);
    expect(page.text).toContain('&quot;message&quot;: &quot;This is a test.&quot;');
    expect(page.text).toContain('Pending');
    const viewer = await signedIn((await world.mintKey(org, 'viewer', scopes)).secret);
    const readOnly = await open(`${here}/deliveries/${delivery.id}`, viewer);
    expect(readOnly.status).toBe(200);
    expect(readOnly.text).not.toContain('This is a test.');
    expect((await open(`${here}/deliveries/dlv_none`)).status).toBe(404);
    await api('PATCH', '', { timezone: 'UTC' });
  });
});

describe('single sign-on', () => {
  test('shows what the identity provider asks for before anything is saved', async () => {
    const { slug } = (await api('GET', '')).json;
    const oidc = (await open('/console/settings/sso/oidc')).text;
    expect(oidc).toContain(`<code>${world.baseUrl}/sso/callback</code>`);
    expect(oidc).toContain(`<code>${world.baseUrl}/sso/${slug}/callback</code>`);
    const saml = (await open('/console/settings/sso/saml')).text;
    expect(saml).toContain(`<code>${world.baseUrl}/saml/${slug}/metadata</code>`);
    expect(saml).toContain(`<code>${world.baseUrl}/saml/${slug}/acs</code>`);
  });

  test('offers a test once it is set up, which leads to the identity provider by a link', async () => {
    expect((await open('/console/settings/sso')).text).not.toContain('Test sign-in');
    await api('PUT', '/sso', { issuer: 'http://127.0.0.1:9', client_id: 'a' });
    expect((await open('/console/settings/sso')).text).toContain('Test sign-in');
    const started = await submit('/console/settings/sso/test', []);
    const url = /href="([^"]+)" rel="noreferrer">Continue to identity provider/.exec(started.text)?.[1] ?? '';
    expect(url).toMatch(new RegExp(`^${world.baseUrl}/sso/tests/[^/]+/start$`));
    const [test] = await world.db.query<{ id: string }>('SELECT id FROM sso_tests');
    const waiting = await open(`/console/settings/sso?test=${test?.id}`);
    expect(waiting.text).toContain('has not come back from the identity provider yet');
    expect(waiting.text).toContain('http-equiv="refresh"');
    expect((await open('/console/settings/sso?test=sst_none')).text).toContain('The test has expired');
    // Nothing listens at the issuer: the test ends at once, and says why.
    const ended = await world.request('GET', new URL(url).pathname);
    expect(ended.headers.location).toBe(`/console/settings/sso?test=${test?.id}`);
    const result = (await open(ended.headers.location ?? '')).text;
    expect(result).toContain('The sign-in did not complete.');
    expect(result).not.toContain('http-equiv="refresh"');
    await api('DELETE', '/sso');
  });
});

test('the condition of a rule has a reference of every variable, with examples that the API accepts', async () => {
  const { text } = await open('/console/policies/new');
  const variables = (await world.request('GET', '/v1/meta/policy-variables')).json.data;
  expect(variables.length).toBeGreaterThan(15);
  for (const { name, example } of variables) {
    expect(text).toContain(`<code>${name}</code>`);
    const fields = { effect: 'block', expression: example, priority: '5', reason: name };
    const made = await postForm(world, '/console/policies/new', fields, { cookie });
    expect([name, made.status]).toEqual([name, 303]);
  }
});

test('the forms of limits suggest values of runs', async () => {
  await api('POST', '/v1/runs', {
    model: 'm',
    cost_usd: '1',
    department: 'r&d',
    workflow: 'triage',
    customer_id: 'acme',
  });
  const suggested = async (path: string) => {
    const list = /<datalist[^>]*>(.*?)<\/datalist>/s.exec((await open(path)).text)?.[1] ?? '';
    return [...list.matchAll(/<option value="([^"]+)">([^<]*)</g)].map(
      ([, value, label]) => `${label} ${value}`,
    );
  };
  expect(await suggested('/console/limits/budgets/new')).toEqual(['Department r&amp;d', 'Workflow triage']);
  expect(await suggested('/console/limits/budgets/new?scope_kind=model')).toEqual(['Model m']);
  expect(await suggested('/console/limits/budgets/new?scope_kind=key')).toContainEqual(
    expect.stringMatching(/ key_\w+$/),
  );
  expect(await suggested('/console/limits/customers/new')).toEqual(['Customer acme']);
  const narrow = await signedIn(
    (await world.mintKey(org, 'admin', ['budgets:read', 'budgets:write'])).secret,
  );
  const without = await open('/console/limits/budgets/new', narrow);
  expect([without.status, without.text.includes('triage')]).toEqual([200, false]);
});

describe('an action that cannot be undone', () => {
  test('names what it changes, and can be cancelled', async () => {
    const { id } = (
      await api('POST', '/budgets', {
        name: 'Code <review>',
        scope_kind: 'org',
        period: 'day',
        limit_usd: '5',
      })
    ).json;
    const { text } = await open(`/console/limits/budgets/${id}`);
    expect(text).toContain('<button class="button danger">Delete budget “Code &lt;review&gt;”</button>');
    expect(text).toContain('data-close>Cancel</a>');
    // The name of the stored budget, not the one that was entered.
    const failed = await postForm(
      world,
      `/console/limits/budgets/${id}`,
      { name: 'Other', limit_usd: 'much' },
      { cookie },
    );
    expect([failed.status, failed.text.includes('Delete budget “Code &lt;review&gt;”')]).toEqual([422, true]);
    const keys = (await open('/console/keys')).text;
    expect(keys).toContain('<button class="button danger">Revoke “owner”</button>');
  });

  test('an action that cannot be undone, the erasure of a customer, requires its name', async () => {
    await api('POST', '/v1/runs', { model: 'm', cost_usd: '1', customer_id: 'to/erase' });
    const path = '/console/customers/of/to%2Ferase/erase';
    expect((await open('/console/customers/of/to%2Ferase')).text).toContain(`href="${path}"`);
    const refused = await postForm(world, path, { typed_name: 'to' }, { cookie });
    expect([refused.status, refused.text.includes('Must be “to/erase”.')]).toEqual([422, true]);
    expect((await api('GET', '/customers?customer_id=to%2Ferase')).json.data).toHaveLength(1);
    const erased = await postForm(world, path, { typed_name: 'to/erase' }, { cookie });
    expect(erased.headers.location).toBe('/console/customers/erased?done=erasing');
    const member = await signedIn((await world.mintKey(org, 'member', scopes)).secret);
    expect((await open('/console/customers/of/acme', member)).text).not.toContain('Erase customer');
  });
});
