import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { subscribe } from '../../../../test/support/webhooks.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { createIds } from '../../../platform/ids.ts';
import { type DisablingCause, disableSubscription } from './disabling.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
const org = useOrg(world);

const remove = 'UPDATE webhook_subscriptions SET deleted_at = created_at WHERE org_id = $1 AND id = $2';
const disable = (db: Database, subscription_id: string, cause: DisablingCause = { reason: 'failing' }) =>
  disableSubscription(
    db,
    { ids: createIds(world.clock), heads: world.services.auditHeads },
    { org_id: org.id, subscription_id },
    cause,
    world.clock.now(),
  );
const statusOf = async (id: string) => {
  const [row] = await world.db.query<{ status: string }>(
    'SELECT status FROM webhook_subscriptions WHERE org_id = $1 AND id = $2',
    [org.id, id],
  );
  return row?.status;
};

/** A database on which the owner deletes the subscription as soon as it was read without a lock. */
function deletingAfterReads(id: string): Database {
  const withDeletion = (tx: Transaction): Transaction => ({
    ...tx,
    async query<Row extends object>(sql: string, params?: readonly unknown[]) {
      const rows = await tx.query<Row>(sql, params);
      if (/^SELECT .* FROM webhook_subscriptions\b/.test(sql) && !sql.includes('FOR UPDATE')) {
        await tx.query(remove, [org.id, id]);
      }
      return rows;
    },
  });
  return {
    ...world.db,
    transaction: (work, options) => world.db.transaction((tx) => work(withDeletion(tx)), options),
  };
}

test('a subscription that its owner deletes at the same time is disabled first', async () => {
  const id = await subscribe(world, org, 'http://127.0.0.1:1/');
  await disable(deletingAfterReads(id), id);
  expect(await statusOf(id)).toBe('disabled');
});

test('a deleted subscription stays as it is', async () => {
  const id = await subscribe(world, org, 'http://127.0.0.1:1/');
  await world.db.query(remove, [org.id, id]);
  await disable(world.db, id);
  expect(await statusOf(id)).toBe('active');
});

test('a subscription whose URL was changed since is not disabled because the old one is gone', async () => {
  const [before, after] = ['http://127.0.0.1:1/before', 'http://127.0.0.1:1/after'];
  const id = await subscribe(world, org, before);
  await world.request('PATCH', `/v1/orgs/${org.id}/webhooks/${id}`, {
    key: org.ownerKey,
    body: { url: after },
  });
  await disable(world.db, id, { reason: 'gone', url: before });
  expect(await statusOf(id)).toBe('active');
  await disable(world.db, id, { reason: 'gone', url: after });
  expect(await statusOf(id)).toBe('disabled');
});
