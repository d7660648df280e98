import { expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { alertName, countersPerAlertMax, type NewAlert, recordAlerts } from './alert-once.ts';

const world = useWorld();

test('repeated events of reported customers do not use up the messages of others', async () => {
  const org = await world.createOrg();
  let events = 0;
  const exhausted = (customer_id: string): NewAlert[] => {
    const name = alertName('limit.exhausted', world.clock.now(), {
      limit_id: 'rlp_1',
      kind: 'rate',
      match: { customer_id: '*' },
      matched: { customer_id },
      window_end: null,
    });
    events += 1;
    return name === undefined
      ? []
      : [{ ...name, org_id: org.id, subscription_id: 'whk_1', event_id: `evt_${events}` }];
  };
  const sent = async (customers: readonly string[]) =>
    (await recordAlerts(world.db, customers.flatMap(exhausted), world.clock.now())).length;
  const customers = (count: number, first: number) =>
    Array.from({ length: count }, (_, index) => `customer-${first + index}`);

  const known = customers(10, 0);
  expect(await sent([...known, ...known, ...known])).toBe(10);
  expect(await sent([...known, ...known, 'new'])).toBe(1);
  expect(await sent(customers(countersPerAlertMax, 100))).toBe(countersPerAlertMax - 11);
  expect(await sent(['late'])).toBe(0);
});
