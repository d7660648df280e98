/** Forms of the console never overwrite what someone else has changed since they were opened. */
import { beforeAll, expect, test } from 'vitest';
import { screens } from '../../src/console/screens.ts';
import { useOrg, useWorld } from '../harness.ts';
import { createFixtures, createPendingWork, mailSettings } from '../support/console-fixtures.ts';
import { followLinks, type Side } from '../support/console-links.ts';
import { fieldsIn, withoutEntities } from '../support/form-fields.ts';
import { signIn } from '../support/sign-in.ts';

const world = useWorld(mailSettings);
const org = useOrg(world, 'Northwind');
let cookies: Record<Side, string>;
beforeAll(async () => {
  await createFixtures(world, org);
  await createPendingWork(world, org);
  cookies = {
    org: (await signIn(world, org.ownerKey, org.id)).cookie,
    operator: (await signIn(world, world.operatorKey)).cookie,
  };
});

const open = (path: string, side: Side = 'org') =>
  world.request('GET', path, { headers: { cookie: cookies[side] } });
const submit = (path: string, form: URLSearchParams, side: Side = 'org') =>
  world.request('POST', path, {
    raw: form.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: cookies[side] },
  });

interface ShownForm {
  readonly action: string;
  readonly fields: URLSearchParams;
}

/** Returns the forms of a page that name a version, with their fields as a browser submits them. */
function versionedForms(html: string): ShownForm[] {
  return [...html.matchAll(/<form method="post" action="([^"]+)"[^>]*>(.*?)<\/form>/gs)]
    .filter(([form]) => form.includes('name="version"'))
    .map(([, action = '', content = '']) => ({ action: withoutEntities(action), fields: fieldsIn(content) }));
}

test('the forms that are read here are those of a browser', () => {
  const fields = fieldsIn(
    '<input name="a" value="1"><textarea name="b">x\ny</textarea><select name="c"><option value="2"><option value="3" selected></select>',
  );
  expect([...fields]).toEqual([
    ['a', '1'],
    ['b', 'x\r\ny'],
    ['c', '3'],
  ]);
});

test.each<Side>(['org', 'operator'])(
  'no form of the console for the side %s overwrites another version',
  async (side) => {
    const versioned = new Map<string, ShownForm>();
    await followLinks(side, async (path, template) => {
      const { text } = await open(path, side);
      for (const form of versionedForms(text)) {
        versioned.set(template, form);
      }
      return text;
    });
    const changing = screens
      .filter(
        ({ method, audience }) => method === 'POST' && (audience === 'operator') === (side === 'operator'),
      )
      .filter(({ call = '' }) => /^(PATCH|PUT) /.test(call))
      .map(({ path }) => path);
    const forms = changing.filter((path) => versioned.has(path));
    expect(forms.length).toBeGreaterThan(side === 'org' ? 12 : 0);
    for (const path of forms) {
      const { action, fields } = versioned.get(path) as ShownForm;
      const before = await open(action, side);
      fields.set('version', '"of another time"');
      fields.set('shown', '');
      if (fields.get('name') === '') {
        fields.set('name', 'Renamed');
      }
      const { status, text } = await submit(action, fields, side);
      expect([path, status]).toEqual([path, 409]);
      expect(text).toContain('Someone else changed this while you were editing.');
      expect(versionedForms((await open(action, side)).text)[0]?.fields.get('version')).toBe(
        versionedForms(before.text)[0]?.fields.get('version'),
      );
    }
  },
);

async function budgetForm(): Promise<ShownForm> {
  const [budget] = (await world.request('GET', `/v1/orgs/${org.id}/budgets`, { key: org.ownerKey })).json
    .data;
  const { text } = await open(`/console/limits/budgets/${budget.id}`);
  return versionedForms(text)[0] as ShownForm;
}

const budgets = async () =>
  (await world.request('GET', `/v1/orgs/${org.id}/budgets`, { key: org.ownerKey })).json.data[0];

test('a form sends what was changed, so two changes of different fields both last', async () => {
  const [amy, bob] = [await budgetForm(), await budgetForm()];
  amy.fields.set('limit_usd', '30');
  expect((await submit(amy.action, amy.fields)).status).toBe(303);
  bob.fields.set('name', 'Renamed');
  const conflict = await submit(bob.action, bob.fields);
  expect(conflict.status).toBe(409);
  const [again] = versionedForms(conflict.text) as [ShownForm];
  expect([again.fields.get('name'), again.fields.get('limit_usd')]).toEqual(['Renamed', '30']);
  expect(conflict.text).not.toContain('Someone else has set this');
  expect((await submit(again.action, again.fields)).status).toBe(303);
  expect(await budgets()).toMatchObject({ name: 'Renamed', limit_usd: '30' });
});

test('a conflict shows both values, and the second attempt decides', async () => {
  const [amy, bob] = [await budgetForm(), await budgetForm()];
  amy.fields.set('limit_usd', '40');
  expect((await submit(amy.action, amy.fields)).status).toBe(303);
  bob.fields.set('limit_usd', '45');
  const conflict = await submit(bob.action, bob.fields);
  expect(conflict.text).toContain('Someone else has set this to 40.');
  expect((await budgets()).limit_usd).toBe('40');
  const [again] = versionedForms(conflict.text) as [ShownForm];
  expect(again.fields.get('limit_usd')).toBe('45');
  expect((await submit(again.action, again.fields)).status).toBe(303);
  expect((await budgets()).limit_usd).toBe('45');
});

test('a form that was not changed sends nothing', async () => {
  const entries = async () =>
    (
      await world.request('GET', `/v1/orgs/${org.id}/audit-log?action=budgets.change&limit=200`, {
        key: org.ownerKey,
      })
    ).json.data.length;
  const before = await entries();
  const form = await budgetForm();
  expect((await submit(form.action, form.fields)).status).toBe(303);
  expect(await entries()).toBe(before);
});
