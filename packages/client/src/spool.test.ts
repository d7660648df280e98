/** Settlements survive the process and the absence of the service, and a full spool breaks no call. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { createDiskSpool } from './disk-spool.ts';
import { createPurser, type Purser, type PurserOptions, SpoolFullError } from './node.ts';
import type { ClientErrorContext } from './settlements.ts';

const gateway = useGatewayWorld();
let key: string;
let directory: string;
let isAway = false;
const failures: { error: unknown; context: ClientErrorContext }[] = [];

const request = { model: 'gpt-test', input_tokens: 100, max_output_tokens: 50 };
const usage = { input_tokens: 10, output_tokens: 2 };

function client(options: PurserOptions = {}): Purser {
  return createPurser({
    url: gateway.url,
    key,
    timeoutMs: 600_000,
    requestTimeoutMs: 600_000,
    maxRetries: 0,
    spool: directory,
    fetch: (input, init) =>
      isAway && String(input).endsWith('/v1/runs')
        ? Promise.reject(new TypeError('away'))
        : fetch(input, init),
    onError: (error, context) => failures.push({ error, context }),
    ...options,
  });
}

const guarded = (purser: Purser, external_id: string) =>
  purser.guard({ ...request, external_id }, (call) => {
    call.used(usage);
    return external_id;
  });

const recorded = async (externalId: string) =>
  (await gateway.runs()).filter(({ external_id }) => external_id === externalId);

beforeAll(async () => {
  ({ secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']));
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-spool-'));
});
afterEach(() => {
  isAway = false;
  failures.length = 0;
  rmSync(directory, { recursive: true, force: true });
});

test('what a process leaves behind is posted by the next one, once', async () => {
  isAway = true;
  const first = client();
  await guarded(first, 'left behind');
  first.close();
  await first.flush();
  expect(readdirSync(directory)).toHaveLength(1);
  expect(await recorded('left behind')).toEqual([]);

  isAway = false;
  // Two processes that start at once both find it.
  await Promise.all([client().flush(), client().flush()]);
  expect(await recorded('left behind')).toMatchObject([{ cost_usd: '0.00003' }]);
  expect(readdirSync(directory)).toEqual([]);
  expect(await gateway.holds()).toBe(0);
  expect(failures).toEqual([]);
});

test('while the service is away settlements are tried again by the same process', async () => {
  isAway = true;
  const purser = client();
  await guarded(purser, 'tried again');
  isAway = false;
  await purser.flush();
  expect(await recorded('tried again')).toHaveLength(1);
  expect(readdirSync(directory)).toEqual([]);
});

test.each([50, 51, 200])('an external id of %i characters is in the spool too', async (characters) => {
  isAway = true;
  const externalId = 'é'.repeat(characters);
  const purser = client();
  await guarded(purser, externalId);
  expect(failures).toEqual([]);
  expect(readdirSync(directory)).toHaveLength(1);
  isAway = false;
  await purser.flush();
  expect(await recorded(externalId)).toHaveLength(1);
  expect(readdirSync(directory)).toEqual([]);
});

test('retries leave no listeners behind', async () => {
  let attempts = 0;
  const removed = vi.spyOn(AbortSignal.prototype, 'removeEventListener');
  const purser = client({
    fetch: (input, init) => {
      attempts += String(input).endsWith('/v1/runs') ? 1 : 0;
      return String(input).endsWith('/v1/runs') && attempts <= 3
        ? Promise.reject(new TypeError('away'))
        : fetch(input, init);
    },
  });
  await guarded(purser, 'retried often');
  await purser.flush();
  expect(attempts).toBe(4);
  // One for each pause. Requests may remove others.
  expect(removed.mock.calls.length).toBeGreaterThanOrEqual(3);
  vi.restoreAllMocks();
});

test('a full spool calls the error hook, and the call and its settlement succeed', async () => {
  const purser = client({ spool: { directory, maxBytes: 10 } });
  expect(await guarded(purser, 'too large')).toBe('too large');
  await purser.flush();
  expect(failures).toMatchObject([
    { context: { operation: 'spool', settlement: { external_id: 'too large' } } },
  ]);
  expect(failures[0]?.error).toBeInstanceOf(SpoolFullError);
  expect(await recorded('too large')).toHaveLength(1);
});

test('a spool that cannot be created breaks no call either', async () => {
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const purser = client({ spool: join(file, 'spool') });
  expect(await guarded(purser, 'no directory')).toBe('no directory');
  await purser.flush();
  expect(failures.every(({ context }) => context.operation === 'spool')).toBe(true);
  expect(await recorded('no directory')).toHaveLength(1);
});

test('a settlement that the service rejects for good is set aside, and counts for the size of the spool', async () => {
  const spool = createDiskSpool({ directory });
  await spool.add({ external_id: 'unknown decision', model: 'gpt-test', decision_id: 'dec_none', ...usage });
  await client().flush();
  expect(failures).toMatchObject([
    { context: { operation: 'settle' }, error: { code: 'validation_failed' } },
  ]);
  expect(readdirSync(directory).map((name) => name.split('.')[1])).toEqual(['rejected']);
  failures.length = 0;
  await client().flush();
  expect(failures).toEqual([]);
});

test('a file that is not a settlement is reported, and the others are posted', async () => {
  writeFileSync(join(directory, 'aa.json'), '{"external_id":');
  const spool = createDiskSpool({ directory, sync: true });
  await spool.add({ external_id: 'beside it', model: 'gpt-test', ...usage });
  await client().flush();
  expect(await recorded('beside it')).toHaveLength(1);
  expect(failures).toMatchObject([{ context: { operation: 'spool' } }]);
});

test('memory is bounded: settlements beyond the maximum are reported', async () => {
  isAway = true;
  const purser = createPurser({
    url: gateway.url,
    key,
    timeoutMs: 600_000,
    requestTimeoutMs: 600_000,
    maxRetries: 0,
    pendingMax: 1,
    fetch: (input, init) =>
      isAway && String(input).endsWith('/v1/runs')
        ? Promise.reject(new TypeError('away'))
        : fetch(input, init),
    onError: (error, context) => failures.push({ error, context }),
  });
  await purser.flush();
  await guarded(purser, 'kept');
  await guarded(purser, 'dropped');
  expect(failures).toMatchObject([
    { context: { operation: 'settle', settlement: { external_id: 'dropped' } } },
  ]);
  isAway = false;
  await purser.flush();
  expect(await recorded('kept')).toHaveLength(1);
});
