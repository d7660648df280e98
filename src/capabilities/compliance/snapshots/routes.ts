import type { Transaction } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import {
  type Change,
  type HandlerContext,
  posting,
  type Route,
} from '../../../platform/http/routes/route.ts';
import { SnapshotView } from './schema.ts';
import { createSnapshots, type SnapshotSources } from './snapshots.ts';

export interface SnapshotDependencies extends SnapshotSources {
  /** Writes the audit entry of a change, in the transaction of the change. */
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

export function snapshotRoutes(deps: SnapshotDependencies): Route[] {
  const { db, recordChange } = deps;
  const snapshots = createSnapshots(deps);
  return [
    posting({
      id: 'snapshots.create',
      method: 'POST',
      path: '/v1/admin/snapshots',
      summary: 'Create a snapshot of the embedded database',
      description:
        'Copies the database and the open holds of one instant into the data directory, while the service runs. ' +
        '`purser backup` uses it. Returns `conflict` on PostgreSQL, which needs no snapshot, and while another ' +
        'snapshot is in progress.',
      access: { kind: 'operator' },
      success: 201,
      response: SnapshotView,
      errors: ['conflict', 'service_unavailable'],
      async handler(call, storeResponse) {
        const snapshot = await snapshots.create(call.now);
        const { id } = snapshot;
        await db.transaction(async (tx) => {
          const change = changeOf('snapshot', { org_id: null, id }, { after: snapshot });
          await recordChange(tx, call as unknown as HandlerContext, 'snapshots.create', change);
          await storeResponse?.(tx, snapshot);
        });
        return snapshot;
      },
    }),
  ];
}
