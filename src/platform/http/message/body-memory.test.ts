import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { FairShare } from '../../fair-share.ts';
import { readJsonBody } from './body.ts';
import { bodyMemoryOf } from './body-memory.ts';

/** A body of which only the beginning has arrived. Returns a function that ends it, and the result of reading it. */
function beginBody(pool: FairShare, owner: string, bytes: number) {
  const stream = new PassThrough();
  const request = Object.assign(stream, {
    headers: { 'content-type': 'application/json' },
  }) as unknown as IncomingMessage;
  const read = readJsonBody(request, {} as ServerResponse, {
    limitBytes: 1_048_576,
    optional: false,
    memory: { pool, owner },
  });
  read.catch(() => undefined);
  stream.write(`{"text":"${'x'.repeat(bytes)}`);
  return { read, finish: () => stream.end('"}'), abort: () => stream.destroy(new Error('gone')) };
}

const turn = () => new Promise(setImmediate);
const refused = { code: 'service_unavailable' };

describe('bodies that arrive slowly', () => {
  test('slowly arriving bodies of one tenant do not use the memory of the others', async () => {
    const pool = new FairShare({ capacity: 1_000_000, shareMax: 50_000 });
    const noisy = Array.from({ length: 60 }, () => beginBody(pool, 'noisy', 20_000));
    await turn();
    expect(pool.used).toBeLessThanOrEqual(900_000);
    const quiet = beginBody(pool, 'quiet', 20_000);
    await turn();
    quiet.finish();
    expect((await quiet.read).value).toHaveProperty('text');
    for (const { finish } of noisy) {
      finish();
    }
    const results = await Promise.allSettled(noisy.map(({ read }) => read));
    const reasons = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasons[0]).toMatchObject(refused);
    // Everything is released, also by bodies that were refused.
    expect(pool.used).toBe(0);
  });

  test('release their memory if the client leaves', async () => {
    const pool = new FairShare({ capacity: 1_000_000 });
    const body = beginBody(pool, 'leaving', 20_000);
    await turn();
    expect(pool.used).toBeGreaterThan(0);
    body.abort();
    await expect(body.read).rejects.toMatchObject({ code: 'validation_failed' });
    expect(pool.used).toBe(0);
  });
});

test('clients that are not identified share a pool of their own, by address', () => {
  const anonymous = bodyMemoryOf(undefined, '192.0.2.1');
  const tenant = bodyMemoryOf('org_1', '192.0.2.1');
  expect(anonymous.pool).not.toBe(tenant.pool);
  expect(bodyMemoryOf(undefined, '192.0.2.2').owner).not.toBe(anonymous.owner);
  expect(bodyMemoryOf('org_2', '192.0.2.1')).toMatchObject({ owner: 'org_2', pool: tenant.pool });
});
