import { createHash } from 'node:crypto';
import { apiError } from '../../../contract/api-error.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { rolledBack } from '../../../platform/db/rolled-back.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import {
  type Change,
  posting,
  type Route,
  read,
  type StoreResponse,
  write,
} from '../../../platform/http/routes/route.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { ChangeRecord } from '../../compliance/audit/index.ts';
import { type Applied, type ApplyRequest, applyConfiguration } from './apply.ts';
import { exportConfiguration } from './export.ts';
import { customerLimits } from './limit-sections.ts';
import { type CallContext, createRouteCalls } from './route-calls.ts';
import {
  AppliedConfiguration,
  ApplyOptions,
  ApplyPlanOptions,
  Configuration,
  ConfigurationPlan,
  configurationBytesMax,
  configurationValuesMax,
  ExportedConfiguration,
} from './schema.ts';

export interface ConfigurationDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly ledger: Pick<LedgerReads, 'holdsInMemory'>;
  /** Writes the audit entries and events of changes, in their transaction. */
  recordChanges(tx: Transaction, context: CallContext, records: readonly ChangeRecord[]): Promise<void>;
  /** Returns all routes of the service. A configuration is applied by calling the routes of its resources. */
  routes(): readonly Route[];
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'org:write', role: 'admin' } as const;
const orgPath = '/v1/orgs/{id}/configuration';
const operatorPath = '/v1/admin/configuration';

const planDescription =
  'Returns the changes that an application would make, and changes nothing. It meets the same errors as the application.';
const applyDescription =
  'Creates, changes and, with `prune`, deletes resources until the organization matches, in one transaction: all changes, or none. ' +
  'Sections that are left out stay as they are. Each change needs the scope and role of its own route.';
const configuration = {
  body: Configuration,
  bodyLimitBytes: configurationBytesMax,
  bodyValuesMax: configurationValuesMax,
  errors: ['conflict'],
} as const;

export function configurationRoutes(deps: ConfigurationDependencies): Route[] {
  const { db, recordChanges } = deps;
  const calls = createRouteCalls(deps.routes);
  const apply = (tx: Transaction, request: ApplyRequest) =>
    applyConfiguration({ ...deps, calls }, tx, request);

  async function plan(
    request: ApplyRequest,
    storeResponse: StoreResponse | undefined,
  ): Promise<ConfigurationPlan> {
    const applied = await rolledBack(db, (tx) => apply(tx, request));
    const view = planView(applied);
    if (storeResponse !== undefined) {
      await db.transaction((tx) => storeResponse(tx, view, applied.customers));
    }
    return view;
  }

  /** The changes are recorded with the actions of their routes; the summary is the change of this request. */
  async function applyAndRecord(tx: Transaction, request: ApplyRequest, planDigest: string | undefined) {
    const applied = await apply(tx, request);
    if (planDigest !== undefined && planDigest !== planView(applied).plan_digest) {
      throw apiError(
        'conflict',
        'The organization has changed since the plan, or the plan was of another file. Nothing was applied. Plan again.',
      );
    }
    const { context } = request;
    await recordChanges(tx, context, applied.recorded);
    const { response: body, recorded, customers } = applied;
    return { body, changes: recorded.length === 0 ? [] : [summaryOf(applied)], customers };
  }

  return [
    read({
      id: 'configuration.read',
      path: orgPath,
      summary: 'Export the configuration of the organization',
      description:
        'In the form that can be applied, without secrets and without fields that have their default. Contains the sections that ' +
        'the caller can read.',
      access: reader,
      response: ExportedConfiguration,
      handler: ({ params, ...context }) => exportConfiguration({ ...deps, calls }, context, params.id),
    }),
    posting({
      id: 'configuration.plan',
      method: 'POST',
      path: `${orgPath}/plan`,
      summary: 'Plan a configuration',
      description: planDescription,
      access: reader,
      ...configuration,
      query: ApplyOptions,
      response: ConfigurationPlan,
      handler: ({ params, query, body, ...context }, storeResponse) =>
        plan({ context, orgId: params.id, configuration: body, ...options(query) }, storeResponse),
    }),
    write({
      id: 'configuration.apply',
      method: 'POST',
      path: orgPath,
      summary: 'Apply a configuration',
      description: applyDescription,
      access: admin,
      ...configuration,
      query: ApplyPlanOptions,
      response: AppliedConfiguration,
      handler: ({ params, query, body, ...context }, tx) =>
        applyAndRecord(
          tx,
          { context, orgId: params.id, configuration: body, ...options(query) },
          query.plan_digest,
        ),
    }),
    read({
      id: 'orgs.configuration.read',
      path: '/v1/admin/orgs/{org_id}/configuration',
      summary: 'Export the configuration of an organization as an operator',
      access: operator,
      response: ExportedConfiguration,
      handler: ({ params, ...context }) => exportConfiguration({ ...deps, calls }, context, params.org_id),
    }),
    posting({
      id: 'orgs.configuration.plan',
      method: 'POST',
      path: `${operatorPath}/plan`,
      summary: 'Plan the configuration of an organization as an operator',
      description: planDescription,
      access: operator,
      ...configuration,
      query: ApplyOptions,
      response: ConfigurationPlan,
      handler: ({ query, body, ...context }, storeResponse) =>
        plan({ context, orgId: undefined, configuration: body, ...options(query) }, storeResponse),
    }),
    write({
      id: 'orgs.configuration.apply',
      method: 'POST',
      path: operatorPath,
      summary: 'Apply the configuration of an organization as an operator',
      description: `${applyDescription} The organization is the one with the slug in \`org.slug\`; it is created if there is none.`,
      access: operator,
      ...configuration,
      query: ApplyPlanOptions,
      response: AppliedConfiguration,
      handler: ({ query, body, ...context }, tx) =>
        applyAndRecord(
          tx,
          { context, orgId: undefined, configuration: body, ...options(query) },
          query.plan_digest,
        ),
    }),
  ];
}

function options({ prune = false, force = false }: { readonly prune?: boolean; readonly force?: boolean }) {
  return { prune, force };
}

/** Ids of resources that the rollback removed are not shown, and neither are their secrets. */
function planView({ isNew, response: { secrets: _, ...response } }: Applied): ConfigurationPlan {
  const org_id = isNew ? null : response.org_id;
  const changes = response.changes.map((change) => ({
    ...change,
    id: change.action === 'create' ? null : change.id,
  }));
  return { ...response, org_id, changes, plan_digest: digestOf({ org_id, changes }) };
}

function digestOf(planned: Pick<ConfigurationPlan, 'org_id' | 'changes'>): string {
  return createHash('sha256').update(canonicalJson(planned)).digest('hex');
}

/** Changes that an audit entry names; the others are only counted. All have an entry of their own. */
const namedChangesMax = 100;

function summaryOf({ orgId, response: { changes } }: Applied): Change {
  const count = (wanted: string) => changes.filter(({ action }) => action === wanted).length;
  const after = {
    created: count('create'),
    updated: count('update'),
    deleted: count('delete'),
    changes: changes
      .slice(0, namedChangesMax)
      .map((change) => [change.action, change.label, auditName(change)].filter(Boolean).join(' ')),
  };
  return changeOf('configuration', orgId, { after });
}

/** The name of a customer limit contains the id of a customer, who may be erased later. */
function auditName({ section, name, id }: AppliedConfiguration['changes'][number]): string | null {
  return section === customerLimits.name ? id : name && `"${name}"`;
}
