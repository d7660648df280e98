/** Imports of one decision at the same time: by the job, and by the run that settles the decision. */
import { afterEach, describe, expect, test } from 'vitest';
import { limitOf, usd } from '../../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../../test/support/ledger-world.ts';
import { engine } from '../../../test/support/test-database.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';

let world: LedgerWorld;
afterEach(() => world?.close());

/** Called once, before the next counter is read. */
let beforeCounter: (() => Promise<unknown>) | undefined;

const interrupted = (db: Database): Database => ({
  ...db,
  async query(sql, params) {
    if (sql.includes('limit_alerts')) {
      const interrupt = beforeCounter;
      beforeCounter = undefined;
      await interrupt?.();
    }
    return db.query(sql, params);
  },
});

describe.runIf(engine === 'embedded')('an import', () => {
  test('does not open a hold that was imported and settled during the import', async () => {
    world = await LedgerWorld.open({ wrap: interrupted });
    const month = { kind: 'calendar', period: 'month', timezone: null } as const;
    const orgId = await world.orgWith(
      limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('100'), span: month }),
    );
    const template = await world.held(await world.createOrg(), '3');
    const hold: Hold = { ...template, id: world.ids.next('dec'), orgId, degraded: true };
    let isInterrupted = false;
    beforeCounter = async () => {
      isInterrupted = true;
      expect(await world.ledger.importHolds({ orgId, holds: [hold] })).toMatchObject([{ kind: 'added' }]);
      await world.posted(orgId, '2', { decisionId: hold.id });
    };
    expect(await world.ledger.importHolds({ orgId, holds: [hold] })).toEqual([{ kind: 'existing' }]);
    expect(isInterrupted).toBe(true);
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeUndefined();
    world.clock.advanceSeconds(901);
    await world.expireAll();
    expect(await world.audit(orgId)).toEqual([]);
  });
});
