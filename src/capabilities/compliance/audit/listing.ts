/** Pages of the log and of its checkpoints. */
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage, viewPage } from '../../../platform/http/routes/list.ts';
import { viewCheckpoint } from './checkpoints.ts';
import { type AuditRow, type CheckpointRow, entryOfRow, selectEntries } from './queries.ts';
import {
  type AuditEntryView,
  type AuditFilters,
  auditSorts,
  type CheckpointFilters,
  type CheckpointView,
  checkpointSorts,
} from './schema.ts';
import { viewEntry } from './view.ts';

export async function listEntries(
  db: Queryable,
  tenantId: string,
  query: AuditFilters,
): Promise<PageOf<AuditEntryView>> {
  const page = selectPage<AuditRow>(db, {
    select: selectEntries,
    where: [
      ['tenant_id = ?', tenantId],
      ['actor_id = ?', query.actor],
      ['actor_kind = ?', query.actor_kind],
      ['action = ?', query.action],
      ['target_id = ?', query.target],
      ['target_kind = ?', query.target_kind],
      ['outcome = ?', query.outcome],
      ['code = ?', query.code],
      ['trace_id = ?', query.trace_id],
      ['at >= ?', query.from === undefined ? undefined : new Date(query.from)],
      ['at < ?', query.to === undefined ? undefined : new Date(query.to)],
    ],
    sorts: auditSorts,
    defaultSort: '-seq',
    query,
  });
  return viewPage(page, (row) => viewEntry(entryOfRow(row)));
}

export async function listCheckpoints(
  db: Queryable,
  tenantId: string,
  query: CheckpointFilters,
): Promise<PageOf<CheckpointView>> {
  const page = selectPage<CheckpointRow>(db, {
    select: 'SELECT tenant_id, seq, id, hash, at, token FROM audit_checkpoints',
    where: [['tenant_id = ?', tenantId]],
    sorts: checkpointSorts,
    defaultSort: '-seq',
    query,
  });
  return viewPage(page, viewCheckpoint);
}
