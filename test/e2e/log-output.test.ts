/** A log that cannot be written does not end the service, on either engine. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { operatorKey, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));

let place: Place;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
});
afterEach(endAllProcesses);
afterAll(() => place?.remove());

async function expectDroppedLines(url: string): Promise<void> {
  await eventually(async () => {
    const org = await fetch(`${url}/v1/admin/orgs`, { headers: { authorization: `Bearer ${operatorKey}` } });
    expect(org.status).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const [, dropped] = /^svc_log_lines_dropped_total (\d+)$/m.exec(metrics) ?? [];
    expect(Number(dropped)).toBeGreaterThan(0);
  });
}

test('a full disk under the log drops lines and nothing else', async () => {
  const full = openSync('/dev/full', 'w');
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    cwd: repository,
    env: { PATH: process.env.PATH, ...settingsOf(place), SVC_PORT: String(port), SVC_LOG_LEVEL: 'trace' },
    stdio: ['ignore', full, full],
  });
  closeSync(full);
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  try {
    await expectDroppedLines(`http://127.0.0.1:${port}`);
  } finally {
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  }
});

test('a closed pipe under the log drops lines and nothing else', async () => {
  const service = await startPurser({ ...settingsOf(place), SVC_LOG_LEVEL: 'trace' });
  service.spawned.child.stdout?.destroy();
  service.spawned.child.stderr?.destroy();
  await expectDroppedLines(service.url);
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
});
