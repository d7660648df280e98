import { type Static, Type } from 'typebox';
import { closed, timestamp } from '../../../platform/http/routes/schemas.ts';

export const SnapshotView = closed({
  id: Type.String({
    description: 'Also the name of its directory, below `snapshots` in the data directory.',
  }),
  created_at: timestamp,
  bytes: Type.Integer({ minimum: 0, description: 'Size of the copied database.' }),
  open_holds: Type.Integer({ minimum: 0 }),
  paused_ms: Type.Integer({
    minimum: 0,
    description: 'Time for which statements of other requests had to wait.',
  }),
});
export type SnapshotView = Static<typeof SnapshotView>;
