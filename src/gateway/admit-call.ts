/** Admits a planned call through all checks of a run. When the promise resolves, the hold is durable. */
import { contentCharactersMax } from '../capabilities/governance/safety/index.ts';
import type { Connection } from '../capabilities/integration/connections/index.ts';
import {
  type InProgress,
  KeyInUse,
  type RunCall,
  type RunDependencies,
  type StartedRun,
  startRun,
} from '../capabilities/spend/runs/index.ts';
import type { PacedHolds } from '../growing-holds/paced-holds.ts';
import { parseUsd } from '../kernel/money.ts';
import { worstCaseOutputCost } from '../kernel/prices.ts';
import { attributed } from '../ledger/attribution.ts';
import type { UnwatchedCost } from '../ledger/holds/hold.ts';
import type { Replay, RequestKey } from '../ledger/holds/hold-keys.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { CallAttribution } from './attribution-headers.ts';
import { promptText } from './body/prompt-text.ts';
import { attemptsMax } from './forward/attempts.ts';
import { growthOf } from './hold-growth.ts';
import { attemptCost, type CallPlan } from './plan-call.ts';
import type { AbandonedHolds } from './settle/abandoned-holds.ts';
import type { Settlements } from './settle/settlements.ts';

/** An admitted call. `maxOutputTokens` is the total of all alternative answers. */
export interface AdmittedCall extends Omit<StartedRun, 'runId'> {
  /** Null if the call was allowed while the ledger was unavailable. The price is then unknown. */
  readonly runId: string | null;
}

/** Allows calls while the ledger is unavailable (`SVC_EDGE_FAIL_MODE=open`). */
export interface FailOpenAdmission {
  isOutage(error: unknown): boolean;
  /** Returns the verdict stored under an idempotency key, if it is not in the ledger yet. */
  replay(orgId: string, key: RequestKey): Promise<Replay | undefined>;
  /** Returns the text of an edge decision's verdict. When the promise resolves, the decision is on disk. */
  allow(request: FailOpenCall): Promise<{ readonly text: string; readonly replayed: boolean }>;
}

export interface FailOpenCall {
  readonly body: InProgress;
  readonly caller: { readonly orgId: string; readonly keyId: string };
  readonly key: RequestKey | undefined;
}

export interface AdmitDependencies {
  readonly pacedHolds: Pick<PacedHolds, 'unwatchedTokens'>;
  readonly runs: RunDependencies;
  readonly failOpen: FailOpenAdmission | undefined;
  readonly settlements: Pick<Settlements, 'post'>;
  readonly abandoned: Pick<AbandonedHolds, 'add'>;
}

export interface CallToAdmit {
  readonly plan: CallPlan;
  readonly caller: Caller;
  readonly now: Date;
  readonly attribution: CallAttribution;
  /** Output tokens to hold at first, at most the maximum of the plan. */
  readonly heldOutputTokens: number;
  /** True if a hold for less output is acceptable. */
  readonly mayFit: boolean;
  readonly key: RequestKey | undefined;
}

/** Time for retries, for the rest of a response after its client has left, and for the settlement. */
const settleMs = 120_000;
const holdSecondsMax = 86_400;

export async function admitCall(deps: AdmitDependencies, request: CallToAdmit): Promise<AdmittedCall> {
  const { plan, caller, now, attribution, heldOutputTokens, mayFit, key } = request;
  const body: InProgress = {
    model: plan.model,
    input_tokens: plan.inputTokens,
    max_output_tokens: heldOutputTokens,
    expires_in_seconds: holdSeconds(plan),
    provider: plan.provider,
    ...plan.service.stated,
    ...plan.service.charged,
    ...attribution,
  };
  const call: RunCall = { caller, now, storeResponse: undefined };
  try {
    return await startRun(deps.runs, call, body, {
      fitDownTo: mayFit ? Math.min(plan.minOutputTokens, heldOutputTokens) : undefined,
      toolNanos: plan.service.nanos,
      calledAt: plan.pricedAt,
      pricedName: plan.learnedModel ?? plan.pricedId,
      goesOn: unwatchedCost(deps, plan),
      growth: growthOf(plan, heldOutputTokens),
      content: await contentOf(deps.runs, caller.tenantId, plan),
      key,
      // Posting these frees the amounts that ended calls did not use.
      beforeDenial: () => deps.settlements.post(caller.tenantId),
      onUncertain: (start) => deps.abandoned.add({ orgId: caller.tenantId, keyId: caller.keyId, ...start }),
    });
  } catch (error) {
    if (deps.failOpen?.isOutage(error) !== true) {
      throw error;
    }
    return allowOpen(deps.failOpen, body, caller, key);
  }
}

/** Returns what a paced call may cost beyond its hold if this process is killed. Increases of the hold do not change it. */
function unwatchedCost(
  { pacedHolds }: Pick<AdmitDependencies, 'pacedHolds'>,
  plan: CallPlan,
): UnwatchedCost | undefined {
  if (plan.paced === undefined) {
    return undefined;
  }
  const tokens = BigInt(pacedHolds.unwatchedTokens(plan.paced));
  return {
    usd: String(worstCaseOutputCost(plan.service.rates, tokens)),
    maxUsd: String(attemptCost(plan, plan.maxOutputTokens)),
  };
}

/**
 * Returns the duration of the hold, which is longer than the longest call. If the hold expired during the call, its amount would be
 * posted.
 */
function holdSeconds({ candidates }: CallPlan): number {
  const longest = (msOf: (timeouts: Connection['timeouts']) => number) =>
    Math.max(...candidates.map(({ timeouts }) => msOf(timeouts)));
  const untilResponseMs = attemptsMax * longest(({ connectMs, firstByteMs }) => connectMs + firstByteMs);
  const callMs = untilResponseMs + longest(({ totalMs }) => totalMs);
  return Math.min(holdSecondsMax, Math.ceil((callMs + settleMs) / 1_000));
}

/** Returns the content for the safety detectors; undefined if the org has none. The content is checked but never stored. */
async function contentOf(
  { orgLimits }: RunDependencies,
  orgId: string,
  { call }: CallPlan,
): Promise<string | undefined> {
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  return limits.runOnlyChecks.includes('safety') ? promptText(call.body, contentCharactersMax) : undefined;
}

async function allowOpen(
  failOpen: FailOpenAdmission,
  body: InProgress,
  { tenantId, keyId, attribution }: Caller,
  key: RequestKey | undefined,
): Promise<AdmittedCall> {
  const own = attributed(body, attribution);
  const { text, replayed } = await failOpen.allow({
    body: typeof own === 'string' ? body : own,
    caller: { orgId: tenantId, keyId },
    key,
  });
  if (replayed) {
    throw new KeyInUse();
  }
  const verdict = JSON.parse(text) as { decision_id: string; held_usd: string };
  return {
    runId: null,
    isStored: false,
    chainId: body.chain_id ?? null,
    depth: 1,
    decisionId: verdict.decision_id,
    heldNanos: parseUsd(verdict.held_usd) ?? 0n,
    shares: [],
    priceVersion: null,
    maxOutputTokens: body.max_output_tokens,
    remainingNanos: undefined,
    fullest: undefined,
  };
}
