import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDocuments } from './documents.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'purser-documents-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(content: string | Buffer) {
  const file = join(folder, 'purser.yaml');
  writeFileSync(file, content);
  return readDocuments([file]);
}

test.each(['1e400', '-1e400', '.inf', '.nan'])(
  'the number %s is rejected, because JSON would turn it into null: no limit',
  async (number) => {
    await expect(read(`chain_budget:\n  max_tokens: ${number}\n`)).rejects.toThrow(
      /purser\.yaml:2:15 The number is too large/,
    );
  },
);

test('amounts are text, so that no digit is lost', async () => {
  const [document] = await read('budgets: [{ limit_usd: 0.10 }, { limit_usd: 1e400 }]');
  expect(document?.configuration).toEqual({ budgets: [{ limit_usd: '0.10' }, { limit_usd: '1e400' }] });
});

test('a file that is not UTF-8 is rejected, and a byte order mark is not part of it', async () => {
  await expect(read(Buffer.from('org: { name: Caf\xe9 }', 'latin1'))).rejects.toThrow('not encoded in UTF-8');
  const [document] = await read(Buffer.from('\ufefforg: { name: Café }', 'utf8'));
  expect(document?.configuration).toEqual({ org: { name: 'Café' } });
});

test.each([
  ['aliases that multiply', `a0: &a0 [x, x]\n${bomb()}`, /alias/],
  ['deep nesting', `org: ${'['.repeat(20_000)}${']'.repeat(20_000)}`, /call stack/],
  ['a name twice', 'org: { slug: a, slug: b }', /must be unique/],
  ['an empty file', '', /no configuration/],
  ['a list', '- org', /must be an object/],
])('%s: rejected', async (_case, content, message) => {
  await expect(read(content)).rejects.toThrow(message);
});

function bomb(): string {
  return Array.from({ length: 20 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n');
}

test('the URL of a webhook is written as it is, or refers to a variable that is set', async () => {
  process.env.PURSER_TEST_CHAT_URL = 'https://chat.example/canary';
  try {
    const [document] = await read(
      'webhooks: [{ url: { env: PURSER_TEST_CHAT_URL } }, { url: "https://receiver.example/" }]',
    );
    expect(document?.configuration).toEqual({
      webhooks: [{ url: 'https://chat.example/canary' }, { url: 'https://receiver.example/' }],
    });
  } finally {
    delete process.env.PURSER_TEST_CHAT_URL;
  }
  await expect(read('webhooks: [{ url: { env: PURSER_TEST_CHAT_URL } }]')).rejects.toThrow(
    /purser\.yaml:1:19 url: the variable PURSER_TEST_CHAT_URL is not set/,
  );
});

test('a secret of credentials refers to a variable or a file, and is never in the file itself', async () => {
  process.env.PURSER_TEST_CLIENT_SECRET = 'canary';
  try {
    const item = (secret: string) =>
      `connections: [{ name: a, credentials: { source: static, client_id: c, client_secret: ${secret} } }]`;
    const [document] = await read(item('{ env: PURSER_TEST_CLIENT_SECRET }'));
    const credentials = { source: 'static', client_id: 'c', client_secret: 'canary' };
    expect(document?.configuration).toEqual({ connections: [{ name: 'a', credentials }] });
    await expect(read(item('plain'))).rejects.toThrow('Secrets do not belong in the file.');
  } finally {
    delete process.env.PURSER_TEST_CLIENT_SECRET;
  }
});
