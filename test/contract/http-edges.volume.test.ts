/** The response to a body full of errors lists them, up to a limit. */
import { expect, it } from 'vitest';
import { useOrg, useWorld } from '../harness.ts';
import { RawClient, rawRequest } from '../support/raw-socket.ts';

const answerBytesMax = 2 ** 21;
const world = useWorld();
const org = useOrg(world);

async function put(raw: string) {
  const answer = await world.request('PUT', `/v1/orgs/${org.id}/ip-allow-list`, {
    key: org.ownerKey,
    raw,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(422);
  expect(answer.text.length).toBeLessThan(answerBytesMax);
  return answer.json.error.details.fields as { field: string; code: string }[];
}

it('thousands of invalid items are all listed', async () => {
  const fields = await put(`{"cidrs":[${Array(5_000).fill(1).join()}]}`);
  expect(fields).toHaveLength(5_001);
  expect(fields).toContainEqual(expect.objectContaining({ field: 'cidrs', code: 'too_many' }));
  expect(fields).toContainEqual(expect.objectContaining({ field: 'cidrs[4999]', code: 'invalid_type' }));
});

it.each([
  ['wrong items', `{"cidrs":[${Array(49_000).fill(1).join()}]}`],
  ['unknown fields', `{"cidrs":[]${Array.from({ length: 999 }, (_, i) => `,"x${i}":1`).join('')}}`],
  ['unstorable texts', `{"cidrs":[${Array(49_000).fill('"\\u0000"').join()}]}`],
  ['numbers that are rounded', `{"cidrs":[${Array(49_000).fill('1e400').join()}]}`],
  ['names that are repeated', `{"cidrs":[${Array(12_000).fill('{"a":1,"a":1}').join()}]}`],
])('the list of %s is limited', async (_, raw) => {
  expect((await put(raw)).length).toBeGreaterThan(0);
  expect((await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).status).toBe(200);
});

it('the name of an unknown field is returned, but truncated', async () => {
  const [fault] = await put(`{"cidrs":[],"${'x'.repeat(2 ** 19)}":1}`);
  expect(fault).toMatchObject({ field: `${'x'.repeat(300)}…`, code: 'unknown_field' });
});

it('a body with too many objects and lists is rejected before it is parsed, also as lines', async () => {
  const lists = (count: number) => `[${Array(count).fill('[]').join()}]`;
  expect(await put(`{"cidrs":${lists(30_000)}}`)).toMatchObject([{ field: 'body', code: 'invalid_body' }]);
  const line = `{"model":"m","metadata":{"x":${lists(300_000)}}}`;
  const { json } = await world.request('POST', '/v1/runs/bulk', {
    key: org.ownerKey,
    raw: `${line}\n${line}`,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  expect(json.error.details.fields).toMatchObject([{ field: 'runs[1]', code: 'invalid_body' }]);
});

it('an object with too many names is rejected before it is parsed', async () => {
  const names = (count: number) => `{${Array.from({ length: count }, (_, i) => `"n${i}":0`).join()}}`;
  expect(await put(names(1_001))).toMatchObject([{ field: 'body', code: 'invalid_body' }]);
  const many = await world.request('POST', `/v1/orgs/${org.id}/policies/evaluate`, {
    key: org.ownerKey,
    raw: `{"model":"m","metadata":{"x":${names(300_000)}}}`,
    headers: { 'content-type': 'application/json' },
  });
  expect(many.json.error.details.fields).toMatchObject([{ field: 'body', code: 'invalid_body' }]);
});

it('every invalid line is listed, whether it is not JSON or does not match the schema', async () => {
  const { status, json } = await world.request('POST', '/v1/runs/bulk', {
    key: org.ownerKey,
    raw: '{"model":"m","cost_usd":"1"}\n{"model":\n{"model":1}\n{"model":"m","model":"m"}\n[]\n{"model":"m","metadata":{"a":1e400}}',
    headers: { 'content-type': 'application/x-ndjson' },
  });
  const fields = json.error.details.fields as { field: string; code: string }[];
  expect([status, ...fields.map(({ field, code }) => `${field} ${code}`).sort()]).toEqual([
    422,
    'runs[1] invalid_json',
    'runs[2].model invalid_type',
    'runs[3] invalid_json',
    'runs[4] invalid_type',
    'runs[5].metadata.a out_of_range',
  ]);
});

it.each([
  ['{"model":"m","estimated_cost_usd":"0.01","model":"n"}', 'body invalid_json'],
  [
    '{"model":"m","estimated_cost_usd":"0.01","input_tokens":5.00000000000000000001}',
    'input_tokens out_of_range',
  ],
  ['{"model":"m","estimated_cost_usd":"0.01","input_tokens":1e-400}', 'input_tokens out_of_range'],
])('the edge rejects JSON that parsers read differently: %s', async (raw, fault) => {
  const { port } = await world.listen();
  const head = [`Authorization: Bearer ${org.ownerKey}`, 'Content-Type: application/json'];
  const ask = (body: string) =>
    rawRequest('POST', '/v1/edge/decision', [...head, `Content-Length: ${body.length}`], body);
  const client = await RawClient.open(port);
  // The first request fills the caches of the key and the limits, so that the second could take the fast path.
  await client.send(ask('{"model":"m","estimated_cost_usd":"0.01"}'), ask(raw));
  expect((await client.answer()).status).toBe(200);
  const [field] = JSON.parse((await client.answer()).text).error.details.fields;
  expect(`${field.field} ${field.code}`).toBe(fault);
  client.destroy();
});

it('a body in chunks of one byte takes little more memory than its bytes', async () => {
  const { port } = await world.listen();
  const client = await RawClient.open(port);
  // Stored as a list of chunks, the body would take about 150 MB; as bytes, including the overhead of the test, about
  // 20 MB.
  const content = 'x'.repeat(1_000_000);
  const chunks = [...`{"content":"${content}"}`].map((character) => `1\r\n${character}\r\n`).join('');
  const memory = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const before = memory();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, memory());
  }, 10);
  await client.send(
    `POST /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${org.ownerKey}\r\n`,
    `content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  );
  expect((await client.answer()).status).toBe(422);
  clearInterval(watch);
  client.destroy();
  expect(peak - before).toBeLessThan(70 * 2 ** 20);
});
