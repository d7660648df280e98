import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pendingRequests, senderOf, storePending, writeSecrets } from './secret-files.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-secrets-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const secretOf = (name: string, secret = `secret of ${name}`) => ({
  section: 'keys',
  name,
  id: `key_${name.length}`,
  secret,
});

test('every secret has a file of its own, whatever the names are', () => {
  const names = [
    'a.new',
    'a',
    'a.new.new',
    '../../etc/passwd',
    '..',
    '.a.new',
    'a/b',
    'a b',
    '鍵'.repeat(200),
  ];
  const files = writeSecrets(
    directory,
    'any',
    names.map((name) => secretOf(name)),
  );
  expect(files.map(({ file }) => readFileSync(file, 'utf8'))).toEqual(
    names.map((name) => `secret of ${name}\n`),
  );
  expect(new Set(files.map(({ file }) => file)).size).toBe(names.length);
  for (const { file } of files) {
    expect(file.startsWith(join(directory, 'any', 'keys/'))).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  expect(readdirSync(join(directory, 'any', 'keys'))).toHaveLength(names.length);
});

test('a file that exists is not replaced, and the same secret again has the same file', () => {
  const [first] = writeSecrets(directory, 'other', [secretOf('a', 'one')]);
  const [second] = writeSecrets(directory, 'other', [secretOf('a', 'two')]);
  const [again] = writeSecrets(directory, 'other', [secretOf('a', 'one')]);
  expect([first, second].map((one) => readFileSync(one?.file ?? '', 'utf8'))).toEqual(['one\n', 'two\n']);
  expect(again?.file).toBe(first?.file);
});

test('a stored request names the keys that get its response again, without the key', () => {
  const key = 'svc_live_abc';
  const request = {
    url: 'http://localhost:8080',
    sender: senderOf(key),
    path: '/v1/admin/configuration',
    body: {},
    org: 'acme',
    idempotencyKey: 'k',
    sentAt: '2026-11-17T00:00:00.000Z',
  };
  const file = storePending(directory, request);
  writeFileSync(join(directory, '.pending', 'left-over.json.new'), '{');
  expect(pendingRequests(directory, request.url)).toEqual([{ file, request }]);
  expect(pendingRequests(directory, 'http://other')).toEqual([]);
  expect(readFileSync(file, 'utf8')).not.toContain(key);
  expect(senderOf('svc_live_other')).not.toBe(request.sender);
});
