import { apiError, found } from '../../../contract/api-error.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { withDefaults } from '../../../ledger/attribution.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import {
  bodyLimits,
  posting,
  publicRead,
  type Route,
  read,
  type StoreResponse,
  write,
} from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { findAttribution } from '../../access/keys/index.ts';
import { draftRules } from './drafts.ts';
import { explain } from './dry-run.ts';
import { attemptFrom, type PolicyInput } from './expression-input.ts';
import { changePolicy, createPolicy, deletePolicy, viewPolicy } from './policies.ts';
import { findPolicy, listPolicies, listVersions, selectPolicies, type VersionRow } from './queries.ts';
import { compileRules } from './rules.ts';
import {
  CreatePolicy,
  EvaluatePolicies,
  Evaluation,
  PatchPolicy,
  PolicyFilters,
  PolicyVersionView,
  PolicyView,
  SimulatePolicies,
  Simulation,
  VersionFilters,
} from './schema.ts';
import { type SimulatedRun, simulate } from './simulation.ts';
import { VariableList, variableViews } from './variables.ts';

export interface PolicyDependencies {
  readonly db: Database;
  readonly ids: Ids;
  timezoneOf(orgId: string): string | Promise<string>;
  /** Returns the latest runs of an org, newest first. */
  lastRuns(orgId: string, limit: number): Promise<SimulatedRun[]>;
}

const reader = { kind: 'org', scope: 'policies:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'policies:write', role: 'admin' } as const;
const simulatedRunsDefault = 200;

export function policyRoutes({ db, ids, timezoneOf, lastRuns }: PolicyDependencies): Route[] {
  return [
    publicRead({
      id: 'policies.variables',
      path: '/v1/meta/policy-variables',
      summary: 'List the variables of policy expressions',
      response: VariableList,
      handler: async () => ({ data: variableViews(), next_cursor: null }),
    }),
    write({
      id: 'policies.create',
      method: 'POST',
      path: '/v1/orgs/{id}/policies',
      summary: 'Create a policy rule',
      description:
        'Rules are evaluated for every run, the lowest `priority` first. The first rule that matches decides; if none ' +
        'matches, the run is allowed. An invalid expression is rejected with the position of the error.',
      access: admin,
      body: CreatePolicy,
      bodyLimitBytes: bodyLimits.lists,
      success: 201,
      response: PolicyView,
      errors: ['conflict'],
      async handler({ body, caller, now }, tx) {
        const { row, changes } = await createPolicy(tx, { ids, caller, now }, body);
        return { body: viewPolicy(row), changes };
      },
    }),
    read({
      id: 'policies.list',
      path: '/v1/orgs/{id}/policies',
      summary: 'List policy rules',
      access: reader,
      query: PolicyFilters,
      response: page(PolicyView),
      handler: ({ params, query }) => viewPage(listPolicies(db, params.id, query), viewPolicy),
    }),
    read({
      id: 'policies.read',
      path: '/v1/orgs/{id}/policies/{policy_id}',
      summary: 'Read a policy rule',
      access: reader,
      response: PolicyView,
      handler: async ({ params }) => viewPolicy(found(await findPolicy(db, params.id, params.policy_id))),
    }),
    read({
      id: 'policies.versions',
      path: '/v1/orgs/{id}/policies/{policy_id}/versions',
      summary: 'List the versions of a policy rule',
      description: 'The newest first by default. Includes the versions of deleted rules.',
      access: reader,
      query: VersionFilters,
      response: page(PolicyVersionView),
      async handler({ params, query }) {
        const { data, next_cursor } = await listVersions(db, params.id, params.policy_id, query);
        if (data.length === 0) {
          throw apiError('not_found');
        }
        return { data: data.map(viewVersion), next_cursor };
      },
    }),
    write({
      id: 'policies.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/policies/{policy_id}',
      summary: 'Change a policy rule',
      description: 'Creates a new version. Approvals of the previous version end with `approval.expired`.',
      access: admin,
      body: PatchPolicy,
      bodyLimitBytes: bodyLimits.lists,
      response: PolicyView,
      async handler({ params, body, caller, now }, tx) {
        const { row, changes } = await changePolicy(tx, { ids, caller, now }, params.policy_id, body);
        return { body: viewPolicy(row), changes };
      },
    }),
    write({
      id: 'policies.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/policies/{policy_id}',
      summary: 'Delete a policy rule',
      access: admin,
      async handler({ params, caller, now }, tx) {
        const { changes } = await deletePolicy(tx, { ids, caller, now }, params.policy_id);
        return { body: {}, changes };
      },
    }),
    posting({
      id: 'policies.evaluate',
      method: 'POST',
      path: '/v1/orgs/{id}/policies/evaluate',
      summary: 'Evaluate the rules for a request',
      description:
        'A dry run: explains which rules are evaluated and which one decides. Requests no approval. Fields that you leave ' +
        'out have the values of the attribution of the key; a dry run can state other values, also for locked fields.',
      access: reader,
      body: EvaluatePolicies,
      bodyLimitBytes: bodyLimits.drafts,
      response: Evaluation,
      async handler({ params, body, caller, now }, storeResponse) {
        const rules = body.rules === undefined ? await selectPolicies(db, params.id) : draftRules(body.rules);
        const timezone = await timezoneOf(params.id);
        const attempt = attemptOf(await attributedRequest(db, body, caller), caller, now);
        return withStoredResponse(db, storeResponse, explain(rules, attempt, timezone));
      },
    }),
    posting({
      id: 'policies.simulate',
      method: 'POST',
      path: '/v1/orgs/{id}/policies/simulate',
      summary: 'Replay the latest runs against draft rules',
      description:
        'Returns the number of runs that the draft would treat differently from the rules in force, and up to 100 of them. Changes nothing.',
      access: reader,
      body: SimulatePolicies,
      bodyLimitBytes: bodyLimits.drafts,
      response: Simulation,
      async handler({ params, body, progress }, storeResponse) {
        const draft = draftRules(body.rules).filter(({ enabled }) => enabled);
        const inForce = (await selectPolicies(db, params.id)).filter(({ enabled }) => enabled);
        const result = await simulate({
          runs: await lastRuns(params.id, body.runs ?? simulatedRunsDefault),
          inForce: compileRules(inForce),
          draft: compileRules(draft),
          timezone: await timezoneOf(params.id),
          progress,
        });
        return withStoredResponse(db, storeResponse, result);
      },
    }),
  ];
}

/** Returns the result of a dry run. It commits nothing, except its response for an `Idempotency-Key`. */
async function withStoredResponse<View>(
  db: Database,
  storeResponse: StoreResponse | undefined,
  view: View,
): Promise<View> {
  if (storeResponse !== undefined) {
    await db.transaction((tx) => storeResponse(tx, view));
  }
  return view;
}

function viewVersion({ version, changed_at, changed_by, body }: VersionRow): PolicyVersionView {
  const { deleted, ...policy } = body as PolicyView & { readonly deleted: boolean };
  return {
    version: Number(version),
    changed_at: changed_at.toISOString(),
    changed_by,
    deleted,
    // Versions of release 0.1.0 have no owner.
    policy: { ...policy, owner: policy.owner ?? null },
  };
}

async function attributedRequest(
  db: Database,
  body: EvaluatePolicies,
  { keyId, tenantId, attribution }: Caller,
): Promise<EvaluatePolicies> {
  const isOwn = body.key_id === undefined || body.key_id === keyId;
  const values = isOwn ? attribution?.values : await findAttribution(db, tenantId, body.key_id ?? keyId);
  return values === undefined ? body : withDefaults(body, values);
}

function attemptOf(body: EvaluatePolicies, caller: Caller, now: Date): PolicyInput {
  return attemptFrom(body, {
    model: body.model,
    key_id: body.key_id ?? caller.keyId,
    role: body.role ?? caller.role,
    costNanos: parseUsd(body.cost_usd ?? '0') ?? 0n,
    inputTokens: BigInt(body.input_tokens ?? 0),
    outputTokens: BigInt(body.output_tokens ?? 0),
    tags: body.tags ?? null,
    metadata: body.metadata ?? null,
    atMs: body.at === undefined ? now.getTime() : Date.parse(body.at),
  });
}
