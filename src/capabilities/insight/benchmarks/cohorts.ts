/**
 * Cohorts: the orgs that an org wants to be compared with. A cohort is a set of criteria; its orgs are determined on
 * each read.
 */
import { apiError, found } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { alike } from './participation.ts';
import { type CohortRow, deleteCohort, findCohort, insertCohort } from './queries.ts';
import type { CohortView, CreateCohort } from './schema.ts';

const noCohort = 'Cohort not found.';

const cohortsMax = 100;

export function viewCohort({ id, name, industry, size_band, created_at }: CohortRow): CohortView {
  return { id, name, criteria: { industry, size_band }, created_at: created_at.toISOString() };
}

export async function createCohort(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { name, criteria }: CreateCohort,
): Promise<CohortRow> {
  const row = {
    id: ids.next('coh'),
    org_id: orgId,
    name,
    industry: alike(criteria.industry),
    size_band: alike(criteria.size_band),
    created_at: now,
  };
  if (!(await insertCohort(tx, row, cohortsMax))) {
    throw apiError('conflict', `The limit of ${cohortsMax} cohorts is reached. Delete a cohort first.`);
  }
  return row;
}

export async function requireCohort(db: Queryable, orgId: string, id: string): Promise<CohortRow> {
  return found(await findCohort(db, orgId, id), noCohort);
}

export async function removeCohort(tx: Transaction, orgId: string, id: string): Promise<CohortRow> {
  return found(await deleteCohort(tx, orgId, id), noCohort);
}
