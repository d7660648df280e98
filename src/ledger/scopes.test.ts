/** Guarantees of both ledgers about the fields that limits match. Runs in both test projects, like `conformance.test.ts`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, postedOf, verdictOf } from '../../test/support/ledger-world.ts';
import { engine } from '../../test/support/test-database.ts';
import type { Limit, Match, Scope } from '../kernel/limits.ts';
import { newPseudonym } from './holds/customer-pseudonyms.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const budget = (match: Match, dollars: string, fields: Partial<Limit> = {}) =>
  limitOf({ id: 'bud', kind: 'budget', capacity: usd(dollars), match, ...fields });
const at = (settled: string, held = '0') => `${usd(settled)}+${usd(held)}`;
/** Returns the counters of the current window: by value for limits with a wildcard, otherwise under the empty name. */
async function countersOf(orgId: string, id = 'bud'): Promise<Record<string, string>> {
  const counters = Object.entries(await world.counters(orgId));
  return Object.fromEntries(
    counters
      .filter(([key]) => key.startsWith(`${id}@`))
      .map(([key, amounts]) => [key.split(':').slice(1).join(':'), amounts]),
  );
}
const expectNoDrift = async (orgId: string) => expect(await world.audit(orgId)).toEqual([]);
const exceeded = 'budget_exceeded';

/** Each field with a scope that has the value `a` in it, and one with another value. */
const fields: [string, Match, Partial<Scope>, Partial<Scope>][] = [
  ['key_id', { key_id: 'a' }, { key_id: 'a' }, { key_id: 'b' }],
  ['member_id', { member_id: 'a' }, { member_id: 'a' }, { member_id: 'b' }],
  ['team', { team: 'a' }, { team: 'a' }, { team: 'b' }],
  ['model', { model: 'a' }, { model: 'a' }, { model: 'b' }],
  ['provider', { provider: 'a' }, { provider: 'a' }, { provider: 'b' }],
  ['tag:env', { 'tag:env': 'a' }, { tags: { env: 'a', x: 'y' } }, { tags: { env: 'b' } }],
  [
    'tag:constructor',
    { 'tag:constructor': 'a' },
    { tags: { constructor: 'a' } as Record<string, string> },
    { tags: {} },
  ],
];

describe.each(fields)('a budget by %s', (field, match, fitting, other) => {
  const [own, others] = [scopeOf(fitting), scopeOf(other)];

  test('counts and denies only charges with its value, held and settled', async () => {
    const orgId = await world.orgWith(budget(match, '5'));
    const hold = await world.held(orgId, '3', { scope: own });
    expect(verdictOf(await world.hold(orgId, '3', { scope: own }))).toBe(exceeded);
    expect(verdictOf(await world.hold(orgId, '30', { scope: others }))).toBe('held');
    await world.posted(orgId, '4', { scope: own, decisionId: hold.id });
    await world.posted(orgId, '40', { scope: others });
    expect(verdictOf(await world.post(orgId, '1.5', { scope: own }))).toBe(exceeded);
    await world.posted(orgId, '1', { scope: own });
    expect(await countersOf(orgId)).toEqual({ '': at('5') });
    await expectNoDrift(orgId);
  });

  test('counts what was spent and held before it was created, and recorded runs and adjustments', async () => {
    const orgId = await world.createOrg();
    await world.posted(orgId, '2', { scope: own });
    await world.posted(orgId, '20', { scope: others });
    await world.held(orgId, '1', { scope: own });
    await world.insertLimit(orgId, budget(match, '5'));
    expect(verdictOf(await world.hold(orgId, '2.5', { scope: own }))).toBe(exceeded);
    await world.posted(orgId, '0.5', { scope: own, kind: 'record', atMs: world.nowMs });
    await world.posted(orgId, '-1', { scope: own, kind: 'adjust', atMs: world.nowMs });
    expect(await countersOf(orgId)).toEqual({ '': at('1.5', '1') });
    // A restart is slow; these two have counters from usage and from entries.
    if (field === 'team' || field === 'tag:env') {
      await world.restart();
    }
    expect(verdictOf(await world.hold(orgId, '2.6', { scope: own }))).toBe(exceeded);
    expect(verdictOf(await world.hold(orgId, '2.5', { scope: own }))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('has a counter for each value if its value is the wildcard, and applies beside a budget of one value', async () => {
    const orgId = await world.orgWith(budget({ [field]: '*' }, '5'), budget(match, '8', { id: 'own' }));
    expect(verdictOf(await world.hold(orgId, '5', { scope: own }))).toBe('held');
    expect(verdictOf(await world.hold(orgId, '1', { scope: own }))).toBe(exceeded);
    if (field !== 'tag:constructor') {
      await world.posted(orgId, '4', { scope: others });
      expect(verdictOf(await world.hold(orgId, '2', { scope: others }))).toBe(exceeded);
      expect(await countersOf(orgId)).toEqual({ a: at('0', '5'), b: at('4') });
    }
    expect(await countersOf(orgId, 'own')).toEqual({ '': at('0', '5') });
    await expectNoDrift(orgId);
  });
});

test('a value named like the wildcard is counted once', async () => {
  const orgId = await world.orgWith(budget({ team: '*' }, '5'));
  await world.posted(orgId, '2', { scope: scopeOf({ team: '*' }) });
  expect(await countersOf(orgId)).toEqual({ '*': at('2') });
  await expectNoDrift(orgId);
});

describe('a run that settles a decision', () => {
  const tagged = (tags: Record<string, string>) => scopeOf({ tags });

  test('a run that settles a decision counts under the tags of the decision, and under tags that only the run has', async () => {
    const orgId = await world.orgWith(
      budget({ 'tag:env': '*' }, '9', { id: 'env' }),
      budget({ 'tag:step': '*' }, '9', { id: 'step' }),
    );
    for (const isLate of [false, true]) {
      const hold = await world.held(orgId, '2', { scope: tagged({ env: 'prod' }) });
      if (isLate) {
        await world.ledger.void(orgId, hold.id);
      }
      const scope = tagged({ env: 'test', step: 'one' });
      const posted = postedOf(await world.post(orgId, '1', { scope, decisionId: hold.id }));
      expect(posted.scope.tags).toEqual({ env: 'prod', step: 'one' });
    }
    expect(await countersOf(orgId, 'env')).toEqual({ prod: at('2') });
    expect(await countersOf(orgId, 'step')).toEqual({ one: at('2') });
    await expectNoDrift(orgId);
  });

  test('keeps the tags and the member of the decision if it has none, also after a restart', async () => {
    const scope = scopeOf({ member_id: 'mem_1', tags: { env: 'prod' } });
    const orgId = await world.orgWith(budget({ 'tag:env': 'prod' }, '9'));
    const hold = await world.held(orgId, '2', { scope });
    await world.restart();
    expect((await world.ledger.reads.findHold(orgId, hold.id))?.scope).toEqual(scope);
    const posted = postedOf(await world.post(orgId, '1', { scope: scopeOf(), decisionId: hold.id }));
    expect(posted.scope).toEqual(scope);
    const [entry] = await world.db.query<{ member_id: string; tags: object }>(
      'SELECT member_id, tags FROM ledger_entries WHERE org_id = $1',
      [orgId],
    );
    expect(entry).toEqual({ member_id: 'mem_1', tags: { env: 'prod' } });
    expect(await countersOf(orgId)).toEqual({ '': at('1') });
    await expectNoDrift(orgId);
  });
});

test('a renamed customer keeps only the tags that limits match, with the id replaced', async () => {
  const customer = 'customer-7';
  const orgId = await world.orgWith(
    budget({ 'tag:env': 'prod' }, '9', { id: 'env' }),
    budget({ 'tag:user': '*' }, '9', { id: 'user' }),
  );
  const tags = { env: 'prod', user: `u:${customer}`, email: 'someone@example.com' };
  const hold = await world.held(orgId, '2', { scope: scopeOf({ customer_id: customer, tags }) });
  const to = newPseudonym();
  await world.ledger.maintenance.renameCustomer(orgId, { from: customer, to }, async () => undefined);
  const renamed = await world.ledger.reads.findHold(orgId, hold.id);
  expect(renamed?.scope.tags).toEqual({ env: 'prod', user: `u:${to}` });
  expect(await countersOf(orgId, 'user')).toEqual({});
  expect(await countersOf(orgId, 'env')).toEqual({ '': at('0', '2') });
  const run = scopeOf({ customer_id: customer, tags });
  const posted = postedOf(await world.post(orgId, '1', { scope: run, decisionId: hold.id }));
  expect(posted.scope).toMatchObject({ customer_id: to, tags: { env: 'prod', user: `u:${to}` } });
  expect(await countersOf(orgId, 'env')).toEqual({ '': at('1') });
  await expectNoDrift(orgId);
});

test.runIf(engine === 'embedded')('many values of a tag do not fill the cache of scopes', async () => {
  const { sharedScope } = await import('./scope.ts');
  const scope = scopeOf({ tags: { request: 'r1' } });
  expect(sharedScope(scope)).toBe(scope);
  expect(sharedScope({ ...scope })).not.toBe(scope);
});
