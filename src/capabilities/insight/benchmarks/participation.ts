/** Participation of orgs in benchmarks. */
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { eraseFigures, findParticipant, type ParticipantRow, putParticipant } from './queries.ts';
import type { ParticipationView, PutParticipation } from './schema.ts';

export async function readParticipation(db: Queryable, orgId: string): Promise<ParticipationView> {
  return viewParticipation(await findParticipant(db, orgId));
}

function viewParticipation(row: ParticipantRow | undefined): ParticipationView {
  return row === undefined
    ? { enabled: false, industry: null, size_band: null, updated_at: null }
    : { ...row, updated_at: row.updated_at.toISOString() };
}

/** Replaces the whole setting. The figures of an org that leaves are deleted in the same transaction. */
export async function putOwnParticipation(
  tx: Transaction,
  now: Date,
  orgId: string,
  { enabled, industry, size_band }: PutParticipation,
): Promise<{ before: ParticipationView; after: ParticipationView }> {
  const before = await readParticipation(tx, orgId);
  const row = { enabled, industry: alike(industry), size_band: alike(size_band), updated_at: now };
  await putParticipant(tx, orgId, row);
  if (!enabled) {
    await eraseFigures(tx, orgId);
  }
  return { before, after: viewParticipation(row) };
}

/** Normalizes case and removes surrounding whitespace, for comparison. */
export function alike(word: string | null | undefined): string | null {
  return word?.trim().toLowerCase() ?? null;
}
