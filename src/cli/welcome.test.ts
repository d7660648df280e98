import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../config/settings.ts';
import { welcome } from './welcome.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'purser-welcome-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test('names the address and the next steps, and where the operator key is, not the key itself', () => {
  const config = loadConfig({ SVC_DATA_DIR: dataDir });
  expect(welcome(config, 'http://127.0.0.1:8123')).not.toMatch(/Operator key/);
  writeFileSync(join(dataDir, 'operator-key'), 'svc_live_secret');
  const text = welcome(config, 'http://127.0.0.1:8123');
  expect(text).toMatch(/^Purser is ready at http:\/\/localhost:8123\n/);
  for (const step of [
    'init',
    'console-link',
    'http://localhost:8123/docs',
    join(dataDir, 'operator-key'),
    'doctor',
  ]) {
    expect(text).toContain(step);
  }
  expect(text).not.toContain('svc_live_secret');
});

test('names the public URL if there is one', () => {
  const config = loadConfig({ SVC_DATA_DIR: dataDir, SVC_BASE_URL: 'https://purser.example.com' });
  expect(welcome(config, 'http://0.0.0.0:8080')).toMatch(
    /^Purser is ready at https:\/\/purser\.example\.com\n/,
  );
});
