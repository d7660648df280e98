import { expect, test } from 'vitest';
import { limitOf, limitsOf, scopeOf } from '../../../test/support/ledger-values.ts';
import { creditsDenial } from '../../kernel/denial.ts';
import type { Database } from '../../platform/db/database.ts';
import { createIds } from '../../platform/ids.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { createLimitEvents, type EventLimit } from './limit-events.ts';

test('an org whose limits deny much does not take the places of the events of others', async () => {
  const written: string[] = [];
  const tx = {
    async query(_sql: string, [orgIds]: [string[]]) {
      written.push(...orgIds);
      return [];
    },
  };
  const db = { transaction: (work: (on: typeof tx) => Promise<void>) => work(tx) } as unknown as Database;
  const events = createLimitEvents({
    db,
    ids: createIds(systemClock),
    clock: systemClock,
    orgLimits: { peek: () => undefined, get: () => Promise.reject(new Error('not needed')) },
  });
  const deny = (orgId: string, rateKey: string) =>
    events.rateDenied(orgId, { key_id: 'key_1' }, { capacity: 1n } as EventLimit, rateKey, 'rate_limited');
  for (let n = 0; n < 12_000; n += 1) {
    deny('noisy', `rate ${n}`);
  }
  deny('quiet', 'rate');
  while (await events.job.runOnce()) {
    // Continues with the next batch.
  }
  expect(written).toHaveLength(9_001);
  expect(written.at(-1)).toBe('quiet');
  deny('noisy', 'later');
  await events.job.runOnce();
  expect(written).toHaveLength(9_002);
});

test('a denial for credits whose limits are not cached names the newest pack once they are loaded', async () => {
  const written: unknown[] = [];
  const tx = {
    async query(_sql: string, [orgIds, keys]: [string[], string[]]) {
      written.push([orgIds, keys]);
      return [];
    },
  };
  const db = { transaction: (work: (on: typeof tx) => Promise<void>) => work(tx) } as unknown as Database;
  const pack = (id: string) => limitOf({ id, kind: 'credits', match: { customer_id: 'acme' }, capacity: 1n });
  const limits = limitsOf([pack('pack_1'), pack('pack_2')]);
  let loads = 0;
  const events = createLimitEvents({
    db,
    ids: createIds(systemClock),
    clock: systemClock,
    orgLimits: {
      peek: () => undefined,
      get: async () => {
        loads += 1;
        if (loads === 1) {
          throw new Error('unavailable');
        }
        return limits;
      },
    },
  });
  const scope = scopeOf({ customer_id: 'acme' });
  events.limitDenied('org', scope, creditsDenial(0n, 1n));
  await expect(events.job.runOnce()).rejects.toThrow('unavailable');
  await events.job.runOnce();
  expect(written).toEqual([[['org'], [expect.stringContaining('pack_2')]]]);
});
