/** `purser init` with and without a running service, and the commands it prints, executed by a shell. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { operatorKey, type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
let service: ServiceProcess;
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

async function init(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPurser(['init', ...args], settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

async function complaint(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPurser(['init', ...args], settings);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr, 'a sentence, not a stack').not.toMatch(/^ +at /m);
  return stderr;
}

/** Runs the script, and returns the JSON response of each command. Lines that are not commands must be comments. */
function answersOf(script: string) {
  return execFileSync('sh', ['-euc', script], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/**
 * First without a service, then with one that is started later. Each test continues from the state that the previous
 * test left.
 */
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  const { SVC_BOOTSTRAP_OPERATOR_KEY: _, ...others } = settingsOf(place);
  settings = { ...others, SVC_PORT: String(await freePort()) };
});
const keyFile = () => readFileSync(join(place.dataDir, 'operator-key'), 'utf8').trim();

test('without a service it works on the database itself, and its lines wait for one', async () => {
  expect(await complaint('--url', `http://127.0.0.1:${settings.SVC_PORT}`)).toContain('no service at');
  const script = await init('--cap', '0.000000004');
  expect(script).toContain('npm start');
  const made = keyFile();
  service = await startPurser(settings);
  expect(keyFile(), 'the operator key was made by init').toBe(made);
  const [allowed, refused] = answersOf(script);
  expect([allowed.decision, refused.error.code]).toEqual(['allow', 'spend_cap_exceeded']);
});

test('finds the running service, and its lines are two decisions and a run with every check', async () => {
  const script = await init('--name', "O'Hara & Co", '--timezone', 'Europe/Berlin', '--cap', '2');
  const [allowed, refused, completed, ...rest] = answersOf(script);
  expect(rest).toEqual([]);
  expect(completed).toMatchObject({ status: 'succeeded', cost_usd: '0.5', marks: [] });
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

test('takes the operator key from the data directory, or as the settings say', async () => {
  const { json } = await service.request('GET', '/v1/admin/orgs', { key: keyFile() });
  expect(json.data.map(({ name }: { name: string }) => name).sort()).toEqual([
    'My organization',
    "O'Hara & Co",
  ]);
  const wrong = { ...settings, SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey };
  const { code, stderr } = await runPurser(['init'], wrong);
  expect([code, stderr]).toEqual([1, expect.stringContaining('returned 401')]);
});

test('says what is wrong, in a sentence', async () => {
  expect(await complaint('--cap', '0')).toContain('--cap');
  expect(await complaint('--cap', 'much')).toContain('--cap');
  expect(await complaint('--timezone', 'Mars/Olympus')).toContain('timezone');
  expect(await complaint('--url', `${service.url}/elsewhere`)).toContain('returned 404');
});
