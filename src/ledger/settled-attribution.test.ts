/**
 * Guarantees of both ledgers about the values of the key that settles a decision. Runs in both test projects, like
 * `conformance.test.ts`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limitOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../test/support/ledger-world.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const attribution = { customer_id: 'B', team: 'ads', tags: { env: 'test', app: 'bot' } };
const ofCustomer = (customer_id: string) =>
  limitOf({ id: `lim_${customer_id}`, kind: 'customer', capacity: usd('5'), match: { customer_id } });
const counters = async (orgId: string) =>
  Object.fromEntries(
    Object.entries(await world.counters(orgId)).map(([key, amounts]) => [key.split('@')[0], amounts]),
  );

test('an open, a late and an adopted settlement keep the values of the decision', async () => {
  const orgId = await world.orgWith(ofCustomer('A'), ofCustomer('B'));
  const scope = scopeOf({ customer_id: 'A', tags: { env: 'live' } });
  const expected = { customer_id: 'A', team: 'ads', tags: { env: 'live', app: 'bot' } };
  const open = await world.held(orgId, '1', { scope });
  const late = await world.held(orgId, '1', { scope });
  const adopted = await world.held(orgId, '1', { scope });
  await world.ledger.void(orgId, late.id);
  for (const [decisionId, kind] of [
    [open.id, 'charge'],
    [late.id, 'charge'],
    [adopted.id, 'adopt'],
  ] as const) {
    const posted = await world.posted(orgId, '1', { scope: scopeOf({}), attribution, decisionId, kind });
    expect(posted.scope).toMatchObject(expected);
  }
  expect(await counters(orgId)).toEqual({ lim_A: `${usd('2')}+${usd('1')}` });
  expect(await world.audit(orgId)).toEqual([]);
});

test('the values of the key apply and count if the hold of a fail-open decision is lost', async () => {
  const orgId = await world.orgWith(ofCustomer('A'), ofCustomer('B'));
  // The counter exists already, and must be read before it is changed.
  await world.posted(orgId, '1', { scope: scopeOf({ customer_id: 'B' }) });
  const posted = await world.posted(orgId, '2', {
    scope: scopeOf({ team: 'search' }),
    attribution,
    decisionId: world.ids.next('dec'),
    failOpenAtMs: world.nowMs,
  });
  expect(posted.scope).toMatchObject({ ...attribution, team: 'search' });
  expect(await counters(orgId)).toEqual({ lim_B: `${usd('3')}+0` });
  expect(await world.audit(orgId)).toEqual([]);
});
