/** Operations that the corpus lists as not served: the gateway forwards none of them, so that none is free by accident. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCorpus } from '../support/corpus.ts';
import { connectionTo, useGatewayWorld } from '../support/gateway-world.ts';

interface NotServed {
  readonly reasons: Readonly<Record<string, string>>;
  readonly shapes: readonly {
    readonly provider: string;
    readonly operation: string;
    /** Names of the counts in the response. */
    readonly usage: readonly string[];
    readonly reason: string;
  }[];
}

const { reasons, shapes }: NotServed = JSON.parse(
  readFileSync(join(import.meta.dirname, 'not-served.json'), 'utf8'),
);
const operations = [...new Set(shapes.map(({ operation }) => operation))];
const bases = ['/openai', '/anthropic', '/compat/compatible'];
const gateway = useGatewayWorld();

test('every listed shape has a known reason and names its counts', () => {
  expect(shapes.filter(({ reason, usage }) => reasons[reason] === undefined || usage.length === 0)).toEqual(
    [],
  );
  expect(new Set(shapes.map(({ reason }) => reason))).toEqual(new Set(Object.keys(reasons)));
});

test.each(operations)(
  'the gateway answers %s with 404, and charges and forwards nothing',
  async (operation) => {
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'compatible' })];
    const [method = '', template = ''] = operation.split(' ');
    const path = template.replaceAll(/\{\w+\}/g, 'gpt-4o');
    const paths = [...bases.map((base) => base + path), ...(path.startsWith('/openai/') ? [path] : [])];
    for (const each of paths) {
      const response = await fetch(gateway.url + each, {
        method,
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        ...(method === 'POST' && { body: JSON.stringify({ model: 'gpt-4o', input: 'Hello' }) }),
      });
      await response.arrayBuffer();
      expect([each, response.status]).toEqual([each, 404]);
    }
    expect(await gateway.holds()).toBe(0);
    expect(await gateway.runs()).toEqual([]);
    expect(gateway.provider.requests).toEqual([]);
  },
);

test('every response of the corpus costs something, unless its provider states that it is free', () => {
  const free = readCorpus().filter(
    ({ expected: { is_estimated, is_stated, cost_usd } }) =>
      is_estimated !== true && is_stated !== true && !(Number(cost_usd) > 0),
  );
  expect(free.map(({ id }) => id)).toEqual([]);
});
