import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { created, removed, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { createCohort, removeCohort, requireCohort, viewCohort } from './cohorts.ts';
import { putOwnParticipation, readParticipation } from './participation.ts';
import { findCohort, listCohorts } from './queries.ts';
import { readBenchmark } from './release.ts';
import {
  BenchmarkView,
  CohortFilters,
  CohortView,
  CreateCohort,
  ParticipationView,
  PutParticipation,
} from './schema.ts';

export interface BenchmarkDependencies {
  readonly db: Database;
  readonly ids: Ids;
  /** Minimum number of organizations in any response. */
  readonly floor: number;
}

const participation = '/v1/orgs/{id}/benchmark-participation';
const cohorts = '/v1/benchmarks/cohorts';
const reader = { kind: 'org', scope: 'benchmarks:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'benchmarks:write', role: 'admin' } as const;

export function benchmarkRoutes({ db, ids, floor }: BenchmarkDependencies): Route[] {
  const isOwn = async (orgId: string, params: { readonly cohort_id: string }) =>
    (await findCohort(db, orgId, params.cohort_id)) !== undefined;
  return [
    write({
      id: 'benchmark_participation.put',
      method: 'PUT',
      path: participation,
      summary: 'Join or leave benchmarks',
      description:
        'Replaces the whole setting. Leaving takes effect immediately: no later response contains the figures of ' +
        'the organization. If an organization joins again, or changes industry or size, this counts from the next ' +
        'week.',
      access: admin,
      body: PutParticipation,
      response: ParticipationView,
      async handler({ params, body, now }, tx) {
        const change = await putOwnParticipation(tx, now, params.id, body);
        return settingChanged('benchmark_participation', params.id, change);
      },
    }),
    read({
      id: 'benchmark_participation.read',
      path: participation,
      summary: 'Get the benchmark participation of the organization',
      access: reader,
      response: ParticipationView,
      handler: ({ params }) => readParticipation(db, params.id),
    }),
    write({
      id: 'benchmarks.create_cohort',
      method: 'POST',
      path: cohorts,
      summary: 'Create a cohort',
      description:
        'Empty `criteria` match all participants. Whether there are enough of them is checked on each read.',
      access: admin,
      body: CreateCohort,
      success: 201,
      response: CohortView,
      errors: ['conflict'],
      async handler({ body, caller: { tenantId }, now }, tx) {
        return created('benchmark_cohort', await createCohort(tx, ids, now, tenantId, body), viewCohort);
      },
    }),
    read({
      id: 'benchmarks.list_cohorts',
      path: cohorts,
      summary: 'List cohorts',
      access: reader,
      query: CohortFilters,
      response: page(CohortView),
      handler: ({ query, caller }) => viewPage(listCohorts(db, caller.tenantId, query), viewCohort),
    }),
    read({
      id: 'benchmarks.read_cohort',
      path: `${cohorts}/{cohort_id}`,
      isOwn,
      summary: 'Compare the organization with a cohort',
      description:
        'Returns quartiles of the organizations in the cohort, and the position of the caller, who need not ' +
        'participate. The figures cover whole blocks of at least `minimum_cohort_size` organizations. They are the ' +
        'same for all callers during a week, which starts on Monday in UTC, except that new blocks enter and ' +
        'blocks that an organization leaves are excluded.',
      access: reader,
      response: BenchmarkView,
      errors: ['insufficient_cohort_size'],
      async handler({ params, caller: { tenantId }, now }) {
        const cohort = await requireCohort(db, tenantId, params.cohort_id);
        return readBenchmark(db, tenantId, cohort, { now, floor });
      },
    }),
    write({
      id: 'benchmarks.delete_cohort',
      method: 'DELETE',
      path: `${cohorts}/{cohort_id}`,
      isOwn,
      summary: 'Delete a cohort',
      description: 'Deletes the criteria only; participation in benchmarks does not change.',
      access: admin,
      async handler({ params, caller: { tenantId }, now }, tx) {
        const row = await removeCohort(tx, tenantId, params.cohort_id);
        return removed('benchmark_cohort', row, viewCohort, now);
      },
    }),
  ];
}
