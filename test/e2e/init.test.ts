/** `purser init`, with a service that runs and without one; and the lines that it prints, as a shell runs them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endAllProcesses, processTimeouts, runPurser } from '../support/child-process.ts';
import { freePort } from '../support/postgres-cluster.ts';
import { operatorKey, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

vi.setConfig(processTimeouts);

let place: Place;
let settings: Record<string, string>;
beforeEach(async () => {
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), SVC_PORT: String(await freePort()) };
});
afterEach(async () => {
  await endAllProcesses();
  await place.remove();
});

async function init(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPurser(['init', ...args], settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** What each command of the script answered. Whatever is no command has to be a comment. */
function answersOf(script: string) {
  return execFileSync('sh', ['-euc', script], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('finds the running service, and its lines are one allowed and one refused decision', async () => {
  await startPurser(settings);
  const script = await init('--name', "O'Hara & Co", '--timezone', 'Europe/Berlin', '--cap', '2');
  const [allowed, refused, ...rest] = answersOf(script);
  expect(rest).toEqual([]);
  expect(allowed).toMatchObject({
    decision: 'allow',
    held_usd: '0.5',
    limits: [{ kind: 'spend_cap', remaining: '1.5' }],
  });
  expect(refused.error).toMatchObject({
    code: 'spend_cap_exceeded',
    details: { cap_usd: '2', spent_usd: '0.5', attempted_usd: '2', reason: 'pre_flight' },
  });
  expect(refused.error.details.resets_at).toMatch(/T00:00:00\.000\+0[12]:00$/);
  expect(script).toContain("O'Hara & Co");
});

test('without a service it works on the database itself, and its lines wait for one', async () => {
  const script = await init('--cap', '0.000000001');
  expect(script).toContain('npm start');
  await startPurser(settings);
  const [allowed, refused] = answersOf(script);
  expect([allowed.decision, refused.error.code]).toEqual(['allow', 'spend_cap_exceeded']);
});

test('takes the operator key from the data directory, and makes it where there is none', async () => {
  const { SVC_BOOTSTRAP_OPERATOR_KEY: _, ...others } = settings;
  settings = others;
  await init();
  const made = readFileSync(join(place.dataDir, 'operator-key'), 'utf8').trim();
  expect(made).not.toBe(operatorKey);
  const service = await startPurser(settings);
  expect(answersOf(await init('--name', 'Second'))[0].decision).toBe('allow');
  const { json } = await service.request('GET', '/v1/admin/orgs', { key: made });
  expect(json.data.map(({ name }: { name: string }) => name).sort()).toEqual(['My organization', 'Second']);
});

test('says what is wrong, in a sentence', async () => {
  const complaint = async (...args: string[]) => {
    const { code, stdout, stderr } = await runPurser(['init', ...args], settings);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr, 'a sentence, not a stack').not.toMatch(/^ +at /m);
    return stderr;
  };
  expect(await complaint('--cap', '0')).toContain('--cap');
  expect(await complaint('--cap', 'much')).toContain('--cap');
  expect(await complaint('--url', `http://127.0.0.1:${settings.SVC_PORT}`)).toContain('no service answers');
  const service = await startPurser(settings);
  expect(await complaint('--timezone', 'Mars/Olympus')).toContain('timezone');
  expect(await complaint('--url', `${service.url}/elsewhere`)).toContain('answered 404');
});
