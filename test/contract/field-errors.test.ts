/** Provokes each field error code of the contract over HTTP. */
import { expect, test } from 'vitest';
import { formatMessage } from '../../src/contract/format-message.ts';
import { useOrg, useWorld } from '../harness.ts';

const world = useWorld();
const org = useOrg(world);

const json = 'application/json';
const cases: [
  code: string,
  field: string,
  method: string,
  path: string,
  raw: string | Buffer,
  contentType: string,
][] = [
  ['invalid_json', 'body', 'POST', '/v1/admin/orgs', '{"name"', json],
  ['invalid_json', 'body', 'POST', '/v1/admin/orgs', '', json],
  ['invalid_type', 'body', 'POST', '/v1/admin/orgs', '"text"', json],
  ['invalid_type', 'name', 'POST', '/v1/admin/orgs', '{"name":1}', json],
  ['invalid_content_type', 'body', 'POST', '/v1/admin/orgs', '{"name":"a"}', 'text/plain'],
  [
    'invalid_content_type',
    'body',
    'POST',
    '/v1/admin/orgs',
    '{"name":"a"}',
    'application/json; charset=latin1',
  ],
  ['invalid_body', 'body', 'POST', '/v1/admin/orgs', Buffer.from([0x7b, 0xff, 0x7d]), json],
  ['invalid_body', 'body', 'POST', '/v1/admin/orgs', `${'['.repeat(100)}${']'.repeat(100)}`, json],
  ['out_of_range', 'name', 'POST', '/v1/admin/orgs', JSON.stringify({ name: 'x'.repeat(201) }), json],
  ['empty', 'name', 'POST', '/v1/admin/orgs', '{"name":""}', json],
  ['too_many', 'cidrs', 'PUT', 'allow-list', JSON.stringify({ cidrs: Array(1_001).fill('127.0.0.1') }), json],
  ['required', 'name', 'POST', '/v1/admin/orgs', '{}', json],
  ['unknown_field', 'colour', 'POST', '/v1/admin/orgs', '{"name":"a","colour":"red"}', json],
  ['invalid_value', 'timezone', 'POST', '/v1/admin/orgs', '{"name":"a","timezone":"Nowhere"}', json],
  ['invalid_value', 'name', 'POST', '/v1/admin/orgs', '{"name":"a\\u0000"}', json],
  ['invalid_value', 'name', 'POST', '/v1/admin/orgs', '{"name":"\\ud800"}', json],
  ['unknown_field', '__proto__', 'POST', '/v1/admin/orgs', '{"name":"a","__proto__":{"x":1}}', json],
  ['invalid_format', 'slug', 'POST', '/v1/admin/orgs', '{"name":"a","slug":"No Slug"}', json],
];

test.each(cases)('%s on %s: %s %s', async (code, field, method, path, raw, contentType) => {
  const own = path === 'allow-list';
  const { status, json: body } = await world.request(
    method,
    own ? `/v1/orgs/${org.id}/ip-allow-list` : path,
    {
      key: own ? org.ownerKey : world.operatorKey,
      raw,
      headers: { 'content-type': contentType },
    },
  );
  expect(status).toBe(422);
  expect(body.error.code).toBe('validation_failed');
  expect(body.error.details.fields).toEqual([{ field, code, message: expect.stringMatching(/\S/) }]);
});

test('every invalid field is listed once, in query and body', async () => {
  const { json: body } = await world.request('POST', '/v1/admin/orgs?verbose=1', {
    key: world.operatorKey,
    body: { name: 5, slug: '', timezone: null, colour: 1, home_region: 'x'.repeat(65) },
  });
  const found = body.error.details.fields.map(
    ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
  );
  expect(found.sort()).toEqual([
    'colour unknown_field',
    'home_region out_of_range',
    'name invalid_type',
    'slug empty',
    'timezone invalid_type',
    'verbose unknown_field',
  ]);
});

test('messages say what is expected', async () => {
  const budget = { name: 'a', scope_kind: 'org', period: 'day' };
  const message = async (path: string, body: object) =>
    (await world.request('POST', `/v1/orgs/${org.id}/${path}`, { key: org.ownerKey, body })).json.error
      .details.fields[0].message;
  expect(await message('members', { email: 'no-address', role: 'viewer' })).toBe(
    'Must be an e-mail address.',
  );
  expect(await message('budgets', { ...budget, limit_usd: '$1' })).toBe(
    'Must be an amount in US dollars with a point for decimals, such as 2.50.',
  );
  const thresholds = (alert_thresholds: number[]) => ({ ...budget, limit_usd: '1', alert_thresholds });
  expect(await message('budgets', thresholds([1_001]))).toBe('Must be at most 1,000.');
  expect(await message('budgets', thresholds([0]))).toBe('Must be at least 1.');
  expect(await message('budgets', thresholds([0.5]))).toBe('Must be a whole number.');
  expect(await message('budgets', { ...budget, name: ' ', limit_usd: '1' })).toBe('Must not be blank.');
});

test('every pattern of a request has a message', () => {
  const schemas = (value: unknown): object[] =>
    typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(schemas)] : [];
  const withoutMessage = world.app.routes.flatMap(({ id, body, query }) =>
    schemas([body, query])
      .filter((schema) => 'pattern' in schema && typeof schema.pattern === 'string' && !('format' in schema))
      .filter(
        (schema) => !/^Must .*\.$/.test(String((schema as { [formatMessage]?: string })[formatMessage])),
      )
      .map((schema) => `${id}: ${JSON.stringify(schema)}`),
  );
  expect(withoutMessage).toEqual([]);
});
