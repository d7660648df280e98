/** A batch of charges that follows another one before its commit is known. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { limitOf, usd } from '../../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../../test/support/ledger-world.ts';
import { engine } from '../../../test/support/test-database.ts';
import type { Database, StartTransaction } from '../../platform/db/database.ts';

let world: LedgerWorld;
/** The next ledger transaction takes some time before its commit, and fails if this is set. */
let slow: { readonly fails: boolean } | undefined;
/** Every ledger transaction fails as if one of its runs existed. */
let violates = false;
/** Number of transactions that were started before the commit of another one was known. */
let followed = 0;

function slowsTransactions(db: Database): Database {
  return {
    ...db,
    transaction(work, options) {
      const now = slow;
      slow = undefined;
      const committing = (start: StartTransaction) =>
        options?.committing?.((nextWork, nextOptions) => {
          followed += 1;
          return start(nextWork, nextOptions);
        });
      return db.transaction(
        async (tx) => {
          // Not awaited, so that the commit is sent at once. The next charge arrives during the first of these, and is decided during
          // the second.
          if (now !== undefined) {
            await tx.pipelined.query('SELECT pg_sleep(0.1)', []);
          }
          const done = await work(tx);
          if (violates) {
            await tx.query(
              `DO $$ BEGIN RAISE unique_violation USING CONSTRAINT = 'run_identities_external'; END $$`,
              [],
            );
          }
          if (now !== undefined) {
            await tx.pipelined.query('SELECT pg_sleep(0.1)', []);
            await tx.pipelined.query('SELECT 1 / $1::int', [now.fails ? 0 : 1]);
          }
          return done;
        },
        options?.committing === undefined ? options : { ...options, committing },
      );
    },
  };
}

beforeAll(async () => {
  world = await LedgerWorld.open({ wrap: slowsTransactions });
});
beforeEach(() => {
  followed = 0;
});
afterAll(() => world.close());

async function newOrg(): Promise<string> {
  const orgId = await world.orgWith(
    limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10'), thresholds: [50] }),
  );
  // Loads the state of the org.
  await world.posted(orgId, '0');
  return orgId;
}

/** Posts a charge, which is being committed when this returns. */
async function startPosting(
  orgId: string,
  dollars: string,
  { fails = false, externalId = null as string | null } = {},
) {
  slow = { fails };
  const result = world.post(orgId, dollars, { externalId });
  // Its batch has been taken from the queue by now, so the next charge is in another batch.
  await new Promise((resolve) => setTimeout(resolve, 30));
  return { result };
}

/** Posts the first charge, and the second one while the first is being committed. */
async function postBoth(
  orgId: string,
  [first, second]: readonly [string, string],
  { fails = false, externalId = null as string | null } = {},
) {
  const { result } = await startPosting(orgId, first, { fails, externalId });
  return Promise.allSettled([result, world.post(orgId, second, { externalId })]);
}

const settled = async (orgId: string) => Object.values(await world.counters(orgId));

describe.runIf(engine === 'embedded')('a charge that arrives while another one is being committed', () => {
  test('a charge that arrives while another one is being committed is posted after it, and counted with it', async () => {
    const orgId = await newOrg();
    expect(await postBoth(orgId, ['1', '2'])).toMatchObject([
      { value: { kind: 'done' } },
      { value: { kind: 'done' } },
    ]);
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('3')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a charge that arrives while another one is being committed is denied if both together exceed a limit', async () => {
    const orgId = await newOrg();
    expect(await postBoth(orgId, ['8', '3'])).toMatchObject([
      { value: { kind: 'done' } },
      { value: { kind: 'denied' } },
    ]);
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('8')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a charge that arrives while another one is being committed is decided again if it was denied because of one that was rolled back', async () => {
    const orgId = await newOrg();
    expect(await postBoth(orgId, ['8', '3'], { fails: true })).toMatchObject([
      { status: 'rejected' },
      { value: { kind: 'done' } },
    ]);
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('3')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a charge that arrives while another one is being committed stays posted if the one before is rolled back', async () => {
    const orgId = await newOrg();
    expect(await postBoth(orgId, ['1', '2'], { fails: true })).toMatchObject([
      { status: 'rejected' },
      { value: { kind: 'done' } },
    ]);
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('2')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test.each([
    ['committed', false, 1],
    ['rolled back', true, 0],
  ])(
    'emits the alert of a threshold that both reach together exactly if the one before is %s',
    async (_, fails, alerts) => {
      const orgId = await newOrg();
      await postBoth(orgId, ['3', '2'], { fails });
      expect(followed).toBe(1);
      const emitted = await world.db.query('SELECT threshold FROM limit_alerts WHERE org_id = $1', [orgId]);
      expect(emitted).toHaveLength(alerts);
    },
  );

  test.each([
    ['is the same run', false, 'existing'],
    ['is a new run if the one before is rolled back', true, 'posted'],
  ])('with its external_id %s', async (_, fails, kind) => {
    const orgId = await newOrg();
    const [, second] = await postBoth(orgId, ['1', '1'], { fails, externalId: 'x' });
    expect(second).toMatchObject({ value: { kind: 'done', outcomes: [{ kind }] } });
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('1')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test.each([
    ['is that run', '1', 'sent once', { kind: 'done', outcomes: [{ kind: 'existing' }] }],
    [
      'is that run, also if it would exceed a limit',
      '9',
      'sent once',
      { kind: 'done', outcomes: [{ kind: 'existing' }] },
    ],
    ['conflicts with it if its content differs', '1', 'changed', { kind: 'external_id_conflict' }],
  ])('with the external_id of an earlier run %s', async (_, dollars, contentDigest, value) => {
    const orgId = await newOrg();
    await world.posted(orgId, '1', { externalId: 'x', contentDigest: 'sent once' });
    const { result: first } = await startPosting(orgId, '2', { externalId: 'y' });
    const known = world.post(orgId, dollars, { externalId: 'x', contentDigest });
    const other = world.post(orgId, '3', { externalId: 'z' });
    expect(await known).toMatchObject(value);
    expect(await Promise.all([first, other])).toMatchObject([{ kind: 'done' }, { kind: 'done' }]);
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('6')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a charge with a new external_id is denied if both together exceed a limit with the one that is being committed', async () => {
    const orgId = await newOrg();
    const { result: first } = await startPosting(orgId, '8');
    expect(await world.post(orgId, '3', { externalId: 'x' })).toMatchObject({ kind: 'denied' });
    expect(await first).toMatchObject({ kind: 'done' });
    expect(followed).toBe(1);
    expect(await settled(orgId)).toEqual([`${usd('8')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  });
});

test.runIf(engine === 'embedded')(
  'a batch is decided again only if it was decided without searching for its runs',
  async () => {
    const orgId = await newOrg();
    violates = true;
    try {
      await expect(world.post(orgId, '1', { externalId: 'x' })).rejects.toMatchObject({ code: '23505' });
    } finally {
      violates = false;
    }
    expect(await settled(orgId)).toEqual([`${usd('0')}+0`]);
    expect(await world.audit(orgId)).toEqual([]);
  },
);
