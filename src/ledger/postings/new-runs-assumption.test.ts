/** Runs whose `external_id` exists, or that are rejected, in batches that are decided without looking for them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { limitOf, usd } from '../../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../../test/support/ledger-world.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { PostingGroup } from '../posting.ts';
import { NewRunsAssumption, requireAccepted } from './new-runs-assumption.ts';

let world: LedgerWorld;
let orgId: string;

beforeAll(async () => {
  world = await LedgerWorld.open();
});
beforeEach(async () => {
  // A ledger that has not met a known run yet.
  await world.reopen();
  orgId = await world.orgWith(limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10') }));
  await world.posted(orgId, '1', { externalId: 'known', contentDigest: 'sent' });
});
afterAll(() => world.close());

const settled = async () => Object.values(await world.counters(orgId));

test.each([
  ['is returned', '1', 'sent', { kind: 'done', outcomes: [{ kind: 'existing' }] }],
  [
    'is returned, though a new one would be denied',
    '10',
    'sent',
    { kind: 'done', outcomes: [{ kind: 'existing' }] },
  ],
  ['is a conflict if its content differs', '1', 'changed', { kind: 'external_id_conflict', index: 0 }],
  ['is a conflict, though a new one would be denied', '10', 'changed', { kind: 'external_id_conflict' }],
])('a run that exists %s', async (_, dollars, contentDigest, expected) => {
  const [known, added] = await Promise.all([
    world.post(orgId, dollars, { externalId: 'known', contentDigest }),
    world.post(orgId, '2', { externalId: 'new' }),
  ]);
  expect(known).toMatchObject(expected);
  expect(added).toMatchObject({ kind: 'done', outcomes: [{ kind: 'posted' }] });
  expect(await settled()).toEqual([`${usd('3')}+0`]);
  expect(await world.audit(orgId)).toEqual([]);
});

test('a new run that exceeds a limit is denied, and others beside it are posted', async () => {
  const [first, denied, last] = await Promise.all([
    world.post(orgId, '2', { externalId: 'first' }),
    world.post(orgId, '8', { externalId: 'too much' }),
    world.post(orgId, '3', { externalId: 'last' }),
  ]);
  expect([first.kind, denied.kind, last.kind]).toEqual(['done', 'denied', 'done']);
  // A denied run was not stored.
  expect(await world.post(orgId, '4', { externalId: 'too much' })).toMatchObject({ kind: 'done' });
  expect(await settled()).toEqual([`${usd('10')}+0`]);
  expect(await world.audit(orgId)).toEqual([]);
});

test('of several runs with one external_id, one is posted', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, () => world.post(orgId, '1', { externalId: 'x' })),
  );
  const kinds = results.map((result) => result.kind === 'done' && result.outcomes[0]?.kind);
  expect(kinds.toSorted()).toEqual([...Array.from({ length: 19 }, () => 'existing'), 'posted']);
  expect(await settled()).toEqual([`${usd('2')}+0`]);
  expect(await world.audit(orgId)).toEqual([]);
});

const groupOf = (externalId: string | null, fields = {}): PostingGroup => ({
  orgId: 'org',
  postings: [world.postingOf('1', { externalId, ...fields })],
});

test('after a batch that was decided wrongly, the next hundred are read', () => {
  const assumption = new NewRunsAssumption();
  const groups = [groupOf('x')];
  expect(assumption.appliesTo(groups)).toBe(true);
  expect(assumption.hasFailed(new ApiError('conflict', 409, 'of another kind', {}))).toBe(false);
  expect(assumption.appliesTo(groups)).toBe(true);
  const error = Object.assign(new Error(), { code: '23505', constraint: 'run_identities_external' });
  expect(assumption.hasFailed(error)).toBe(true);
  for (let batch = 0; batch < 100; batch += 1) {
    expect(assumption.appliesTo(groups)).toBe(false);
  }
  expect(assumption.appliesTo(groups)).toBe(true);
});

test('runs with decisions, and requests that skip rejected runs, are always read', () => {
  const assumption = new NewRunsAssumption();
  expect(assumption.appliesTo([groupOf('x'), groupOf('y', { decisionId: 'dec' })])).toBe(false);
  expect(assumption.appliesTo([{ ...groupOf('x'), skipRejected: true }])).toBe(false);
});

test('a rejection is final if the runs have no external_id', () => {
  const rejected = { kind: 'permit_spent', index: 0 } as const;
  expect(() => requireAccepted(new Map([[groupOf(null), rejected]]))).not.toThrow();
  expect(() => requireAccepted(new Map([[groupOf('x'), rejected]]))).toThrow();
});
