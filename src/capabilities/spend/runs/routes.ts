import { admissionErrorCodes } from '../../../contract/errors.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import {
  bodyLimits,
  type Change,
  type HandlerContext,
  posting,
  type Route,
  read,
  type StoreResponse,
} from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { actorOf } from '../../compliance/audit/index.ts';
import { type AdjustingCall, adjustRun } from './adjust-run.ts';
import { createBulkThrottle } from './bulk-throttle.ts';
import { completeRun } from './complete-run.ts';
import { createRun, createRuns } from './create-runs.ts';
import { createRunsSkipping } from './create-runs-skipping.ts';
import type { RunDependencies } from './dependencies.ts';
import { listAdjustments } from './list-adjustments.ts';
import { listRuns } from './list-runs.ts';
import { ownsRun, readRun } from './read-run.ts';
import { repriceRun } from './reprice-run.ts';
import {
  AdjustmentEntry,
  AdjustmentFilters,
  AdjustmentView,
  AdjustRun,
  BulkQuery,
  BulkResult,
  bulkRuns,
  CompleteRun,
  CreateRun,
  RunFilters,
  RunPage,
  RunView,
} from './schema.ts';
import { viewRun } from './view.ts';

const reader = { kind: 'org', scope: 'runs:read', role: 'viewer' } as const;
const writer = { kind: 'org', scope: 'runs:write', role: 'member' } as const;
const corrector = { kind: 'org', scope: 'runs:write', role: 'admin' } as const;

export interface RunRouteDependencies extends RunDependencies {
  readonly bulkMaxRuns: number;
  /** Writes the audit entry and the event of a change. */
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

export function runRoutes(deps: RunRouteDependencies): Route[] {
  const adjustingCall = (
    context: Pick<HandlerContext, 'caller' | 'address' | 'traceId' | 'now'>,
    storeResponse: StoreResponse | undefined,
    action: string,
  ): AdjustingCall => {
    const { kind, id } = actorOf(context);
    const record: AdjustingCall['record'] = (tx, change) =>
      deps.recordChange(tx, context as HandlerContext, action, change);
    return { caller: context.caller, now: context.now, storeResponse, actor: { kind, id }, record };
  };
  const isOwn = (orgId: string, params: { readonly run_id: string }) => ownsRun(deps, orgId, params.run_id);
  const bulkThrottle = createBulkThrottle(() => decisionCounts.totalOf('edge'));
  return [
    posting({
      id: 'runs.create',
      method: 'POST',
      path: '/v1/runs',
      summary: 'Create a run',
      description:
        'A finished run passes every admission check and is charged; with `decision_id` it settles that decision instead. ' +
        'With `status` `running`, the estimated cost is held until the run is completed. If the cost is left out, it is ' +
        'computed from the price of the model. Fields that are left out have the values of the attribution of the key; another ' +
        'value for a locked field is `forbidden`. A run that settles a decision has the values of the decision.',
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
      summary: 'Create runs in bulk',
      description:
        'Accepts JSON, or one run per line as `application/x-ndjson`; up to 100 lines that are not valid JSON are reported. ' +
        'All runs are created or none: every run is validated first, then the batch is admitted as a whole. If a run is ' +
        'denied, or states another value than one that is locked for the key, `details.run_index` is its index. With ' +
        '`on_error=skip`, invalid and denied runs are listed in `errors` and the others are created; a request with 100 or more runs that are not valid JSON is rejected. With `enforcement=record`, past runs are posted at their `started_at` ' +
        'without admission checks; they use neither credits nor the prepaid balance.',
      access: {
        ...writer,
        queryScope: { parameter: 'enforcement', value: 'record', scope: 'runs:backfill' },
      },
      query: BulkQuery,
      body: bulkRuns(deps.bulkMaxRuns),
      bodyLimitBytes: bodyLimits.configured,
      lines: 'runs',
      skipsItems: { field: 'runs', parameter: 'on_error', value: 'skip' },
      success: 201,
      response: BulkResult,
      errors: ['conflict', ...admissionErrorCodes],
      handler: ({ body, query, caller, now, itemErrors, recordDenial }, storeResponse) => {
        const call = { caller, now, storeResponse };
        const record = query.enforcement === 'record';
        return bulkThrottle.run(() =>
          itemErrors === undefined
            ? createRuns(deps, call, body.runs, record)
            : createRunsSkipping(
                deps,
                call,
                { items: body.runs, parseErrors: itemErrors, recordDenial },
                record,
              ),
        );
      },
    }),
    read({
      id: 'runs.list',
      path: '/v1/runs',
      summary: 'List runs',
      description:
        'Sorted by the time of the charge, the newest first, unless `sort` says otherwise. `total_tokens` are input and output tokens. ' +
        'Runs without a cost or a latency sort as the lowest.',
      access: reader,
      query: RunFilters,
      response: RunPage,
      async handler({ query, caller }) {
        const { data, ...page } = await listRuns(deps.db, caller.tenantId, query);
        return { data: data.map((run) => viewRun(run)), ...page };
      },
    }),
    read({
      id: 'runs.read',
      path: '/v1/runs/{run_id}',
      isOwn,
      summary: 'Read a run',
      access: reader,
      response: RunView,
      handler: ({ params, caller }) => readRun(deps, caller.tenantId, params.run_id),
    }),
    posting({
      id: 'runs.complete',
      method: 'POST',
      path: '/v1/runs/{run_id}/complete',
      isOwn,
      summary: 'Complete a running run',
      description:
        'Settles the hold with the actual cost. The full cost is charged, even if it exceeds the hold or the hold has expired.',
      access: writer,
      body: CompleteRun,
      bodyLimitBytes: bodyLimits.lists,
      bodyOptional: true,
      response: RunView,
      errors: ['conflict'],
      handler: ({ params, body, caller, now }, storeResponse) =>
        completeRun(deps, { caller, now, storeResponse }, params.run_id, body),
    }),
    posting({
      id: 'runs.reprice',
      method: 'POST',
      path: '/v1/runs/{run_id}/reprice',
      isOwn,
      summary: 'Reprice a run without a price',
      description:
        'Adjusts a run marked `unpriced`, which was posted at the held amount, at the default rates or at 0, to the cost by the ' +
        'price that its model has now. Works once per run. Audio tokens and images are not stored with a run and not priced.',
      access: corrector,
      success: 201,
      response: AdjustmentView,
      errors: ['conflict'],
      handler: (context, storeResponse) =>
        repriceRun(deps, adjustingCall(context, storeResponse, 'runs.reprice'), context.params.run_id),
    }),
    posting({
      id: 'runs.adjust',
      method: 'POST',
      path: '/v1/runs/{run_id}/adjustments',
      isOwn,
      summary: 'Adjust the cost of a run',
      description:
        'Adds an entry to the ledger; the posted cost stays. `amount_usd` is the difference, negative if the run cost less. ' +
        'It counts in the same windows as the run.',
      access: corrector,
      body: AdjustRun,
      success: 201,
      response: AdjustmentView,
      errors: ['conflict'],
      handler: (context, storeResponse) =>
        adjustRun(
          deps,
          adjustingCall(context, storeResponse, 'runs.adjust'),
          context.params.run_id,
          context.body,
        ),
    }),
    read({
      id: 'runs.adjustments.list',
      path: '/v1/runs/{run_id}/adjustments',
      isOwn,
      summary: 'List adjustments of a run',
      description:
        'The corrections of its cost, with who made them and why, the newest first: adjustments, repricing, and the reversal of a ' +
        'held amount that was posted before the run was settled.',
      access: reader,
      query: AdjustmentFilters,
      response: page(AdjustmentEntry),
      handler: ({ params, query, caller }) => listAdjustments(deps, caller.tenantId, params.run_id, query),
    }),
  ];
}
