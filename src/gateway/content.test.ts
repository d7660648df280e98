import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { engine } from '../../test/harness.ts';
import { eventually } from '../../test/support/eventually.ts';
import { createGatewayWorld, providerKey } from '../../test/support/gateway-world.ts';
import { makePlace } from '../../test/support/test-database.ts';

const prompt = 'canary-prompt-7f3a';
const answer = 'canary-answer-91bc';

function filesIn(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

test('prompts, answers and keys of providers are found neither in files, logs, metrics nor the database', async () => {
  const place = await makePlace({ migrated: true });
  const gateway = await createGatewayWorld({}, { place });
  gateway.provider.wordOf = () => `${answer} `;
  const call = async (more: object) => {
    const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: prompt }], ...more }),
    });
    return response.text();
  };
  const { ledger } = gateway.world.services;
  const post = ledger.post.bind(ledger);
  try {
    expect(await call({})).toContain(answer);
    expect(await call({ stream: true })).toContain(answer);
    gateway.provider.fault = () => ({ cutAfter: 4 });
    expect(await call({ stream: true })).toContain(answer);
    gateway.provider.fault = () => ({ status: 400, body: `{"error":{"message":"${answer}"}}` });
    expect(await call({})).toContain(answer);
    // A settlement on disk.
    gateway.provider.fault = () => {
      ledger.post = () => Promise.reject(new Error('the ledger is away'));
      return undefined;
    };
    await call({});
    const files = await eventually(async () => {
      const texts = filesIn(place.dataDir).map((path) => readFileSync(path).toString('latin1'));
      expect(texts.some((text) => text.includes('"decisionId"'))).toBe(true);
      return texts;
    });
    ledger.post = post;
    const metrics = await gateway.world.request('GET', '/metrics');
    expect(metrics.text).toContain('svc_gateway_calls_total{operation="chat",status="200"}');
    const places = [metrics.text, ...gateway.world.logLines];
    const tables = await gateway.world.db.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
    );
    for (const { name } of tables) {
      const rows = await gateway.world.db.query<{ text: string }>(`SELECT t::text AS text FROM "${name}" t`);
      places.push(...rows.map(({ text }) => text));
    }
    expect(places.length).toBeGreaterThan(engine === 'embedded' ? 10 : 5);
    for (const canary of [prompt, answer, providerKey]) {
      expect([canary, [...places, ...files].filter((text) => text.includes(canary))]).toEqual([canary, []]);
    }
  } finally {
    ledger.post = post;
    await gateway.close();
  }
});
