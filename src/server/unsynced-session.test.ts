import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePlace } from '../../test/support/test-database.ts';
import { loadConfig } from '../config/settings.ts';
import type { Durability } from '../platform/files/durable-files.ts';
import { createLog } from '../platform/log.ts';
import { startService } from './service.ts';
import { beginSession } from './unsynced-session.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'purser-session-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const started = new Date('2026-11-18T10:00:00Z');

/** Begins a session, and returns it with the messages that it logged. */
function begin(boot: string | undefined, durability: Durability = 'os') {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const session = beginSession({ config: { dataDir, durability }, log, now: started, boot });
  return { session, lines };
}

test('warns once if the machine went down during a session that the operating system had to write', () => {
  begin('boot 1');
  const { lines } = begin('boot 2');
  expect(lines).toMatchObject([
    {
      level: 'warn',
      sessionStartedAt: started.toISOString(),
      msg: expect.stringMatching(/^the machine went down while .+ may be missing\./),
    },
  ]);
  expect(begin('boot 2').lines).toEqual([]);
});

test('does not warn after a process that was killed, or that stopped cleanly before the machine went down', async () => {
  begin('boot 1');
  const { session, lines } = begin('boot 1');
  expect(lines).toEqual([]);
  await session.end();
  expect(readdirSync(dataDir)).toEqual([]);
  expect(begin('boot 2').lines).toEqual([]);
});

test('warns also if the next session syncs its writes, and then no more', () => {
  begin('boot 1');
  expect(begin('boot 2', 'sync').lines).toHaveLength(1);
  expect(begin('boot 3', 'sync').lines).toEqual([]);
});

test.each([
  ['the machine had no boot id', JSON.stringify({ boot: null, startedAt: started.toISOString() })],
  ['the mark was cut off', '{"boo'],
])('says that it cannot know whether the machine went down if %s', (_, text) => {
  writeFileSync(join(dataDir, 'unsynced-session.json'), text);
  expect(begin('boot 1').lines).toMatchObject([
    { isBootKnown: false, msg: expect.stringMatching(/^the service did not stop cleanly .+ If the machine/) },
  ]);
});

test('a service marks its session from the start to a clean stop', async () => {
  const place = await makePlace({ migrated: true });
  const service = await startService({
    config: loadConfig({ SVC_DATA_DIR: place.dataDir, SVC_PORT: '0', SVC_DURABILITY: 'os' }),
    log: createLog('silent'),
  });
  expect(readdirSync(place.dataDir)).toContain('unsynced-session.json');
  await service.stop();
  expect(readdirSync(place.dataDir)).not.toContain('unsynced-session.json');
  await place.remove();
});
