import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';

export interface DetectorRow {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly kind: 'built_in' | 'regex' | 'words';
  readonly pattern: string | null;
  readonly words: readonly string[] | null;
  readonly threshold: number;
  readonly action: 'block' | 'flag';
  readonly enabled: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = 'org_id, id, name, kind, pattern, words, threshold, action, enabled, created_at, updated_at';

/** Statements for detectors. A built-in detector has no row until its first change. */
export const { upsert: upsertDetector, delete: deleteDetector } = tableOf<DetectorRow>()('safety_detectors', {
  columns,
  key: ['org_id', 'id'],
});

/** Returns detectors in the order of creation, in which custom detectors with the same action are evaluated. */
export async function selectDetectors(db: Queryable, orgId: string): Promise<DetectorRow[]> {
  return db.query<DetectorRow>(
    `SELECT ${columns} FROM safety_detectors WHERE org_id = $1 ORDER BY created_at, id`,
    [orgId],
  );
}
