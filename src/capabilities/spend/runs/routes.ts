import { admissionErrorCodes } from '../../../contract/errors.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { bodyLimits, posting, type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { adjustRun } from './adjust-run.ts';
import { createBulkThrottle } from './bulk-throttle.ts';
import { completeRun } from './complete-run.ts';
import { createRun, createRuns } from './create-runs.ts';
import type { RunDependencies } from './dependencies.ts';
import { listRuns } from './queries.ts';
import { readRun } from './read-run.ts';
import {
  AdjustmentView,
  AdjustRun,
  BulkQuery,
  BulkResult,
  bulkRuns,
  CompleteRun,
  CreateRun,
  RunFilters,
  RunView,
} from './schema.ts';
import { viewRun } from './view.ts';

const reader = { kind: 'org', scope: 'runs:read', role: 'viewer' } as const;
const writer = { kind: 'org', scope: 'runs:write', role: 'member' } as const;
const corrector = { kind: 'org', scope: 'runs:write', role: 'admin' } as const;

export interface RunRouteDependencies extends RunDependencies {
  readonly bulkMaxRuns: number;
}

export function runRoutes(deps: RunRouteDependencies): Route[] {
  const giveWay = createBulkThrottle(() => decisionCounts.totalOf('edge'));
  return [
    posting({
      id: 'runs.create',
      method: 'POST',
      path: '/v1/runs',
      summary: 'Record a run, or admit one that goes on',
      description:
        'A finished run is charged through every gate, or settles the decision that it names. With `status` `running` ' +
        'the estimate is held until the run is completed. A cost that is left out is computed from the price of the model.',
      access: writer,
      body: CreateRun,
      bodyLimitBytes: bodyLimits.content,
      success: 201,
      response: RunView,
      errors: ['conflict', 'gone', ...admissionErrorCodes],
      handler: ({ body, caller, now }, storeResponse) =>
        createRun(deps, { caller, now, storeResponse }, body),
    }),
    posting({
      id: 'runs.create_bulk',
      method: 'POST',
      path: '/v1/runs/bulk',
      summary: 'Record many runs at once, all or none',
      description:
        'As JSON, or one run a line as `application/x-ndjson`, of which the first 100 lines that are not valid JSON are ' +
        'listed. Every run is validated first; then the batch is one ' +
        'admission. A refusal says which run it was in `details.run_index`. With `enforcement=record` history is posted ' +
        'past the gates, at `started_at`; it burns neither credits nor a prepaid balance.',
      access: {
        ...writer,
        queryScope: { parameter: 'enforcement', value: 'record', scope: 'runs:backfill' },
      },
      query: BulkQuery,
      body: bulkRuns(deps.bulkMaxRuns),
      bodyLimitBytes: bodyLimits.configured,
      lines: 'runs',
      success: 201,
      response: BulkResult,
      errors: ['conflict', ...admissionErrorCodes],
      handler: ({ body, query, caller, now }, storeResponse) =>
        giveWay.turn(() =>
          createRuns(deps, { caller, now, storeResponse }, body.runs, query.enforcement === 'record'),
        ),
    }),
    read({
      id: 'runs.list',
      path: '/v1/runs',
      summary: 'List runs',
      access: reader,
      query: RunFilters,
      response: page(RunView),
      async handler({ query, caller }) {
        const { data, next_cursor } = await listRuns(deps.db, caller.tenantId, query);
        return { data: data.map((run) => viewRun(run)), next_cursor };
      },
    }),
    read({
      id: 'runs.read',
      path: '/v1/runs/{run_id}',
      summary: 'Read a run',
      access: reader,
      response: RunView,
      handler: ({ params, caller }) => readRun(deps, caller.tenantId, params.run_id),
    }),
    posting({
      id: 'runs.complete',
      method: 'POST',
      path: '/v1/runs/{run_id}/complete',
      summary: 'End a run that goes on',
      description: 'Settles its hold with what it really cost, whole, also when that is more or comes late.',
      access: writer,
      body: CompleteRun,
      bodyLimitBytes: bodyLimits.lists,
      bodyOptional: true,
      success: 200,
      response: RunView,
      errors: ['conflict'],
      handler: ({ params, body, caller, now }, storeResponse) =>
        completeRun(deps, { caller, now, storeResponse }, params.run_id, body),
    }),
    posting({
      id: 'runs.adjust',
      method: 'POST',
      path: '/v1/runs/{run_id}/adjustments',
      summary: 'Correct what a run cost',
      description:
        'By a new entry in the ledger; the run keeps what was posted. `amount_usd` is the difference, below zero where ' +
        'the run cost less. It counts in the windows that the run counted in.',
      access: corrector,
      body: AdjustRun,
      success: 201,
      response: AdjustmentView,
      errors: ['conflict'],
      handler: ({ params, body, caller, now }, storeResponse) =>
        adjustRun(deps, { caller, now, storeResponse }, params.run_id, body),
    }),
  ];
}
