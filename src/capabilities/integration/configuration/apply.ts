/**
 * Plans and applies a configuration in the transaction of its request. A plan does the same and is rolled back, so it meets every
 * rule that the application would meet.
 */
import { apiError, found, invalidField, invalidFields } from '../../../contract/api-error.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { notifyManyLimitsChanged } from '../../../ledger/limits/change-notifications.ts';
import { counted } from '../../../platform/counted.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { customersIn } from '../../../platform/http/pipeline/idempotency.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findOrg, findOrgBySlug, lockOrg } from '../../access/orgs/index.ts';
import type { ChangeRecord } from '../../compliance/audit/index.ts';
import { countOpenHolds } from '../../insight/ledger/index.ts';
import { type Creation, planSection, type ResourceChange, type SectionPlan } from './plan.ts';
import { type CallContext, errorAt, isNoChange, type RouteCalls } from './route-calls.ts';
import {
  type AppliedConfiguration,
  type Configuration,
  type CreatedSecret,
  notInFileMax,
  type PlannedChange as PlannedChangeView,
} from './schema.ts';
import type { FileFields, RouteCall } from './section.ts';
import { sections } from './sections.ts';

export interface ApplyDependencies {
  readonly secrets: Secrets;
  readonly ledger: Pick<LedgerReads, 'holdsInMemory'>;
  readonly calls: RouteCalls;
}

export interface ApplyRequest {
  readonly context: CallContext;
  /** Undefined: the organization with the slug in the configuration, which is created if it does not exist. */
  readonly orgId: string | undefined;
  readonly configuration: Configuration;
  readonly prune: boolean;
  readonly force: boolean;
}

export interface Applied {
  readonly orgId: string;
  /** True if the organization did not exist before. */
  readonly isNew: boolean;
  readonly response: AppliedConfiguration;
  readonly recorded: readonly ChangeRecord[];
  /** Customers that the response names, in the names and fields of resources. */
  readonly customers: readonly string[];
}

export async function applyConfiguration(
  deps: ApplyDependencies,
  tx: Transaction,
  request: ApplyRequest,
): Promise<Applied> {
  const { prune, force } = request;
  const existing = await findTarget(tx, request);
  const recorded: ChangeRecord[] = [];
  const changes: PlannedChangeView[] = [];
  const created = existing === undefined ? await createOrg(deps, tx, request, recorded) : undefined;
  const orgId = existing ?? created?.id ?? '';
  if (created !== undefined) {
    changes.push(created.view);
  }
  // Serializes applications, and all changes of routes that take the same lock.
  found(await lockOrg(tx, orgId));
  // The handlers of an organization's routes see an operator as a caller of that organization.
  const context = { ...request.context, caller: { ...request.context.caller, tenantId: orgId } };
  const plans = await planSections(deps, tx, { ...request, context, orgId }, created !== undefined);
  const secrets: CreatedSecret[] = [];
  const ended = new Map<string, string>();
  let unchanged = plans.reduce((sum, plan) => sum + plan.unchanged, 0);
  if (plans.filter(({ section }) => section.hasLimits === true).flatMap((plan) => plan.changes).length > 1) {
    await notifyManyLimitsChanged(tx, orgId);
  }
  for (const planned of plans.flatMap((plan) => plan.changes)) {
    const done = await perform(deps, tx, { context, orgId, force }, planned);
    if (done === undefined) {
      unchanged += 1;
      continue;
    }
    recorded.push(...done.recorded);
    if (created === undefined || planned.section.name !== 'org') {
      changes.push(viewChange(planned, done.id));
    }
    const secret = done.response && planned.section.secretIn?.(done.response);
    if (secret !== undefined) {
      secrets.push({ section: planned.section.name, name: planned.name, id: done.id, secret });
    }
    for (const limitId of endedLimits(planned)) {
      ended.set(limitId, `${planned.section.label}${planned.name && ` "${planned.name}"`}`);
    }
  }
  if (!force) {
    await refuseOpenHolds(deps, tx, orgId, ended);
  }
  const notInFile = plans.flatMap(({ section, notInFile: resources }) =>
    resources.map(({ name, resource }) => ({ section: section.name, name, id: resource.id })),
  );
  return {
    orgId,
    isNew: created !== undefined,
    recorded,
    customers: customersOf(recorded, plans),
    response: {
      org_id: orgId,
      changes,
      unchanged,
      not_in_file: prune ? [] : notInFile.slice(0, notInFileMax),
      secrets,
    },
  };
}

/** Read from whole resources: the response has the id of a customer within names, or under the path of a field. */
function customersOf(recorded: readonly ChangeRecord[], plans: readonly SectionPlan[]): string[] {
  const changed = recorded.map(({ change: { before, after } }) => [before, after]);
  const notInFile = plans.flatMap((plan) => plan.notInFile.map(({ resource: { fields } }) => fields));
  return [...customersIn(JSON.stringify([changed, notInFile]))];
}

/** Returns the id of the organization; undefined if it must be created. */
async function findTarget(
  tx: Transaction,
  { orgId, configuration }: ApplyRequest,
): Promise<string | undefined> {
  if (orgId !== undefined) {
    found(await findOrg(tx, orgId));
    return orgId;
  }
  const slug = configuration.org?.slug;
  if (slug === undefined) {
    throw invalidField('org.slug', 'required', 'Required: it identifies the organization.');
  }
  await lockSlug(tx, slug);
  return (await findOrgBySlug(tx, slug))?.id;
}

/** If two requests would create the same organization, the second finds it. */
async function lockSlug(tx: Transaction, slug: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`configuration of ${slug}`]);
}

async function createOrg(
  { calls }: ApplyDependencies,
  tx: Transaction,
  { context, configuration }: ApplyRequest,
  recorded: ChangeRecord[],
): Promise<{ readonly id: string; readonly view: PlannedChangeView }> {
  const { on_unsettled: _, ...body } = configuration.org ?? {};
  const outcome = await inPlace('org', body.slug ?? '', () =>
    calls.call(tx, context, '', { route: 'orgs.create', body }),
  );
  recorded.push(...outcome.changes.map((change) => ({ action: 'orgs.create', change })));
  const { id } = outcome.body as { readonly id: string };
  const fields = Object.entries(configuration.org ?? {}).map(([field, after]) => ({
    field,
    before: null,
    after,
  }));
  const name = body.slug ?? '';
  return { id, view: { action: 'create', section: 'org', label: 'organization', name, id, fields } };
}

function sectionsIn(configuration: Configuration) {
  return sections.filter(({ name }) => (configuration as FileFields)[name] !== undefined);
}

/** Plans all sections of the file before any of them is applied, so that all invalid fields are reported together. */
async function planSections(
  { secrets, calls }: ApplyDependencies,
  tx: Transaction,
  { context, orgId, configuration, prune }: ApplyRequest & { readonly orgId: string },
  isNew: boolean,
): Promise<SectionPlan[]> {
  const plans: SectionPlan[] = [];
  for (const section of sectionsIn(configuration)) {
    try {
      calls.checkAccess(context, section.readRoute);
    } catch (error) {
      throw errorAt(error, section.name, '');
    }
    const callerId = context.caller.keyId;
    const load = { db: tx, orgId, now: context.now, secrets, callerId };
    const given = (configuration as FileFields)[section.name];
    const resources = await section.load(load);
    const ended =
      section.shape === 'list' ? await section.findEnded?.(load, given as readonly FileFields[]) : undefined;
    plans.push(planSection(section, given, resources, { prune, ended }));
  }
  const fieldErrors = plans.flatMap((plan) => plan.fieldErrors);
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  return isNew ? plans.map(withoutNewOrg) : plans;
}

/** The creation of an organization has set all of its fields, except `on_unsettled`, which it does not take. */
function withoutNewOrg(plan: SectionPlan): SectionPlan {
  return plan.section.name === 'org'
    ? { ...plan, changes: plan.changes.filter(hasMore), unchanged: 0 }
    : plan;
}

function hasMore(change: ResourceChange): boolean {
  return change.action === 'update' && change.changed.on_unsettled !== undefined;
}

interface PerformContext {
  readonly context: CallContext;
  readonly orgId: string;
  readonly force: boolean;
}

interface Performed {
  readonly id: string;
  readonly response: FileFields | undefined;
  readonly recorded: readonly ChangeRecord[];
}

/** Returns undefined if the change turned out to be none, because the file writes the same value in another form. */
async function perform(
  { calls }: ApplyDependencies,
  tx: Transaction,
  { context, orgId, force }: PerformContext,
  planned: ResourceChange,
): Promise<Performed | undefined> {
  const call = callOf(planned, force);
  const path = planned.action === 'delete' ? planned.section.name : planned.path;
  const run = () => inPlace(path, planned.name, () => calls.call(tx, context, orgId, call));
  if (planned.action !== 'update' || planned.section.storesAsGiven === true) {
    const { body, changes } = await run();
    return performed(planned.action === 'create' ? undefined : planned.resource.id, call, body, changes);
  }
  await tx.query('SAVEPOINT configuration_change');
  const { body, changes } = await run();
  if (isNoChange(changes) && !hasChangedSecret(planned)) {
    await tx.query('ROLLBACK TO SAVEPOINT configuration_change');
    return undefined;
  }
  await tx.query('RELEASE SAVEPOINT configuration_change');
  return performed(planned.resource.id, call, body, changes);
}

function hasChangedSecret({ section, changed }: Extract<ResourceChange, { action: 'update' }>): boolean {
  return (section.secretFields ?? []).some((field) => changed[field] !== undefined);
}

function performed(
  id: string | undefined,
  { route }: RouteCall,
  body: unknown,
  changes: readonly Change[],
): Performed {
  const response = body as FileFields;
  return {
    id: id ?? String(response.id ?? changes[0]?.target.id ?? ''),
    response,
    recorded: changes.map((change) => ({ action: route, change })),
  };
}

function callOf(planned: ResourceChange, force: boolean): RouteCall {
  const { section } = planned;
  switch (planned.action) {
    case 'create':
      return required(section.create)(withoutId(planned));
    case 'update':
      return section.change(planned.resource, planned.changed, planned.wanted, { force });
    default:
      return required(section.remove)(planned.resource);
  }
}

function withoutId({ item: { id: _, ...body } }: Creation): FileFields {
  return body;
}

function required<Function>(value: Function | undefined): Function {
  if (value === undefined) {
    throw new Error('the section cannot do this');
  }
  return value;
}

async function inPlace<Result>(path: string, name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw errorAt(error, path, name);
  }
}

function viewChange(planned: ResourceChange, id: string): PlannedChangeView {
  const { action, section, name } = planned;
  const fields =
    planned.action === 'delete'
      ? []
      : planned.fieldChanges.map(({ field, before, after }) => ({ field, before, after }));
  return { action, section: section.name, label: section.label, name, id, fields };
}

function endedLimits(planned: ResourceChange): readonly string[] {
  switch (planned.action) {
    case 'delete':
      return planned.resource.limitIds ?? [];
    case 'update':
      return planned.section.endedLimits?.(planned.resource, planned.wanted) ?? [];
    default:
      return [];
  }
}

/**
 * Runs after the limits have ended in this transaction: on PostgreSQL no hold can be taken until it commits, so none is missed. On
 * the embedded engine a hold may be taken until the commit; it then settles without the limit.
 */
async function refuseOpenHolds(
  { ledger }: ApplyDependencies,
  tx: Transaction,
  orgId: string,
  ended: ReadonlyMap<string, string>,
): Promise<void> {
  if (ended.size === 0) {
    return;
  }
  const counts = await countOpenHolds(tx, ledger, orgId, new Set(ended.keys()));
  if (counts.size > 0) {
    const held = [...counts].map(
      ([limitId, count]) => `${ended.get(limitId)} (${limitId}, ${counted(count, 'hold', 'holds')})`,
    );
    throw apiError(
      'conflict',
      `Limits with open holds would be deleted: ${held.slice(0, 10).join(', ')}. Wait until the holds have ended, or set \`force\`.`,
    );
  }
}
