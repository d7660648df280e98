/** The last stage of a run: builds its posting, with one function per kind of run. */
import { type CostParts, noParts } from '../../../kernel/cost-parts.ts';
import type { Amounts } from '../../../kernel/limits.ts';
import type { TokenCounts } from '../../../kernel/prices.ts';
import type { Posting, RunUsage } from '../../../ledger/posting.ts';
import { defaultHoldSeconds } from '../../../ledger/scope.ts';
import { heldServiceOf } from '../../../ledger/service-fields.ts';
import type { PriceInForce } from '../models/index.ts';
import type { DraftContext, EndOfCall } from './draft-context.ts';
import type { Cost } from './price-run.ts';
import type { RunDraft, RunRow } from './queries.ts';
import { noUsage, usageOf } from './run-usage.ts';
import type { CompleteRun, CreateRun, Measured } from './schema.ts';
import { placeOfStored, type RunPlace } from './scope-run.ts';

/** A posting under construction. */
type Built = { -readonly [Field in keyof Posting<RunDraft>]: Posting<RunDraft>[Field] };

/**
 * Builds every posting with the same fields in the same order, so that all have one hidden class (record 0203). The functions of
 * each kind assign their additional fields.
 */
export function newPosting(
  kind: Posting['kind'],
  entryId: string,
  place: RunPlace,
  amounts: Amounts,
  usage: RunUsage,
  run: RunDraft,
): Built {
  return {
    kind,
    runId: place.runId,
    runExists: undefined,
    externalId: null,
    contentDigest: null,
    entryId,
    scope: place.scope,
    attribution: place.attribution,
    depth: place.depth,
    amounts,
    parts: noParts,
    cacheSavings: 0n,
    decisionId: place.decisionId,
    failOpenAtMs: place.failOpenAtMs,
    holdSeconds: 0,
    atMs: place.atMs,
    priceVersion: null,
    service: undefined,
    fit: undefined,
    postIfUnsettled: undefined,
    releasesKey: undefined,
    servedBy: undefined,
    marks: undefined,
    costAsHeld: undefined,
    isUnpriced: undefined,
    usage,
    note: undefined,
    actor: undefined,
    permit: undefined,
    run,
    runUnder: undefined,
  };
}

/** A run that has passed the other stages. */
export interface StagedRun<Body> {
  readonly body: Body;
  /** Digest of the body as sent; null: not compared. */
  readonly contentDigest: string | null;
  readonly counts: TokenCounts;
  readonly cost: Cost;
  readonly place: RunPlace;
  readonly startedAt: Date;
  /** Set if this service made the call of the run, or if telemetry reported the call. */
  readonly end: EndOfCall | undefined;
}

type BuildContext = Pick<DraftContext, 'ids' | 'keyId' | 'now' | 'record'>;

/** Builds the posting of a run in progress, which opens a hold or adopts that of its decision. */
export function startedPosting(run: StagedRun<CreateRun>, context: DraftContext): Posting<RunDraft> {
  const { body, cost, counts } = run;
  const { started } = context;
  const kind = body.decision_id === undefined ? 'open' : 'adopt';
  const maxOutput = BigInt(body.max_output_tokens ?? body.output_tokens ?? 0);
  const amounts = amountsOf(cost.usd, started?.toolNanos, counts.inputTokens + maxOutput);
  const posting = newRunPosting(kind, run, context, amounts, null);
  // The hold of a running run stores its price, or null if there is none.
  posting.priceVersion = cost.price?.versionId ?? null;
  posting.service = heldServiceOf(cost.price, body);
  posting.fit = started?.fit;
  posting.postIfUnsettled = started && true;
  return posting;
}

/** Builds the posting of a finished run. It is charged, or recorded without checks. */
export function finishedPosting(run: StagedRun<CreateRun>, context: BuildContext): Posting<RunDraft> {
  const kind = context.record ? 'record' : 'charge';
  const posting = newRunPosting(kind, run, context, spentAmounts(run), finishedAt(run.body, context.now));
  setSpent(posting, run);
  return posting;
}

function newRunPosting(
  kind: Posting['kind'],
  { body, contentDigest, counts, cost, place, startedAt, end }: StagedRun<CreateRun>,
  { ids, keyId }: BuildContext,
  amounts: Amounts,
  finished: Date | null,
): Built {
  const { external_id = null, status = 'succeeded' } = body;
  const posting = newPosting(kind, ids.next('ent'), place, amounts, usageOf(body, counts, status), {
    external_id,
    status,
    key_id: keyId,
    model: body.model,
    served_model: body.served_model ?? null,
    parent_run_id: body.parent_run_id ?? null,
    started_at: startedAt,
    finished_at: finished,
    // Set later by the steps `safety` and `content` (posting-steps.ts).
    content: null,
    flagged_by: null,
    metadata: body.metadata ?? null,
    priced_as: pricedAs(cost),
    service_tier: body.service_tier ?? null,
    region: body.region ?? null,
    cache_write_1h_tokens: counts.cacheWrite1hTokens || null,
    units: storedUnits(body),
    response_id: end?.responseId,
  });
  posting.externalId = external_id;
  posting.contentDigest = contentDigest;
  posting.holdSeconds = body.expires_in_seconds ?? defaultHoldSeconds;
  posting.costAsHeld = cost.asHeld;
  return posting;
}

/** Builds the posting of the completion of a stored run. */
export function completionPosting(
  run: RunRow,
  staged: StagedRun<CompleteRun>,
  { ids, now }: Pick<DraftContext, 'ids' | 'now'>,
): Posting<RunDraft> {
  const { body, counts, cost, place, end } = staged;
  const { status = 'succeeded' } = body;
  const stated = usageOf(body, counts, status);
  const usage = {
    ...stated,
    valueNanos: stated.valueNanos ?? run.value_nanos,
    latencyMs: stated.latencyMs ?? run.latency_ms,
  };
  const posting = newPosting('complete', ids.next('ent'), place, spentAmounts(staged), usage, {
    response_id: end?.responseId,
    ...run,
    status,
    served_model: body.served_model ?? run.served_model,
    finished_at: finishedAt(body, now),
    metadata: body.metadata ?? run.metadata,
    priced_as: pricedAs(cost),
    service_tier: body.service_tier ?? null,
    region: body.region ?? null,
    cache_write_1h_tokens: counts.cacheWrite1hTokens || null,
    units: storedUnits(body),
  });
  posting.costAsHeld = cost.asHeld;
  setSpent(posting, staged);
  return posting;
}

function amountsOf(usd: bigint, toolNanos: bigint | undefined, tokens: bigint): Amounts {
  return { usd: toolNanos === undefined ? usd : usd + toolNanos, tokens, requests: 1n };
}

/** Returns the amounts of a finished run. */
function spentAmounts({ cost, counts, end }: StagedRun<unknown>): Amounts {
  return amountsOf(cost.usd, toolNanosOf(cost, end), counts.inputTokens + counts.outputTokens);
}

/** Sets the fields that are only known for a finished run. */
function setSpent(posting: Built, { cost, end }: StagedRun<unknown>): void {
  const { price, parts, cacheSavings } = cost;
  posting.parts = withTools(parts, toolNanosOf(cost, end));
  posting.cacheSavings = cacheSavings;
  // If there are no rates, there is no version from which the cost was computed.
  posting.priceVersion = price === undefined || price.unpriced === 'record' ? null : price.versionId;
  posting.isUnpriced = price?.unpriced !== undefined;
  posting.marks = end?.marks;
  posting.releasesKey = end?.releasesKey;
  posting.servedBy = end?.servedBy;
}

/** Returns the cost of tools that comes in addition. */
function toolNanosOf({ includesTools }: Cost, end: EndOfCall | undefined): bigint {
  return includesTools === true ? 0n : (end?.toolNanos ?? 0n);
}

function withTools(parts: CostParts, nanos: bigint): CostParts {
  return nanos === 0n ? parts : [...parts, { code: 't', quantity: 1n, nanos }];
}

function pricedAs({ price }: Cost): string | null {
  return price?.model ?? null;
}

function finishedAt({ finished_at }: Measured, now: Date): Date {
  return finished_at === undefined ? now : new Date(finished_at);
}

function storedUnits({ units }: Measured): RunDraft['units'] {
  return units === undefined || Object.keys(units).length === 0 ? null : units;
}

export interface Adjustment {
  /** Id of the ledger entry. */
  readonly id: string;
  readonly delta: bigint;
  readonly reason: string;
  readonly actor: NonNullable<Posting['actor']>;
  readonly parts: CostParts;
  /** The price that an unpriced run gets; null if the adjustment does not price the run. */
  readonly price: PriceInForce | null;
}

/** Builds the posting of a correction. It only has the difference in cost. */
export function adjustmentPosting(
  run: RunRow,
  { id, delta, parts, reason, actor, price }: Adjustment,
): Posting<RunDraft> {
  const place = placeOfStored(run, null, undefined);
  const amounts = { usd: delta, tokens: 0n, requests: 0n };
  const posting = newPosting(
    'adjust',
    id,
    place,
    amounts,
    { ...noUsage, status: run.status },
    {
      adjustedBefore: run.adjusted_nanos,
      priceVersionBefore: run.price_version,
      ...run,
      priced_as: price?.model ?? run.priced_as,
    },
  );
  posting.parts = parts;
  posting.note = reason;
  posting.actor = actor;
  posting.priceVersion = price?.versionId ?? null;
  return posting;
}
