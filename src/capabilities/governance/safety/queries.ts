import { excludedAssignments } from '../../../platform/db/assignments.ts';
import type { Queryable } from '../../../platform/db/database.ts';

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

/** Ordered by creation, which is the order of evaluation of custom detectors with the same action. */
export async function selectDetectors(db: Queryable, orgId: string): Promise<DetectorRow[]> {
  return db.query<DetectorRow>(
    `SELECT ${columns} FROM safety_detectors WHERE org_id = $1 ORDER BY created_at, id`,
    [orgId],
  );
}

/** Inserts or updates the row. A built-in detector has none until it is changed for the first time. */
export async function upsertDetector(tx: Queryable, row: DetectorRow): Promise<void> {
  await tx.query(
    `INSERT INTO safety_detectors (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (org_id, id) DO UPDATE SET ${excludedAssignments(columns, ['org_id', 'id'])}`,
    [
      row.org_id,
      row.id,
      row.name,
      row.kind,
      row.pattern,
      row.words,
      row.threshold,
      row.action,
      row.enabled,
      row.created_at,
      row.updated_at,
    ],
  );
}

export async function deleteDetector(tx: Queryable, orgId: string, id: string): Promise<void> {
  await tx.query('DELETE FROM safety_detectors WHERE org_id = $1 AND id = $2', [orgId, id]);
}
