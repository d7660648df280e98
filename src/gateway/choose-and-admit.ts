/** Chooses the model of a call and admits it: the requested model, the best one, or the next cheaper one that fits. */
import { ApiError } from '../contract/api-error.ts';
import { worstCaseCost } from '../kernel/prices.ts';
import { inFlightTokens } from '../kernel/providers/call-end.ts';
import { estimatedInputTokens } from '../kernel/providers/estimate-input.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { type AdmitDependencies, type AdmittedCall, admitCall } from './admit-call.ts';
import type { CallAttribution } from './attribution-headers.ts';
import { inputPartsOf } from './body/input-parts.ts';
import { GatewayError } from './errors/dialect-errors.ts';
import { endUserOf } from './parse-call.ts';
import { type CallPlan, type PlanDependencies, type PlanRequest, planCall } from './plan-call.ts';
import type { OutputHistory } from './usage/output-history.ts';

/** The model name that leaves the choice to the routing policy of the org. */
export const autoModel = 'purser/auto';

export interface RouteRequest {
  readonly caller: Caller;
  readonly now: Date;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly attribution: CallAttribution;
}

export interface ChooseDependencies extends PlanDependencies, AdmitDependencies {
  readonly outputs: OutputHistory;
  /** Returns the models of the routing policy that may be used for this call, the best first. Throws if there is none. */
  rankModels(request: RouteRequest): Promise<readonly string[]>;
}

export interface ChosenCall {
  readonly plan: CallPlan;
  readonly admitted: AdmittedCall;
  readonly attribution: CallAttribution;
}

export interface ChooseRequest extends PlanRequest {
  readonly attribution: CallAttribution;
}

export async function chooseAndAdmit(deps: ChooseDependencies, request: ChooseRequest): Promise<ChosenCall> {
  const { call } = request;
  const found = deps.settings.find(request.orgId);
  const settings = found instanceof Promise ? await found : found;
  const customer = settings.customerFromBody ? endUserOf(call) : undefined;
  const attributedRequest =
    customer === undefined
      ? request
      : { ...request, attribution: { customer_id: customer, ...request.attribution } };
  if (call.model === autoModel) {
    return admitBest(deps, attributedRequest);
  }
  const plan = await planCall(deps, request, call.model);
  try {
    return await admitPlan(deps, attributedRequest, plan, plan.onLimit === 'fit');
  } catch (denial) {
    if (plan.onLimit !== 'fallback' || !isDeniedByLimit(denial)) {
      throw denial;
    }
    return (await admitCheaper(deps, attributedRequest, plan)) ?? Promise.reject(denial);
  }
}

async function admitPlan(
  deps: ChooseDependencies,
  { caller, now, attribution }: ChooseRequest,
  plan: CallPlan,
  mayFit: boolean,
): Promise<ChosenCall> {
  const heldOutputTokens = outputToHold(deps, caller, plan);
  const admitted = await admitCall(deps, { plan, caller, now, attribution, heldOutputTokens, mayFit });
  return { plan, admitted, attribution };
}

/**
 * Returns the output to hold at first: the expected one, and what may be on its way when the stream is ended. Only a hold of a stream
 * that shows its output can be increased in time.
 */
export function outputToHold(
  { outputs }: ChooseDependencies,
  { tenantId, keyId }: Caller,
  plan: CallPlan,
): number {
  const isVisible = plan.call.isStream && plan.showsOutput;
  const expected =
    plan.settings.hold === 'expected' && isVisible
      ? outputs.expected({ orgId: tenantId, keyId, model: plan.model })
      : undefined;
  return expected === undefined
    ? plan.maxOutputTokens
    : Math.min(plan.maxOutputTokens, Math.max(expected, plan.minOutputTokens) + inFlightTokens);
}

async function admitBest(deps: ChooseDependencies, request: ChooseRequest): Promise<ChosenCall> {
  const models = await rank(deps, request, autoModel);
  const plans = await plansOf(deps, request, models);
  const [best] = plans;
  if (best === undefined) {
    throw new GatewayError(404, 'model_not_found', 'No connection serves a model of the routing policy.');
  }
  return admitPlan(deps, request, best, best.onLimit !== 'refuse');
}

/** Tries the models that cost less than the denied one, the most expensive first. */
async function admitCheaper(
  deps: ChooseDependencies,
  request: ChooseRequest,
  denied: CallPlan,
): Promise<ChosenCall | undefined> {
  let models: readonly string[];
  try {
    models = await rank(deps, request, denied.model);
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) {
      // The org has no routing policy, or none of its models may be used.
      return undefined;
    }
    throw error;
  }
  const plans = await plansOf(deps, request, models);
  const cheaper = plans
    .filter((plan) => costOf(plan) < costOf(denied))
    .sort((a, b) => compare(costOf(b), costOf(a)));
  for (const plan of cheaper) {
    try {
      return await admitPlan(deps, request, plan, true);
    } catch (error) {
      if (!isDeniedByLimit(error)) {
        throw error;
      }
    }
  }
  return undefined;
}

async function rank(
  { rankModels, ratios }: ChooseDependencies,
  { caller, now, call, attribution, orgId }: ChooseRequest,
  model: string,
): Promise<readonly string[]> {
  const input = inputPartsOf(call.body, model);
  const inputTokens = estimatedInputTokens(input, {
    ratio: ratios.of({ orgId, keyId: caller.keyId, model }, input),
    unseenTokens: 0,
    contextTokens: undefined,
    hasTools: call.hasTools,
  });
  const maxOutputTokens = (call.maxOutputTokens ?? 1) * call.choices;
  return rankModels({ caller, now, inputTokens, maxOutputTokens, attribution });
}

/** Returns the plans of the models that a connection serves, in the given order. */
async function plansOf(
  deps: ChooseDependencies,
  request: ChooseRequest,
  models: readonly string[],
): Promise<CallPlan[]> {
  const plans: CallPlan[] = [];
  for (const model of models) {
    try {
      plans.push(await planCall(deps, request, model));
    } catch (error) {
      if (!(error instanceof GatewayError)) {
        throw error;
      }
    }
  }
  return plans;
}

function costOf({ rates, inputTokens, maxOutputTokens }: CallPlan): bigint {
  return worstCaseCost(rates, BigInt(inputTokens), BigInt(maxOutputTokens));
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True for denials that a cheaper call may pass. */
function isDeniedByLimit(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 402 || error.code === 'quota_exhausted');
}
