import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scratch } from '../../../../test/support/scratch.ts';
import { createLog } from '../../log.ts';
import type { ServerIdentity } from './server-identity.ts';
import { TimelineGuard } from './timeline-guard.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(scratch, 'purser-timeline-'));
  file = join(directory, 'data', 'database-timeline.json');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const newGuard = () => new TimelineGuard({ file, log: createLog('silent') });
const server = (timeline: number | undefined, systemId: string | undefined = 'one'): ServerIdentity => ({
  isStandby: false,
  isReadOnly: false,
  systemId,
  timeline,
  startedAt: 'then',
  isPooled: false,
});

test('refuses an older timeline than the newest, and accepts the newest again', () => {
  const guard = newGuard();
  expect(guard.check(server(2))).toBeUndefined();
  expect(guard.check(server(3))).toBeUndefined();
  expect(guard.check(server(2))).toContain('its timeline 2 is older than 3');
  expect([2, 3, 4, undefined].map((timeline) => guard.isCurrent(timeline))).toEqual([
    false,
    true,
    true,
    true,
  ]);
  expect(guard.check(server(3))).toBeUndefined();
});

test('remembers the newest timeline after a restart', () => {
  newGuard().check(server(3));
  expect(newGuard().check(server(2))).toContain('older than 3');
});

test('learns of a newer timeline from another process with the same data directory', () => {
  const guard = newGuard();
  guard.check(server(1));
  newGuard().check(server(2));
  guard.refresh();
  expect(guard.check(server(1))).toContain('older than 2');
});

test('does not replace a newer timeline in the file', () => {
  const guard = newGuard();
  guard.check(server(1));
  newGuard().check(server(3));
  expect(guard.check(server(2))).toContain('older than 3');
  expect(newGuard().newest?.timeline).toBe(3);
});

test('goes back to an older timeline once an operator has accepted it, also in running processes', () => {
  const guard = newGuard();
  guard.check(server(2));
  newGuard().accept(server(1));
  guard.refresh();
  expect(guard.check(server(1))).toBeUndefined();
  expect(guard.check(server(2))).toBeUndefined();
  expect(guard.check(server(1))).toContain('older than 2');
});

test('accepts another database system at a start, and refuses it later', () => {
  newGuard().check(server(5, 'one'));
  const guard = newGuard();
  expect(guard.check(server(1, 'other'))).toBeUndefined();
  expect(guard.check(server(5, 'one'))).toContain('another database system');
});

test('lets a server pass whose timeline cannot be read, and stores nothing', () => {
  const guard = newGuard();
  expect(guard.check(server(undefined, undefined))).toBeUndefined();
  expect(existsSync(file)).toBe(false);
});

test('stops the start if the file is damaged, and names it', () => {
  newGuard().check(server(1));
  writeFileSync(file, '{"timeline": "two"}');
  expect(newGuard).toThrow(`${file} does not contain the timeline`);
});
