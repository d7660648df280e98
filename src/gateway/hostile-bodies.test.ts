/** Bodies that would take long to parse, or much memory. Each is an error in the format of the provider, or is served. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();

beforeAll(() => {
  gateway.connections = [connectionTo(gateway.provider.url), connectionTo(gateway.provider.url, 'anthropic')];
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
});

const paths = {
  chat: '/openai/v1/chat/completions',
  messages: '/anthropic/v1/messages',
  count: '/anthropic/v1/messages/count_tokens',
  embeddings: '/openai/v1/embeddings',
};
const models = { chat: 'gpt-test', messages: 'claude-test', count: 'claude-test', embeddings: 'embed-test' };

async function send(to: keyof typeof paths, members: string) {
  const response = await fetch(gateway.url + paths[to], {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: `{"model":"${models[to]}","max_tokens":10,${members}}`,
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const names = (count: number, of: (index: number) => string) =>
  `{${Array.from({ length: count }, (_, index) => `"${of(index)}":1`).join()}}`;
const tooLarge: readonly (readonly [string, string, string])[] = [
  ['2 MB of nested lists', `"x":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`, 'nested more than 64'],
  ['nested objects', `"x":${'{"content":'.repeat(50_000)}1${'}'.repeat(50_000)}`, 'nested more than 64'],
  ['a million members', `"x":${names(1_000_000, (index) => `n${index}`)}`, 'more than 1000 names'],
  ['names of 1 MB that repeat', `"x":${names(2, () => 'n'.repeat(1_000_000))}`, 'longer than 10000 bytes'],
  ['millions of values', `"messages":[${'{},'.repeat(1_000_000)}{}]`, 'more than 100000 values'],
];

test.each(tooLarge)(
  '%s are rejected in the format of the provider, and not sent',
  async (_, members, rule) => {
    const message = expect.stringContaining(rule);
    expect(await send('chat', members)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_body', type: 'invalid_request_error', message } },
    });
    for (const to of ['messages', 'count'] as const) {
      expect(await send(to, members)).toMatchObject({
        status: 400,
        json: { type: 'error', error: { type: 'invalid_request_error', message } },
      });
    }
    expect(gateway.provider.requests).toEqual([]);
  },
);

test('as many values as agents and batches of embeddings send are served', async () => {
  const messages = Array.from(
    { length: 9_000 },
    () => '{"role":"user","content":[{"type":"text","text":"a"}]}',
  );
  expect(await send('chat', `"messages":[${messages.join()}]`)).toMatchObject({ status: 200 });
  const tokens = Array.from({ length: 300_000 }, () => '12345').join();
  expect(await send('embeddings', `"input":[${tokens}]`)).toMatchObject({ status: 200 });
});

test('calls of another organization are served while a large body is scored', async () => {
  const { world } = gateway;
  const other = await world.createOrg();
  const { secret } = await world.mintKey(other, 'member', ['gateway:call']);
  const ends: string[] = [];
  const large = send('chat', `"messages":[{"role":"user","content":"${'#!?* %&= '.repeat(400_000)}"}]`).then(
    ({ status }) => {
      ends.push('large');
      return status;
    },
  );
  const small = Array.from({ length: 5 }, async () => {
    const response = await fetch(gateway.url + paths.chat, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: '{"model":"gpt-test","max_tokens":10,"messages":[{"role":"user","content":"Hello"}]}',
    });
    await response.text();
    ends.push('small');
    return response.status;
  });
  expect(await Promise.all(small)).toEqual([200, 200, 200, 200, 200]);
  expect([200, 402]).toContain(await large);
  expect(ends).toEqual(['small', 'small', 'small', 'small', 'small', 'large']);
});
