/** Converts a decision request into a hold request and a hold into the verdict. Pure functions. */
import type { FieldError } from '../contract/errors.ts';
import type { ApplicableCounters, LimitWindow } from '../kernel/admission.ts';
import type { Fit } from '../kernel/fit.ts';
import { type Amounts, type CheckedKind, type RunOnlyCheck, shownKind } from '../kernel/limits.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { outputFit } from '../kernel/output-fit.ts';
import {
  affordableOutputTokens,
  noOtherCharges,
  type OtherCharges,
  type Rates,
  worstCaseCost,
} from '../kernel/prices.ts';
import type { Tariff } from '../kernel/rate-modifiers.ts';
import type { Held, HoldRequest } from '../ledger/holds/hold-request.ts';
import { postableAmount } from '../ledger/postings/amount-range.ts';
import { defaultHoldSeconds, scopeOf, sharedScope } from '../ledger/scope.ts';
import { heldServiceOf, otherChargesOf, requestedRates, unitErrors } from '../ledger/service-fields.ts';
import { isoInstant } from '../platform/time/iso-instant.ts';
import type { DecisionBody, Verdict } from './schema.ts';

export interface Price extends Tariff {
  readonly versionId: string;
  /** Set if the model has no price. With `record`, all rates are zero. */
  readonly unpriced?: 'hold_default' | 'record';
}

export interface DecisionCaller {
  readonly orgId: string;
  readonly keyId: string;
}

export interface DecisionRequest {
  readonly request: HoldRequest;
  /** The highest rates that may apply; undefined if no rates can limit the output. */
  readonly rates: Rates | undefined;
  readonly inputTokens: bigint;
  readonly others: OtherCharges;
  readonly maxOutputTokens: number | undefined;
}

export function decisionRequestOf(
  body: DecisionBody,
  { orgId, keyId }: DecisionCaller,
  price: Price | undefined,
): DecisionRequest | FieldError {
  const inputTokens = BigInt(body.input_tokens ?? 0);
  const rates = requestedRates(price, body, inputTokens);
  const others = hasOthers(body) ? otherChargesOf(price, body) : noOtherCharges;
  const fitError = fitErrorOf(body);
  if (fitError !== undefined) {
    return fitError;
  }
  const usd = estimateOf(body, price, rates, others);
  if (typeof usd !== 'bigint') {
    return usd;
  }
  const request: HoldRequest = {
    orgId,
    surface: 'edge',
    scope: sharedScope(scopeOf(body, keyId, body.chain_id ?? null)),
    amounts: { usd, tokens: inputTokens + BigInt(body.max_output_tokens ?? 0), requests: 1n },
    holdSeconds: body.expires_in_seconds ?? defaultHoldSeconds,
    priceVersion: price?.versionId ?? null,
  };
  const service = heldServiceOf(price, body);
  const served = service === undefined ? request : { ...request, service };
  return {
    request:
      body.fit === true && rates !== undefined ? { ...served, fit: fitOf(body, rates, others) } : served,
    rates: price?.unpriced === 'record' ? undefined : rates,
    inputTokens,
    others,
    maxOutputTokens: body.max_output_tokens,
  };
}

/** Returns true if the request may be charged for more than tokens. Most requests are not. */
function hasOthers({ images, units, cache_write_1h_tokens }: DecisionBody): boolean {
  return images !== undefined || units !== undefined || cache_write_1h_tokens !== undefined;
}

/** Returns all errors of a rejected request, of which `decisionRequestOf` returns only the first. */
export function fieldErrorsOf(
  first: FieldError,
  body: DecisionBody,
  price: Price | undefined,
): readonly FieldError[] {
  return price !== undefined && first.field.startsWith('units') ? unitErrors(price, body) : [first];
}

const minOutputTokens = 1;

/** Returns the error of a request whose fields for `fit` contradict each other. */
function fitErrorOf(body: DecisionBody): FieldError | undefined {
  if (body.fit !== true) {
    return body.min_output_tokens === undefined
      ? undefined
      : { field: 'min_output_tokens', code: 'invalid_value', message: 'Only allowed with `fit`.' };
  }
  if (body.estimated_cost_usd !== undefined) {
    return {
      field: 'fit',
      code: 'invalid_value',
      message: 'A given cost cannot be fitted. Provide `input_tokens` instead of `estimated_cost_usd`.',
    };
  }
  if (body.input_tokens === undefined) {
    return { field: 'input_tokens', code: 'required', message: 'Required with `fit`.' };
  }
  if (body.max_output_tokens === undefined) {
    return {
      field: 'max_output_tokens',
      code: 'required',
      message: 'The maximum output of this model is not known.',
    };
  }
  return (body.min_output_tokens ?? 0) <= body.max_output_tokens
    ? undefined
    : {
        field: 'min_output_tokens',
        code: 'out_of_range',
        message: `Must be at most ${body.max_output_tokens}, the maximum number of output tokens.`,
      };
}

function fitOf(body: DecisionBody, rates: Rates, others: OtherCharges): Fit {
  return outputFit(rates, {
    inputTokens: BigInt(body.input_tokens ?? 0),
    others,
    atLeast: BigInt(body.min_output_tokens ?? minOutputTokens),
    atMost: BigInt(body.max_output_tokens ?? 0),
  });
}

function estimateOf(
  body: DecisionBody,
  price: Price | undefined,
  rates: Rates | undefined,
  others: OtherCharges,
): bigint | FieldError {
  if (body.estimated_cost_usd !== undefined) {
    return parseUsd(body.estimated_cost_usd) ?? 0n;
  }
  if (body.input_tokens === undefined || body.max_output_tokens === undefined) {
    return {
      field: 'estimated_cost_usd',
      code: 'required',
      message: 'Provide `estimated_cost_usd`, or `input_tokens` and `max_output_tokens`.',
    };
  }
  if (price === undefined || rates === undefined) {
    return {
      field: 'model',
      code: 'invalid_value',
      message:
        body.fit === true
          ? 'This model has no price. Provide `estimated_cost_usd` without `fit`.'
          : 'This model has no price. Provide `estimated_cost_usd`.',
    };
  }
  const unitError = unitErrors(price, body)[0];
  if (unitError !== undefined) {
    return unitError;
  }
  if ((body.cache_write_1h_tokens ?? 0) > body.input_tokens) {
    return {
      field: 'cache_write_1h_tokens',
      code: 'out_of_range',
      message: 'Must not exceed `input_tokens`.',
    };
  }
  const worst = worstCaseCost(rates, BigInt(body.input_tokens), BigInt(body.max_output_tokens), others);
  return postableAmount(worst, body.model, 'max_output_tokens');
}

/**
 * Returns the maximum number of output tokens whose worst-case cost stays within the hold, at most the requested number. Without a
 * price, returns the requested number.
 */
export function outputTokenLimit({
  rates,
  inputTokens,
  others,
  maxOutputTokens,
  request,
}: DecisionRequest): number | null {
  if (rates === undefined) {
    return maxOutputTokens ?? null;
  }
  const affordable = Number(affordableOutputTokens(rates, inputTokens, request.amounts.usd, others));
  return maxOutputTokens === undefined ? affordable : Math.min(affordable, maxOutputTokens);
}

/** Returns the output limit of a decision whose hold has these amounts. With `fit`, it is the number that fits. */
function heldOutputTokens(decision: DecisionRequest, { tokens }: Amounts): number | null {
  return decision.request.fit === undefined
    ? outputTokenLimit(decision)
    : Number(tokens - decision.inputTokens);
}

const uncheckedName: Partial<Record<RunOnlyCheck | CheckedKind, Verdict['not_checked'][number]>> = {
  safety: 'safety',
  plan_runs: 'plan',
  plan_tokens: 'plan',
  chain_cost: 'chain',
  chain_depth: 'chain',
  chain_tokens: 'chain',
  credits: 'credits',
};

/**
 * Returns the verdict as JSON. It is built by hand, because it is most of what a decision writes, and no value needs escaping.
 * `hasPolicies` is true if the org has policies, which the edge does not check.
 */
export function verdictText(
  request: DecisionRequest,
  { hold, applicable, remaining }: Held,
  hasPolicies: boolean,
): string {
  const { frames, notChecked, notCheckedWithPolicies } = textsOf(applicable);
  let limits = '';
  for (let i = 0; i < frames.length; i += 1) {
    const { before, isMoney, after } = frames[i] as LimitFrame;
    const amount = remaining[i] as bigint;
    limits += before + (isMoney ? formatUsd(amount) : amount.toString()) + after;
  }
  return (
    `{"decision":"allow","decision_id":"${hold.id}","expires_at":"${isoInstant(hold.expiresAtMs)}",` +
    `"held_usd":"${formatUsd(hold.amounts.usd)}","max_output_tokens":${heldOutputTokens(request, hold.amounts)},` +
    `"limits":[${limits}],"not_checked":${hasPolicies ? notCheckedWithPolicies : notChecked}}`
  );
}

/** The JSON around the remaining amount of a limit. */
interface LimitFrame {
  readonly before: string;
  readonly isMoney: boolean;
  readonly after: string;
}

interface LimitTexts {
  readonly frames: readonly LimitFrame[];
  readonly notChecked: string;
  /** The unchecked limits for an org with policies. */
  readonly notCheckedWithPolicies: string;
}

/** Cached texts by applicable counters. A text is only cached at its second use, to save memory for orgs that rarely call. */
const texts = new WeakMap<ApplicableCounters, LimitTexts | 'used once'>();

function textsOf(applicable: ApplicableCounters): LimitTexts {
  const cached = texts.get(applicable);
  if (cached !== undefined && cached !== 'used once') {
    return cached;
  }
  const unchecked = new Set(applicable.notChecked.flatMap((kind) => uncheckedName[kind] ?? []));
  const created = {
    frames: applicable.counters.map(frameOf),
    notChecked: JSON.stringify([...unchecked]),
    notCheckedWithPolicies: JSON.stringify(['policies', ...unchecked]),
  };
  texts.set(applicable, cached === undefined ? 'used once' : created);
  return created;
}

function frameOf({ limit, window }: LimitWindow, index: number): LimitFrame {
  const isMoney = limit.unit === 'usd';
  const { kind, unit } = shownKind(limit);
  const resetsAt = limit.span.kind === 'lifetime' ? 'null' : `"${new Date(window.endMs).toISOString()}"`;
  return {
    before:
      `${index === 0 ? '' : ','}{"id":"${limit.id}","kind":"${kind}","unit":"${unit}",` +
      `"remaining":${isMoney ? '"' : ''}`,
    isMoney,
    after: `${isMoney ? '"' : ''},"resets_at":${resetsAt}}`,
  };
}
