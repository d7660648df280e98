import type { Transaction } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf, removed } from '../../../platform/http/routes/outcomes.ts';
import {
  bodyLimits,
  type Change,
  type HandlerContext,
  posting,
  type Route,
  read,
  write,
} from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { SlicedWork } from '../../../platform/sliced-work.ts';
import { compareStatement } from './comparison.ts';
import { viewComparison } from './comparison-view.ts';
import { listStatements, markReconciled } from './queries.ts';
import { postDifferences, type ReconcileDependencies } from './reconcile.ts';
import { barePages } from './report-pages.ts';
import {
  ComparisonQuery,
  ComparisonView,
  CreateStatement,
  StatementFilters,
  StatementView,
} from './schema.ts';
import {
  draftStatement,
  removeStatement,
  requireStatement,
  storeStatement,
  viewStatement,
} from './statements.ts';

export interface StatementDependencies extends ReconcileDependencies {
  /** Writes the audit entry of a change, in the transaction of the change. */
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

const reader = { kind: 'org', scope: 'runs:read', role: 'viewer' } as const;
/** Reconciliation posts runs without admission checks, as backfilling does. */
const admin = { kind: 'org', scope: 'runs:backfill', role: 'admin' } as const;

export function statementRoutes(deps: StatementDependencies): Route[] {
  const { db, ids, recordChange } = deps;
  const work = new SlicedWork();
  return [
    posting({
      id: 'statements.create',
      method: 'POST',
      path: '/v1/orgs/{id}/statements',
      summary: "Upload a provider's statement",
      description:
        'Accepts the JSON pages of the cost and usage reports of OpenAI and Anthropic, also one page per line as ' +
        '`application/x-ndjson`, or a page or a list of pages as the whole body, or a CSV file in the columns of FOCUS 1.2 to 1.4 ' +
        "or of the exports of OpenAI's usage dashboard and Anthropic's console. The file is stored completely or not at all. " +
        'The same content again is `conflict`, even if its pages are in another order.',
      access: admin,
      body: CreateStatement,
      bodyLimitBytes: bodyLimits.configured,
      lines: 'pages',
      bareItems: barePages,
      success: 201,
      response: StatementView,
      errors: ['conflict'],
      async handler(call, storeResponse) {
        const { id } = call.params;
        const draft = await work.run(id, draftStatement(ids, call.now, id, call.body));
        const after = viewStatement(draft.row);
        await db.transaction(async (tx) => {
          await storeStatement(tx, draft);
          const change = changeOf('statement', draft.row, { after });
          await recordChange(tx, call as unknown as HandlerContext, 'statements.create', change);
          await storeResponse?.(tx, after);
        });
        return after;
      },
    }),
    read({
      id: 'statements.list',
      path: '/v1/orgs/{id}/statements',
      summary: 'List statements',
      access: reader,
      query: StatementFilters,
      response: page(StatementView),
      handler: ({ params, query }) => viewPage(listStatements(db, params.id, query), viewStatement),
    }),
    read({
      id: 'statements.read',
      path: '/v1/orgs/{id}/statements/{statement_id}',
      summary: 'Get a statement',
      access: reader,
      response: StatementView,
      handler: async ({ params }) =>
        viewStatement(await requireStatement(db, params.id, params.statement_id)),
    }),
    read({
      id: 'statements.compare',
      path: '/v1/orgs/{id}/statements/{statement_id}/comparison',
      summary: 'Compare a statement with the ledger',
      description:
        'By day, model and project: billed, recorded, their difference, and its causes, which add up to it. `missing`: billed ' +
        'tokens that no run recorded. `unsettled`: calls whose hold expired without a settlement. `late`: runs that were ' +
        'charged on another day. `price`: the tokens agree, the amounts do not. `time_zone`: the day of the organization is ' +
        'not a UTC day. `rounding`: at most a nanodollar per run and half of the last decimal per line. `unknown`: anything else. ' +
        'Returns `validation_failed` if the tags of `project_dimension` were deleted with the runs of a day that has very many tags.',
      access: reader,
      query: ComparisonQuery,
      response: ComparisonView,
      async handler({ params, query }) {
        const statement = await requireStatement(db, params.id, params.statement_id);
        return viewComparison(statement, await compareStatement(db, statement), query);
      },
    }),
    posting({
      id: 'statements.reconcile',
      method: 'POST',
      path: '/v1/orgs/{id}/statements/{statement_id}/reconcile',
      summary: 'Post the differences of a statement',
      description:
        'Posts a backfilled run for each row and cause of the comparison, whose cost is the difference and may be negative. ' +
        'The ledger then equals the statement, by UTC day, model and project. Works once: calling it again posts nothing. If ' +
        'it was interrupted, calling it again posts the rest. Returns `conflict` if a FOCUS file has a provider that no run of ' +
        'the period has, while runs of the billed models have others.',
      access: admin,
      response: StatementView,
      errors: ['conflict'],
      async handler(call, storeResponse) {
        const { params, caller, now } = call;
        const before = await requireStatement(db, params.id, params.statement_id);
        if (before.reconciled_at === null) {
          await postDifferences(deps, before, { keyId: caller.keyId, now });
        }
        return db.transaction(async (tx) => {
          const row = await markReconciled(tx, params.id, params.statement_id, now);
          const after = viewStatement(row ?? (await requireStatement(tx, params.id, params.statement_id)));
          if (row !== undefined) {
            const change = changeOf('statement', row, { before: viewStatement(before), after });
            await recordChange(tx, call as unknown as HandlerContext, 'statements.reconcile', change);
          }
          await storeResponse?.(tx, after);
          return after;
        });
      },
    }),
    write({
      id: 'statements.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/statements/{statement_id}',
      summary: 'Delete a statement',
      description: 'Returns `conflict` once differences of the statement were posted.',
      access: admin,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const row = await removeStatement(tx, params.id, params.statement_id);
        return removed('statement', row, viewStatement, now);
      },
    }),
  ];
}
