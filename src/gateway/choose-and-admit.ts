/** Chooses the model of a call and admits the call: with the requested model, the best one, or the next cheaper one that fits. */
import { ApiError } from '../contract/api-error.ts';
import type { OutputHistory } from '../growing-holds/output-history.ts';
import type { PacedHolds } from '../growing-holds/paced-holds.ts';
import { documentedPace } from '../kernel/documented-pace.ts';
import { inFlightTokens } from '../kernel/providers/call-end.ts';
import { estimatedInputTokens } from '../kernel/providers/estimate-input.ts';
import type { RequestKey } from '../ledger/holds/hold-keys.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { type AdmitDependencies, type AdmittedCall, admitCall } from './admit-call.ts';
import type { CallAttribution } from './attribution-headers.ts';
import { inputPartsOf } from './body/input-parts.ts';
import { GatewayError } from './errors/gateway-error.ts';
import { growsWithOutput } from './hold-coverage.ts';
import { endUserOf } from './parse-call.ts';
import {
  attemptCost,
  type CallPlan,
  type CallPlanDependencies,
  isStreamed,
  maxCostExceeded,
  type PlanRequest,
  planCall,
  settingsOf,
} from './plan-call.ts';
import { explained, isDeniedByAmount, unseenInputCode } from './unseen-input.ts';

/** Model name with which the org's routing policy chooses the model. */
export const autoModel = 'purser/auto';

/** The pace of most providers, for models whose connections are not known yet. */
const usualPace = documentedPace('openai', '');

export interface RoutedCall {
  readonly caller: Caller;
  readonly now: Date;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** True if the call sets no maximum, so that it is at most that of each model. */
  readonly capsOutput: boolean;
  readonly attribution: CallAttribution;
}

export interface ChooseDependencies extends CallPlanDependencies, AdmitDependencies {
  readonly outputs: OutputHistory;
  readonly pacedHolds: Pick<PacedHolds, 'firstTokens' | 'unwatchedTokens'>;
  /** Returns the models of the routing policy that this call may use, best first. Throws if there are none. */
  rankModels(request: RoutedCall): Promise<readonly string[]>;
}

export interface ChosenCall {
  readonly plan: CallPlan;
  readonly admitted: AdmittedCall;
  readonly attribution: CallAttribution;
}

export interface ChooseRequest extends PlanRequest {
  readonly attribution: CallAttribution;
  /** The idempotency key of the call, if it has one. */
  readonly key: RequestKey | undefined;
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
  let plan: CallPlan | undefined;
  try {
    plan = await planCall(deps, request, call.model);
    return await admitPlan(deps, attributedRequest, plan, plan.onLimit === 'fit' || fitsWhole(request, plan));
  } catch (denial) {
    const onLimit = request.onLimit ?? settings.onLimit;
    if (onLimit !== 'fallback' || !isDeniedByLimit(denial)) {
      throw denial;
    }
    return (await admitCheaper(deps, attributedRequest, plan)) ?? Promise.reject(denial);
  }
}

async function admitPlan(
  deps: ChooseDependencies,
  { caller, now, attribution, key }: ChooseRequest,
  plan: CallPlan,
  mayFit: boolean,
): Promise<ChosenCall> {
  const heldOutputTokens = outputToHold(deps, caller, plan);
  try {
    const admitted = await admitCall(deps, { plan, caller, now, attribution, heldOutputTokens, mayFit, key });
    // A smaller hold than the call needs at once cannot follow it, so it is the maximum of the call.
    const isFixed = plan.paced !== undefined && admitted.maxOutputTokens < heldOutputTokens;
    return { plan: isFixed ? { ...plan, paced: undefined } : plan, admitted, attribution };
  } catch (error) {
    throw explained(error, plan.heldUnseen, plan.tools.rounds);
  }
}

/**
 * Returns true for a call that `hold: paced` cannot end early, because its client would get nothing. Its maximum is lowered to what
 * all limits allow.
 */
function fitsWhole(request: ChooseRequest, plan: CallPlan): boolean {
  return (
    plan.settings.hold === 'paced' &&
    !isStreamed(plan) &&
    plan.maxOutputTokens > 0 &&
    plan.onLimit === 'refuse' &&
    request.onLimit === undefined
  );
}

/**
 * Returns the output to hold at first. It is the whole output, what can be generated during the lead, or the expected output plus
 * the tokens that may be in flight when the stream is ended.
 */
export function outputToHold(
  { outputs, pacedHolds }: ChooseDependencies,
  { tenantId, keyId }: Caller,
  plan: CallPlan,
): number {
  if (plan.paced !== undefined) {
    return pacedHolds.firstTokens(plan.paced);
  }
  const expected = growsWithOutput(plan)
    ? outputs.expected({ orgId: tenantId, keyId, model: plan.model })
    : undefined;
  return expected === undefined
    ? plan.maxOutputTokens
    : Math.min(plan.maxOutputTokens, Math.max(expected, plan.minOutputTokens) + inFlightTokens);
}

async function admitBest(deps: ChooseDependencies, request: ChooseRequest): Promise<ChosenCall> {
  const models = await rank(deps, request, autoModel);
  const { plans, tooExpensive } = await plansOf(deps, request, models);
  const [best] = plans;
  if (best === undefined) {
    throw (
      tooExpensive ??
      new GatewayError(404, 'model_not_found', 'No connection serves a model of the routing policy.')
    );
  }
  return admitPlan(deps, request, best, best.onLimit !== 'refuse');
}

/**
 * Tries models that cost less than the denied one, most expensive first. If the call was denied before it was planned, all models
 * are tried.
 */
async function admitCheaper(
  deps: ChooseDependencies,
  request: ChooseRequest,
  denied: CallPlan | undefined,
): Promise<ChosenCall | undefined> {
  let models: readonly string[];
  try {
    models = await rank(deps, request, request.call.model);
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) {
      // The org has no routing policy, or the call may not use any of its models.
      return undefined;
    }
    throw error;
  }
  const { plans } = await plansOf(deps, request, models);
  const cheaper = plans
    .filter((plan) => denied === undefined || costOf(plan) < costOf(denied))
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
  { rankModels, ratios, settings, pacedHolds }: ChooseDependencies,
  { caller, now, call, attribution, orgId }: ChooseRequest,
  model: string,
): Promise<readonly string[]> {
  const { hold, defaultMaxOutputTokens } = settingsOf(caller, await settings.find(orgId));
  const input = inputPartsOf(call, model);
  const inputTokens = estimatedInputTokens(input, {
    ratio: ratios.of({ orgId, keyId: caller.keyId, model }, input),
    unseenTokens: 0,
    contextTokens: undefined,
    isContextEnforced: false,
    hasTools: call.hasTools,
  });
  // Without a maximum the call may have that of the org, so that its cost decides and not that of the input alone.
  const usual = call.format.request.output === undefined ? 1 : defaultMaxOutputTokens;
  const most = (call.maxOutputTokens ?? usual) * call.choices;
  const paced = { pace: usualPace, maxOutputTokens: most, answers: call.choices };
  // The choice must not deny a call because of output that is not held at first. The admission checks the hold of each model.
  const maxOutputTokens = hold === 'paced' && call.isStream ? pacedHolds.firstTokens(paced) : most;
  const capsOutput = call.maxOutputTokens === undefined;
  return rankModels({ caller, now, inputTokens, maxOutputTokens, capsOutput, attribution });
}

/**
 * Returns the plans of the models that a connection serves, in the given order. Also returns the denial of the first model that may
 * cost too much.
 */
async function plansOf(deps: ChooseDependencies, request: ChooseRequest, models: readonly string[]) {
  const plans: CallPlan[] = [];
  let tooExpensive: GatewayError | undefined;
  for (const model of models) {
    try {
      plans.push(await planCall(deps, request, model));
    } catch (error) {
      // If the org refuses the input, it does so for every model.
      if (!(error instanceof GatewayError) || error.code === unseenInputCode) {
        throw error;
      }
      tooExpensive ??= error.code === maxCostExceeded ? error : undefined;
    }
  }
  return { plans, tooExpensive };
}

function costOf(plan: CallPlan): bigint {
  return attemptCost(plan, plan.maxOutputTokens);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns true for denials that a cheaper call might pass. */
function isDeniedByLimit(error: unknown): boolean {
  return error instanceof GatewayError ? error.code === maxCostExceeded : isDeniedByAmount(error);
}
