/** Turns the body of a run request into a posting: validated, priced, and placed in its chain. */
import type { AttributionValues } from '../../../contract/attribution.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Fit } from '../../../kernel/fit.ts';
import { parseUsd } from '../../../kernel/money.ts';
import type { TokenCounts } from '../../../kernel/prices.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import type { Mark, Posting } from '../../../ledger/posting.ts';
import { defaultHoldSeconds, scopeOf, sharedScope } from '../../../ledger/scope.ts';
import { heldServiceOf, unitErrors } from '../../../ledger/service-fields.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { PriceInForce } from '../models/index.ts';
import {
  chargedVersion,
  costIn,
  countsOf,
  estimateOf,
  hasUsage,
  isFieldError,
  knownAmount,
  needsPrice,
  reasonAsHeld,
  settledCost,
  type TriedUsage,
} from './drafted-cost.ts';
import { addMetadataErrors, addTimeErrors, addTokenErrors, fieldError } from './field-rules.ts';
import type { ParentRow, RunDraft, RunRow } from './queries.ts';
import type { RunPrice } from './run-price.ts';
import type { CompleteRun, CreateRun, Measured } from './schema.ts';
import { asDecided, serviceColumnsOf, storedCounts } from './served-cost.ts';

export interface DraftContext {
  readonly ids: Ids;
  readonly keyId: string;
  readonly now: Date;
  /** True for a backfill: the run is posted without admission checks. */
  readonly record: boolean;
  /** True if the org has chain limits: a run without a chain then starts one. */
  readonly chained: boolean;
  parentOf(runId: string): ParentRow | undefined;
  contentDigest(body: CreateRun): string;
  /** The values of the calling key, for runs that state none. */
  readonly attribution?: AttributionValues | undefined;
  /** Returns the time of a decision that was given fail-open. */
  failOpenAtMs(decisionId: string): number | undefined;
  /** Id of the run, if it was chosen before. */
  readonly runId?: string | undefined;
  /** The start of the run, if the body does not state it. */
  readonly startedAt?: Date | undefined;
  /** Set for the start of a call that this service makes. */
  readonly call?: StartedCall | undefined;
  /** Marks that are set in addition to those of the ledger. */
  readonly marks?: readonly Mark[] | undefined;
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
}

/** Its hold has the number of its run, and is posted if it expires unsettled. */
export interface StartedCall {
  readonly fit: Fit | undefined;
}

/** The posting, or the field errors of an invalid body. */
export type Drafted = Posting<RunDraft> | readonly FieldError[];

export function isInvalid(drafted: Drafted): drafted is readonly FieldError[] {
  return Array.isArray(drafted);
}

/** Returns true for postings that need the admission checks. The others use an existing hold, record or correct. */
export function needsAdmission({ kind, decisionId }: Posting): boolean {
  return kind === 'open' || (kind === 'charge' && decisionId === null);
}

/** `price` is the price in force; undefined if the model has none, or if the body needs none (`needsPrice`). */
export function draftRun(
  stated: CreateRun & TriedUsage,
  context: DraftContext,
  price: RunPrice | undefined,
): Drafted {
  const body = asDecided(stated, price);
  const { ids, now, keyId } = context;
  const fieldErrors: FieldError[] = [];
  const parent = body.parent_run_id === undefined ? undefined : context.parentOf(body.parent_run_id);
  if (body.parent_run_id !== undefined && parent === undefined) {
    fieldErrors.push(fieldError('parent_run_id', 'invalid_value', 'This run does not exist.'));
  }
  const startedAt = context.startedAt ?? (body.started_at === undefined ? now : new Date(body.started_at));
  addTimeErrors(fieldErrors, body, startedAt, now);
  addTokenErrors(fieldErrors, body);
  addMetadataErrors(fieldErrors, body);
  const running = body.status === 'running';
  if (price !== undefined && needsPrice(body) && (running || body.decision_id === undefined)) {
    fieldErrors.push(...unitErrors(price, body));
  }
  if (running && context.record) {
    fieldErrors.push(fieldError('status', 'invalid_value', 'Backfilled runs must be finished.'));
  }
  if (running && body.served_model !== undefined) {
    fieldErrors.push(
      fieldError(
        'served_model',
        'invalid_value',
        'The model that serves a run is known when it has finished.',
      ),
    );
  }
  if (body.decision_id !== undefined && context.record) {
    // A backfilled run would be counted in addition to the hold, and again when the decision is settled.
    fieldErrors.push(
      fieldError(
        'decision_id',
        'invalid_value',
        'Backfilled runs cannot settle a decision. Post this run without `enforcement`.',
      ),
    );
  }
  const cost = running
    ? estimateOf(body, price)
    : body.decision_id === undefined
      ? costIn(body, body.served_model ?? body.model, price)
      : settledCost(body, body.served_model ?? body.model, price, hasUsage(body));
  if (isFieldError(cost)) {
    fieldErrors.push(cost);
  }
  if (fieldErrors.length > 0 || isFieldError(cost)) {
    return fieldErrors;
  }

  const runId = context.runId ?? ids.next('run');
  const ownChain = running || context.chained ? runId : null;
  const chainId = body.chain_id ?? (parent === undefined ? ownChain : (parent.chain_id ?? parent.id));
  // A settlement belongs where its decision belongs; the values of the key must not contradict the decision.
  const settles = body.decision_id !== undefined;
  const defaults = settles ? undefined : context.attribution;
  const scope = sharedScope(scopeOf(body, keyId, chainId, defaults));
  const counts = countsOf(body);
  const usedPrice = needsPrice(body) && typeof cost === 'bigint' ? price : undefined;
  const service = running ? heldServiceOf(price, body) : undefined;
  const { call } = context;
  const ownHold = call === undefined ? undefined : holdIdOfCall(runId);
  const decisionId = body.decision_id ?? ownHold ?? (running ? ids.next('dec') : null);
  const columns = serviceColumnsOf(body, counts);
  const depth = (parent?.depth ?? 0) + 1;
  const maxOutput = running ? BigInt(body.max_output_tokens ?? body.output_tokens ?? 0) : counts.outputTokens;
  return {
    kind: context.record ? 'record' : !running ? 'charge' : body.decision_id === undefined ? 'open' : 'adopt',
    runId,
    externalId: body.external_id ?? null,
    contentDigest: body.external_id === undefined ? null : context.contentDigest(stated),
    entryId: ids.next('ent'),
    scope,
    attribution: settles ? context.attribution : undefined,
    depth,
    amounts: { usd: knownAmount(cost), tokens: counts.inputTokens + maxOutput, requests: 1n },
    costAsHeld: reasonAsHeld(cost),
    decisionId,
    failOpenAtMs: body.decision_id === undefined ? undefined : context.failOpenAtMs(body.decision_id),
    holdSeconds: body.expires_in_seconds ?? defaultHoldSeconds,
    atMs: context.record ? startedAt.getTime() : null,
    // The hold of a running run names its price, also if that is none.
    priceVersion: running ? (usedPrice?.versionId ?? null) : chargedVersion(usedPrice),
    isUnpriced: running ? undefined : usedPrice?.unpriced !== undefined,
    service,
    fit: call?.fit,
    postIfUnsettled: call && true,
    marks: context.marks,
    usage: usageOf(body, counts, body.status ?? 'succeeded'),
    run: {
      external_id: body.external_id ?? null,
      status: body.status ?? 'succeeded',
      key_id: keyId,
      model: body.model,
      served_model: body.served_model ?? null,
      parent_run_id: body.parent_run_id ?? null,
      started_at: startedAt,
      finished_at: running ? null : body.finished_at === undefined ? now : new Date(body.finished_at),
      // The steps `safety` and `content` set these two fields (posting-steps.ts).
      content: null,
      flagged_by: null,
      metadata: body.metadata ?? null,
      priced_as: usedPrice?.model ?? null,
      service_tier: columns.service_tier,
      region: columns.region,
      cache_write_1h_tokens: columns.cache_write_1h_tokens,
      units: columns.units,
      response_id: context.responseId,
    },
  };
}

export interface CompletionContext extends Pick<DraftContext, 'ids' | 'now' | 'failOpenAtMs'> {
  readonly price: RunPrice | undefined;
}

/**
 * Drafts the completion of a running run. Stored fields that the body leaves out keep the value they had at creation.
 */
export function draftCompletion(
  run: RunRow,
  body: CompleteRun & TriedUsage,
  { ids, now: ownNow, price, failOpenAtMs }: CompletionContext,
): Drafted {
  // The clock may have been set back since the run was started, or be behind that of the process that started it.
  const now = new Date(Math.max(ownNow.getTime(), run.started_at.getTime()));
  const stored = storedCounts(run);
  const measured = asDecided(
    {
      ...(run.service_tier !== null && { service_tier: run.service_tier }),
      ...(run.region !== null && { region: run.region }),
      ...(run.units !== null && { units: run.units }),
      ...body,
      input_tokens: body.input_tokens ?? Number(stored.inputTokens),
      cached_input_tokens: body.cached_input_tokens ?? Number(stored.cachedInputTokens),
      cache_write_tokens: body.cache_write_tokens ?? Number(stored.cacheWriteTokens),
      cache_write_1h_tokens: body.cache_write_1h_tokens ?? Number(stored.cacheWrite1hTokens),
      output_tokens: body.output_tokens ?? Number(stored.outputTokens),
    },
    price,
  );
  const fieldErrors: FieldError[] = [];
  addTimeErrors(fieldErrors, measured, run.started_at, now);
  addTokenErrors(fieldErrors, measured);
  addMetadataErrors(fieldErrors, measured);
  // Input tokens at creation may be an estimate; output tokens are only known once there is output.
  const served = body.served_model ?? run.served_model;
  const cost = settledCost(measured, served ?? run.model, price, hasUsage(body) || run.output_tokens > 0n);
  if (isFieldError(cost)) {
    fieldErrors.push(cost);
  }
  if (fieldErrors.length > 0 || isFieldError(cost)) {
    return fieldErrors;
  }
  const status = body.status ?? 'succeeded';
  const counts = countsOf(measured);
  const usage = usageOf(measured, counts, status);
  const usedPrice = body.cost_usd === undefined && typeof cost === 'bigint' ? price : undefined;
  return {
    kind: 'complete',
    runId: run.id,
    externalId: null,
    entryId: ids.next('ent'),
    scope: scopeOf(run, run.key_id, run.chain_id),
    depth: run.depth,
    amounts: { usd: knownAmount(cost), tokens: counts.inputTokens + counts.outputTokens, requests: 1n },
    costAsHeld: reasonAsHeld(cost),
    decisionId: run.decision_id,
    failOpenAtMs: run.decision_id === null ? undefined : failOpenAtMs(run.decision_id),
    holdSeconds: 0,
    atMs: run.charged_at.getTime(),
    priceVersion: chargedVersion(usedPrice),
    isUnpriced: usedPrice?.unpriced !== undefined,
    usage: {
      ...usage,
      valueNanos: usage.valueNanos ?? run.value_nanos,
      latencyMs: usage.latencyMs ?? run.latency_ms,
    },
    run: {
      ...run,
      status,
      served_model: served,
      finished_at: body.finished_at === undefined ? now : new Date(body.finished_at),
      metadata: body.metadata ?? run.metadata,
      priced_as: usedPrice?.model ?? null,
      ...serviceColumnsOf(measured, counts),
    },
  };
}

export interface Actor {
  readonly kind: string;
  readonly id: string;
}

export interface Adjustment {
  readonly id: string;
  readonly delta: bigint;
  readonly reason: string;
  readonly actor: Actor;
  /** The price that an unpriced run gets; null: the adjustment does not price the run. */
  readonly price: PriceInForce | null;
}

/** Drafts a correction: it posts only the difference in cost. */
export function draftAdjustment(
  run: RunRow,
  { id, delta, reason, actor, price }: Adjustment,
): Posting<RunDraft> {
  return {
    kind: 'adjust',
    runId: run.id,
    externalId: null,
    entryId: id,
    note: reason,
    actor,
    scope: scopeOf(run, run.key_id, run.chain_id),
    depth: run.depth,
    amounts: { usd: delta, tokens: 0n, requests: 0n },
    decisionId: null,
    holdSeconds: 0,
    atMs: run.charged_at.getTime(),
    priceVersion: price?.versionId ?? null,
    usage: {
      status: run.status,
      inputTokens: 0n,
      cachedInputTokens: 0n,
      cacheWriteTokens: 0n,
      outputTokens: 0n,
      valueNanos: null,
      latencyMs: null,
    },
    run: {
      ...run,
      adjustedBefore: run.adjusted_nanos,
      priceVersionBefore: run.price_version,
      priced_as: price?.model ?? run.priced_as,
    },
  };
}

function usageOf(body: Measured, counts: TokenCounts, status: string): Posting['usage'] {
  return {
    status,
    inputTokens: counts.inputTokens,
    cachedInputTokens: counts.cachedInputTokens,
    cacheWriteTokens: counts.cacheWriteTokens + (counts.cacheWrite1hTokens ?? 0n),
    outputTokens: counts.outputTokens,
    valueNanos: body.value_usd === undefined ? null : (parseUsd(body.value_usd) ?? null),
    latencyMs: body.latency_ms === undefined ? null : BigInt(body.latency_ms),
  };
}
