/** The life of a run: admitted and charged, or held while it goes on and settled at its end; corrected by a new entry. */

import { apiError, invalidField, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { OrgLimits } from '../../../kernel/limits.ts';
import { formatUsd, parseSignedUsd } from '../../../kernel/money.ts';
import { type Hold, restoredHold } from '../../../ledger/holds/hold.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { postingError, withRunIndex } from '../../../ledger/ledger-errors.ts';
import { rateDenial, takeAdmissionRates } from '../../../ledger/limits/admission-rates.ts';
import type { LimitEvents } from '../../../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { GroupResult, Outcome, Posting } from '../../../ledger/posting.ts';
import { findEnds } from '../../../ledger/postings/ledger-writes.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { StoreResponse } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { RateLimiter, RateTake } from '../../../platform/rates/rate-limiter.ts';
import type { PolicyGate } from '../../governance/policies/index.ts';
import type { Safety } from '../../governance/safety/index.ts';
import type { PriceInForce, Prices } from '../models/index.ts';
import { checkPolicies, type PolicyCheckResult } from './check-policies.ts';
import { type Contents, checkSafety, hasContent, type KeptContents, keepContents } from './check-safety.ts';
import {
  type DraftContext,
  draftAdjustment,
  draftCompletion,
  draftRun,
  isInvalid,
  needsAdmission,
  needsPrice,
} from './drafts.ts';
import { findParents, findRun, type ParentRow, postedRow, type RunDraft, type RunRow } from './queries.ts';
import type { RunDigest } from './run-digest.ts';
import type { AdjustmentView, BulkResult, CompleteRun, CreateRun, RunView } from './schema.ts';
import { viewRun } from './view.ts';

export interface RunDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly ledger: Ledger<RunDraft>;
  readonly orgLimits: OrgLimitsCache;
  readonly prices: Prices;
  readonly rates: RateLimiter;
  readonly safety: Safety;
  readonly limitEvents: LimitEvents;
  readonly policies: PolicyGate;
  readonly contents: KeptContents;
  readonly contentDigest: RunDigest;
  /** A decision that was given without the books is put into them before it is settled. */
  importDecision?(decisionId: string): Promise<void>;
}

export interface RunCall {
  readonly caller: Caller;
  readonly now: Date;
  readonly seal: StoreResponse | undefined;
}

export async function createRun(deps: RunDependencies, call: RunCall, body: CreateRun): Promise<RunView> {
  const [posting] = await draftAll(deps, call, [body], { record: false, bulk: false });
  const outcomes = await postAll(deps, call, posting === undefined ? [] : [posting], {
    bulk: false,
    amount: 'cost_usd',
    contents: [body.content],
    answer: (tx, [outcome]) => viewOutcome(tx, call.caller.tenantId, outcome),
  });
  return outcomes;
}

export async function createRuns(
  deps: RunDependencies,
  call: RunCall,
  bodies: readonly CreateRun[],
  record: boolean,
): Promise<BulkResult> {
  const postings = await draftAll(deps, call, bodies, { record, bulk: true });
  return postAll(deps, call, postings, {
    bulk: true,
    amount: 'cost_usd',
    contents: bodies.map(({ content }) => content),
    answer: async (_, outcomes) => bulkResult(outcomes),
  });
}

function bulkResult(outcomes: readonly Outcome<RunDraft>[]): BulkResult {
  const runs = outcomes.map((outcome) => ({
    id: outcome.kind === 'known' ? outcome.runId : outcome.posting.runId,
    external_id: outcome.posting.externalId,
  }));
  return {
    accepted: outcomes.filter(({ kind }) => kind === 'posted').length,
    runs,
    known: outcomes.flatMap(({ kind }, index) => {
      const run = runs[index];
      return kind === 'known' && run !== undefined ? [{ index, ...run }] : [];
    }),
  };
}

async function viewOutcome(
  db: Queryable,
  orgId: string,
  outcome: Outcome<RunDraft> | undefined,
): Promise<RunView> {
  if (outcome?.kind === 'posted') {
    return viewRun(postedRow(outcome), outcome.hold);
  }
  const run = outcome && (await findRun(db, orgId, outcome.runId));
  if (run === undefined) {
    throw apiError('gone', 'The run with this `external_id` was deleted.');
  }
  return viewRun(run);
}

/** Books a group and answers; the answer of an idempotent request is sealed in the same transaction. */
async function postAll<View>(
  deps: RunDependencies,
  { caller, seal, now }: RunCall,
  drafted: readonly Posting<RunDraft>[],
  how: {
    readonly bulk: boolean;
    /** The field that says what it costs. */
    readonly amount: 'cost_usd' | 'amount_usd';
    /** What was said in each of the runs. */
    readonly contents?: Contents;
    answer(db: Queryable, outcomes: readonly Outcome<RunDraft>[]): Promise<View>;
  },
): Promise<View> {
  const orgId = caller.tenantId;
  const limits = deps.orgLimits.peek(orgId) ?? (await deps.orgLimits.get(orgId));
  const taken = limits.hasRates ? await takeRates(deps, limits, drafted, { now, bulk: how.bulk }) : [];
  const decisions = drafted.filter(needsAdmission).length;
  let result: GroupResult<RunDraft>;
  let sealed: View | undefined;
  let governed: PolicyCheckResult | undefined;
  try {
    // Most orgs have no policies, and then there is nothing to wait for.
    const hasPolicies = decisions > 0 && deps.policies.isGoverned(orgId);
    if (hasPolicies instanceof Promise ? await hasPolicies : hasPolicies) {
      governed = await checkPolicies(deps, { caller, now }, drafted, how.bulk);
    }
    const passed = governed?.postings ?? drafted;
    result = await deps.ledger.post({
      orgId,
      postings: hasContent(how.contents)
        ? await keepContents(
            deps.contents,
            orgId,
            await checkSafety(deps.safety, orgId, passed, { ...how, contents: how.contents }),
            how.contents,
          )
        : passed,
      ...(seal !== undefined && {
        async storeResponse(tx, outcomes) {
          sealed = await how.answer(tx, outcomes);
          await seal(tx, sealed);
        },
      }),
    });
  } catch (error) {
    deps.rates.giveBack(taken, now.getTime());
    throw isBeyondTheBooks(error)
      ? invalidField(
          how.bulk ? 'runs' : how.amount,
          'out_of_range',
          'The sum would be more than the books can hold.',
        )
      : error;
  }
  if (result.kind !== 'done') {
    deps.rates.giveBack(taken, now.getTime());
    if (result.kind === 'permit_spent') {
      throw await governed?.refuseSpent(result.index);
    }
    if (result.kind === 'denied') {
      decisionCounts.count('run', 'deny', result.denial.code);
      const scope = drafted[result.index]?.scope;
      if (scope !== undefined) {
        deps.limitEvents.limitDenied(orgId, scope, result.denial);
      }
    }
    throw postingError(result, how.bulk);
  }
  if (decisions > 0) {
    decisionCounts.count('run', 'allow', '', decisions);
  }
  return sealed ?? how.answer(deps.db, result.outcomes);
}

/** Each amount fits, but the sum of an org's day has to fit too. */
function isBeyondTheBooks(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === '22003';
}

/** Rates of models, customers, tokens and money. What settles a decision was counted when that was made. */
async function takeRates(
  { rates, limitEvents }: RunDependencies,
  limits: OrgLimits,
  postings: readonly Posting[],
  { now, bulk }: { readonly now: Date; readonly bulk: boolean },
): Promise<readonly RateTake[]> {
  const decided = [...postings.entries()].filter(([, posting]) => needsAdmission(posting));
  const charges = decided.map(([, posting]) => posting);
  const gate = takeAdmissionRates(rates, limits, charges, now.getTime());
  const refused = gate && rateDenial(gate, await gate.verdict, 'run');
  if (refused !== undefined) {
    const { error, index } = refused;
    const [runIndex, { scope }] = decided[index] as [number, Posting];
    decisionCounts.count('run', 'deny', error.code);
    refused.enqueueEvent(limitEvents, limits.orgId, scope);
    throw bulk ? withRunIndex(error, runIndex) : error;
  }
  return gate?.debits ?? [];
}

/** Checks every run before any is posted; every fault of every run is told. */
async function draftAll(
  deps: RunDependencies,
  { caller, now }: RunCall,
  bodies: readonly CreateRun[],
  how: { readonly record: boolean; readonly bulk: boolean },
): Promise<Posting<RunDraft>[]> {
  const orgId = caller.tenantId;
  const limits = deps.orgLimits.peek(orgId) ?? (await deps.orgLimits.get(orgId));
  const parents = bodies.some(isChild) ? await readParents(deps.db, orgId, bodies) : noParents;
  const context: DraftContext = {
    ids: deps.ids,
    keyId: caller.keyId,
    now,
    record: how.record,
    chained: limits.index.byValue.has('chain_id'),
    parentOf: (runId) => parents.get(runId),
    contentDigest: (body) => deps.contentDigest(orgId, body),
  };
  const postings: Posting<RunDraft>[] = [];
  const fieldErrors: FieldError[] = [];
  for (const [index, body] of bodies.entries()) {
    if (body.decision_id !== undefined) {
      await deps.importDecision?.(body.decision_id);
    }
    const found = needsPrice(body) ? priceFor(deps, orgId, body, now) : undefined;
    const price = found instanceof Promise ? await found : found;
    const drafted = draftRun(body, context, price);
    if (!isInvalid(drafted)) {
      postings.push(drafted);
    } else {
      const prefix = how.bulk ? `runs[${index}].` : '';
      fieldErrors.push(
        ...drafted.map((fieldError) => ({ ...fieldError, field: `${prefix}${fieldError.field}` })),
      );
    }
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  return postings;
}

const noParents: ReadonlyMap<string, ParentRow> = new Map();

function isChild({ parent_run_id }: CreateRun): boolean {
  return parent_run_id !== undefined;
}

async function readParents(
  db: Queryable,
  orgId: string,
  bodies: readonly CreateRun[],
): Promise<ReadonlyMap<string, ParentRow>> {
  const ids = [...new Set(bodies.flatMap(({ parent_run_id }) => parent_run_id ?? []))];
  const rows = await findParents(db, orgId, ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The price that held when the run was admitted: now, or when its decision was made. */
function priceFor(
  deps: RunDependencies,
  orgId: string,
  { model, decision_id }: { readonly model: string; readonly decision_id?: string | null },
  now: Date,
): PriceInForce | undefined | Promise<PriceInForce | undefined> {
  return decision_id == null
    ? deps.prices.find(orgId, model, now.getTime())
    : priceOfDecision(deps, orgId, model, decision_id, now);
}

async function priceOfDecision(
  deps: RunDependencies,
  orgId: string,
  model: string,
  decisionId: string,
  now: Date,
): Promise<PriceInForce | undefined> {
  const hold =
    (await deps.ledger.findHold(orgId, decisionId)) ?? (await findEndedHold(deps.db, orgId, decisionId));
  const named = hold?.priceVersion && (await deps.prices.version(orgId, model, hold.priceVersion));
  return named || deps.prices.find(orgId, model, hold?.admittedAtMs ?? now.getTime());
}

async function findEndedHold(db: Queryable, orgId: string, holdId: string): Promise<Hold | undefined> {
  const [end] = await findEnds(db, [orgId], [holdId]);
  return end && restoredHold(end.body);
}

export async function completeRun(
  deps: RunDependencies,
  call: RunCall,
  runId: string,
  body: CompleteRun,
): Promise<RunView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.status !== 'running') {
    throw apiError(
      'conflict',
      `The run has ended already: it ${run.status === 'failed' ? '' : 'was '}${run.status}.`,
    );
  }
  const price = body.cost_usd === undefined ? await priceFor(deps, orgId, run, run.charged_at) : undefined;
  const drafted = draftCompletion(run, body, { ids: deps.ids, now: call.now, price });
  if (isInvalid(drafted)) {
    throw invalidFields(drafted);
  }
  return postAll(deps, call, [drafted], {
    bulk: false,
    amount: 'cost_usd',
    answer: (db) => requireRun(db, orgId, runId).then((completed) => viewRun(completed)),
  });
}

export async function adjustRun(
  deps: RunDependencies,
  call: RunCall,
  runId: string,
  { amount_usd, reason }: { readonly amount_usd: string; readonly reason: string },
): Promise<AdjustmentView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.cost_nanos === null) {
    throw apiError('conflict', 'The run is still running: complete it with its real cost.');
  }
  const delta = parseSignedUsd(amount_usd) ?? 0n;
  if (run.cost_nanos + run.adjusted_nanos + delta < 0n) {
    throw invalidField('amount_usd', 'out_of_range', 'Corrections must not take a run below zero.');
  }
  const id = deps.ids.next('adj');
  return postAll(deps, call, [draftAdjustment(run, { id, delta, reason })], {
    bulk: false,
    amount: 'amount_usd',
    async answer(db, [outcome]) {
      const uncovered = outcome?.kind === 'posted' ? (outcome.charged?.uncovered ?? 0n) : 0n;
      return {
        id,
        run_id: runId,
        amount_usd: formatUsd(delta),
        reason,
        uncovered_usd: formatUsd(uncovered),
        created_at: call.now.toISOString(),
        run: viewRun(await requireRun(db, orgId, runId)),
      };
    },
  });
}

export async function readRun(deps: RunDependencies, orgId: string, runId: string): Promise<RunView> {
  const run = await requireRun(deps.db, orgId, runId);
  const hold =
    run.status === 'running' && run.decision_id !== null
      ? await deps.ledger.findHold(orgId, run.decision_id)
      : undefined;
  const content = run.content === null ? null : deps.contents.open(orgId, run.id, run.content);
  return { ...viewRun(run, hold), content };
}

async function requireRun(db: Queryable, orgId: string, runId: string): Promise<RunRow> {
  const run = await findRun(db, orgId, runId);
  if (run === undefined) {
    throw apiError('not_found');
  }
  return run;
}
