/** From a question to a hold, and from a hold to the verdict: pure, so that the hot path is nothing but calls. */
import type { FieldError } from '../contract/errors.ts';
import type { ApplicableCounters, LimitWindow } from '../kernel/admission.ts';
import type { LimitKind, RunOnlyCheck } from '../kernel/limits.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { affordableOutputTokens, type Rates, worstCaseCost } from '../kernel/prices.ts';
import type { Held, HoldRequest } from '../ledger/holds/hold-request.ts';
import { postableAmount } from '../ledger/postings/amount-range.ts';
import { defaultHoldSeconds, scopeOf, sharedScope } from '../ledger/scope.ts';
import { isoInstant } from '../platform/time/iso-instant.ts';
import type { DecisionBody, Verdict } from './schema.ts';

export interface Price {
  readonly versionId: string;
  readonly rates: Rates;
}

export interface DecisionCaller {
  readonly orgId: string;
  readonly keyId: string;
}

export interface DecisionRequest {
  readonly request: HoldRequest;
  /** For the clamp; undefined where the model has no price. */
  readonly price: Price | undefined;
  readonly inputTokens: bigint;
  readonly images: bigint;
  readonly maxOutputTokens: number | undefined;
}

export function decisionRequestOf(
  body: DecisionBody,
  { orgId, keyId }: DecisionCaller,
  price: Price | undefined,
): DecisionRequest | FieldError {
  const inputTokens = BigInt(body.input_tokens ?? 0);
  const images = BigInt(body.images ?? 0);
  const usd = estimateOf(body, images, price);
  if (typeof usd !== 'bigint') {
    return usd;
  }
  return {
    request: {
      orgId,
      surface: 'edge',
      scope: sharedScope(scopeOf(body, keyId, body.chain_id ?? null)),
      amounts: { usd, tokens: inputTokens + BigInt(body.max_output_tokens ?? 0), requests: 1n },
      holdSeconds: body.expires_in_seconds ?? defaultHoldSeconds,
      priceVersion: price?.versionId ?? null,
    },
    price,
    inputTokens,
    images,
    maxOutputTokens: body.max_output_tokens,
  };
}

function estimateOf(body: DecisionBody, images: bigint, price: Price | undefined): bigint | FieldError {
  if (body.estimated_cost_usd !== undefined) {
    return parseUsd(body.estimated_cost_usd) ?? 0n;
  }
  if (body.input_tokens === undefined || body.max_output_tokens === undefined) {
    return {
      field: 'estimated_cost_usd',
      code: 'required',
      message: 'A decision needs `estimated_cost_usd`, or `input_tokens` with `max_output_tokens`.',
    };
  }
  return price === undefined
    ? {
        field: 'model',
        code: 'invalid_value',
        message: 'This model has no price: give the cost as `estimated_cost_usd`.',
      }
    : postableAmount(
        worstCaseCost(price.rates, BigInt(body.input_tokens), BigInt(body.max_output_tokens), images),
        body.model,
        'max_output_tokens',
      );
}

/** The most output whose worst case stays within what is held, and never more than was asked for. */
function clampOf({ price, inputTokens, images, maxOutputTokens, request }: DecisionRequest): number | null {
  if (price === undefined) {
    return maxOutputTokens ?? null;
  }
  const affordable = Number(affordableOutputTokens(price.rates, inputTokens, request.amounts.usd, images));
  return maxOutputTokens === undefined ? affordable : Math.min(affordable, maxOutputTokens);
}

const gateOf: Partial<Record<RunOnlyCheck | LimitKind, Verdict['not_checked'][number]>> = {
  safety: 'safety',
  plan_runs: 'plan',
  plan_tokens: 'plan',
  chain_cost: 'chain',
  chain_depth: 'chain',
  chain_tokens: 'chain',
  credits: 'credits',
};

/**
 * The verdict as JSON text. Put together by hand: it is most of what a decision writes, and nothing in it needs escaping.
 * `isGoverned`: the org has policies, which nobody has asked here.
 */
export function verdictText(
  request: DecisionRequest,
  { hold, applicable, remaining: left }: Held,
  hasPolicies: boolean,
): string {
  const { frames, notChecked, notCheckedGoverned } = textsOf(applicable);
  let limits = '';
  for (let i = 0; i < frames.length; i += 1) {
    const { before, isMoney, after } = frames[i] as Frame;
    const remaining = left[i] as bigint;
    limits += before + (isMoney ? formatUsd(remaining) : remaining.toString()) + after;
  }
  return (
    `{"decision":"allow","decision_id":"${hold.id}","expires_at":"${isoInstant(hold.expiresAtMs)}",` +
    `"held_usd":"${formatUsd(hold.amounts.usd)}","max_output_tokens":${clampOf(request)},` +
    `"limits":[${limits}],"not_checked":${hasPolicies ? notCheckedGoverned : notChecked}}`
  );
}

/** What stands around the number that remains of a limit. */
interface Frame {
  readonly before: string;
  readonly isMoney: boolean;
  readonly after: string;
}

interface LimitTexts {
  readonly frames: readonly Frame[];
  readonly notChecked: string;
  /** The same for an org that has policies. */
  readonly notCheckedGoverned: string;
}

/** All verdicts of a meeting have them in common. Those of orgs that ask once in a while are not worth their memory. */
const texts = new WeakMap<ApplicableCounters, LimitTexts | 'met once'>();

function textsOf(applicable: ApplicableCounters): LimitTexts {
  const known = texts.get(applicable);
  if (known !== undefined && known !== 'met once') {
    return known;
  }
  const gates = new Set(applicable.notChecked.flatMap((kind) => gateOf[kind] ?? []));
  const made = {
    frames: applicable.counters.map(frameOf),
    notChecked: JSON.stringify([...gates]),
    notCheckedGoverned: JSON.stringify(['policies', ...gates]),
  };
  texts.set(applicable, known === undefined ? 'met once' : made);
  return made;
}

function frameOf({ limit, window }: LimitWindow, index: number): Frame {
  const isMoney = limit.unit === 'usd';
  const resetsAt = limit.span.kind === 'lifetime' ? 'null' : `"${new Date(window.endMs).toISOString()}"`;
  return {
    before:
      `${index === 0 ? '' : ','}{"id":"${limit.id}","kind":"${limit.kind}","unit":"${limit.unit}",` +
      `"remaining":${isMoney ? '"' : ''}`,
    isMoney,
    after: `${isMoney ? '"' : ''},"resets_at":${resetsAt}}`,
  };
}
