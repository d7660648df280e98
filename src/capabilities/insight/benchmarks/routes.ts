import type { Database } from '../../../platform/db/database.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { createCohort, removeCohort, requireCohort, viewCohort } from './cohorts.ts';
import { putOwnParticipation, readParticipation } from './participation.ts';
import { listCohorts } from './queries.ts';
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
  /** The fewest organizations that any answer may be about. */
  readonly floor: number;
}

const participation = '/v1/orgs/{id}/benchmark-participation';
const cohorts = '/v1/benchmarks/cohorts';
const reader = { kind: 'org', scope: 'benchmarks:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'benchmarks:write', role: 'admin' } as const;

export function benchmarkRoutes({ db, ids, floor }: BenchmarkDependencies): Route[] {
  return [
    write({
      id: 'benchmark_participation.put',
      method: 'PUT',
      path: participation,
      summary: 'Take part in benchmarks, or leave',
      description:
        'Replaces the whole. Leaving takes effect at once: no later answer has the figures of the organization in it. ' +
        'Who comes back, or changes industry or size, counts that way from the next week on.',
      access: admin,
      body: PutParticipation,
      success: 200,
      response: ParticipationView,
      async handler({ params, body, now }, tx) {
        const { before, after } = await putOwnParticipation(tx, now, params.id, body);
        const target = { kind: 'benchmark_participation', id: params.id };
        return { body: after, changes: [{ tenantId: params.id, target, before, after }] };
      },
    }),
    read({
      id: 'benchmark_participation.read',
      path: participation,
      summary: 'Read whether the organization takes part in benchmarks',
      access: reader,
      response: ParticipationView,
      handler: ({ params }) => readParticipation(db, params.id),
    }),
    write({
      id: 'benchmarks.create_cohort',
      method: 'POST',
      path: cohorts,
      summary: 'Define a cohort to be compared with',
      description:
        'All who take part where `criteria` is empty. Whether they are enough is looked at on each read.',
      access: admin,
      body: CreateCohort,
      success: 201,
      response: CohortView,
      errors: ['conflict'],
      async handler({ body, caller: { tenantId }, now }, tx) {
        const after = await createCohort(tx, ids, now, tenantId, body);
        const target = { kind: 'benchmark_cohort', id: after.id };
        return { body: after, changes: [{ tenantId, target, after }] };
      },
    }),
    read({
      id: 'benchmarks.list_cohorts',
      path: cohorts,
      summary: "List the organization's cohorts",
      access: reader,
      query: CohortFilters,
      response: page(CohortView),
      async handler({ query, caller }) {
        const { data, next_cursor } = await listCohorts(db, caller.tenantId, query);
        return { data: data.map(viewCohort), next_cursor };
      },
    }),
    read({
      id: 'benchmarks.read_cohort',
      path: `${cohorts}/{cohort_id}`,
      summary: 'Compare with a cohort',
      description:
        'Quartiles of what the organizations of the cohort contribute, and where the caller stands, who need not take ' +
        'part. An answer is about whole blocks of at least `minimum_cohort_size` organizations, and is the same for ' +
        'everyone for a week, from Monday in UTC, except that blocks come in and, where one of theirs leaves, go.',
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
      summary: 'Delete a cohort',
      description: 'Only the criteria are gone: whoever takes part in benchmarks still does.',
      access: admin,
      success: 204,
      response: closed({}),
      async handler({ params, caller: { tenantId }, now }, tx) {
        const row = await removeCohort(tx, tenantId, params.cohort_id);
        const before = viewCohort(row);
        const after = { ...before, deleted_at: now.toISOString() };
        const target = { kind: 'benchmark_cohort', id: row.id };
        return { body: {}, changes: [{ tenantId, target, before, after }] };
      },
    }),
  ];
}
