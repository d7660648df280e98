/**
 * Plans a metered call before its admission: its price, the candidate connections, the estimate of its input, and the cap of its
 * output.
 */
import {
  type Connection,
  type Connections,
  type GatewaySettings,
  type GatewaySettingsCache,
  kindOf,
  mayBeDeployment,
} from '../capabilities/integration/connections/index.ts';
import type { ModelCapabilitiesCache, PriceInForce } from '../capabilities/spend/models/index.ts';
import type { CallPrices } from '../capabilities/spend/unpriced-models/index.ts';
import type { PaceHistory } from '../growing-holds/pace-history.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';
import type { PacedOutput } from '../kernel/pace.ts';
import { affordableOutputTokens, worstCaseCost } from '../kernel/prices.ts';
import type { InputBound } from '../kernel/providers/call-end.ts';
import type { InputParts } from '../kernel/providers/estimate-input.ts';
import { showsOutput } from '../kernel/providers/visible-output.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { PartialStreams } from './assemble/partial-streams.ts';
import type { OnLimit } from './attribution-headers.ts';
import type { TokenRatios } from './body/token-ratios.ts';
import { type CallPriceDependencies, findCallPrice, type PricedModel, placeOf } from './call-price.ts';
import { type CallService, callServiceOf } from './call-service.ts';
import { type CallTools, planTools, toolsOf, withoutTools } from './call-tools.ts';
import { betasOf } from './envelopes.ts';
import { GatewayError } from './errors/gateway-error.ts';
import { paceOf } from './pace/rate-bounds.ts';
import type { ParsedCall } from './parse-call.ts';
import type { MeteredOperation } from './paths/operation.ts';
import { planInput } from './plan-input.ts';
import { explanationOf, type HeldUnseen } from './unseen-input.ts';

export interface CallPlanDependencies extends CallPriceDependencies {
  readonly connections: Connections;
  readonly settings: GatewaySettingsCache;
  readonly prices: CallPrices;
  readonly capabilities: ModelCapabilitiesCache;
  readonly ratios: TokenRatios;
  readonly paces: PaceHistory;
  readonly partialStreams: Pick<PartialStreams, 'has'>;
}

export interface CallPlan {
  readonly call: ParsedCall;
  /** The model to call. It differs from the requested model only if another one was chosen. */
  readonly model: string;
  /** Provider of the first candidate. */
  readonly provider: string;
  /** Provider in the price list. */
  readonly listedProvider: string | null;
  readonly price: PriceInForce;
  /** The place where the model has this price. Other candidates may be at cheaper hosts. */
  readonly pricedAt: CalledAt;
  /** The model that has this price, if it was learned from responses of the deployment. */
  readonly learnedModel: string | undefined;
  /** The id of the model at the place with this price, if the price is found by it. */
  readonly pricedId: string | undefined;
  /** True if the org has a price of its own for exactly the called name. */
  readonly hasOwnPrice: boolean;
  readonly service: CallService;
  readonly tools: CallTools;
  readonly candidates: readonly Connection[];
  readonly input: InputParts;
  readonly inputTokens: number;
  /** Set if more input is held than was counted. */
  readonly heldUnseen: HeldUnseen | undefined;
  /** Output that may be charged in addition to the maximum. */
  readonly predictedTokens: number;
  /** Maximum output of all alternative answers together. */
  readonly maxOutputTokens: number;
  /** The maximum before `maxCostNanos` lowered it. */
  readonly wantedOutputTokens: number;
  /** Maximum cost of the call, set by the client. */
  readonly maxCostNanos: bigint | undefined;
  /** Minimum output that `fit` accepts. */
  readonly minOutputTokens: number;
  /** True if the response shows every output token. It may still name another model, which hides some. */
  readonly showsOutput: boolean;
  readonly settings: GatewaySettings;
  /** Beta features that the client has turned on. */
  readonly betas: readonly string[];
  /** True if the call is sent as a stream, which the gateway puts together for the client. */
  readonly isAssembled: boolean;
  /** Set if the hold follows the duration of the call (`hold: paced`). */
  readonly paced: PacedOutput | undefined;
  readonly onLimit: OnLimit;
}

/** Usual bytes of a request per token of its input. */
const bytesPerToken = 4;

/** Error code for a call that may cost more than its client allows. */
export const maxCostExceeded = 'max_cost_exceeded';
const aboveMaxCost =
  'The call may cost more than the maximum in x-svc-max-cost-usd. Lower its maximum output.';

export interface PlanRequest {
  readonly orgId: string;
  readonly caller: Caller;
  readonly operation: MeteredOperation;
  readonly call: ParsedCall;
  readonly onLimit: OnLimit | undefined;
  readonly maxCostNanos: bigint | undefined;
  /** Value of the header that turns on beta features, if the format has one. */
  readonly betas: string;
  readonly now: Date;
}

export async function planCall(
  deps: CallPlanDependencies,
  request: PlanRequest,
  model: string,
): Promise<CallPlan> {
  const { orgId, operation, call, now } = request;
  // Almost always cached. It is only awaited if it is a promise, so that planning usually stays in one turn.
  const foundSettings = deps.settings.find(orgId);
  const ofOrg = foundSettings instanceof Promise ? await foundSettings : foundSettings;
  const settings = settingsOf(request.caller, ofOrg);
  const foundPrice = deps.prices.find(orgId, model, now.getTime());
  const listed = foundPrice instanceof Promise ? await foundPrice : foundPrice;
  const listedProvider = listed?.provider ?? null;
  const resolved = listed?.model ?? model;
  const foundCandidates = candidatesFor(deps, orgId, operation, model, resolved);
  const serving = foundCandidates instanceof Promise ? await foundCandidates : foundCandidates;
  const offered = toolsOf(call);
  const priced = {
    orgId,
    model,
    nowMs: now.getTime(),
    listedProvider,
    size: {
      inputTokens: Math.ceil(call.bytes.length / bytesPerToken),
      outputTokens: (call.maxOutputTokens ?? settings.defaultMaxOutputTokens) * call.choices,
      tools: offered,
      toolCalls: settings.maxToolCalls,
    },
  };
  const foundCallPrice = findCallPrice(deps, serving, priced);
  const found = foundCallPrice instanceof Promise ? await foundCallPrice : foundCallPrice;
  if (found === undefined) {
    throw await unplanned(deps, priced, serving);
  }
  const { price, candidates, calledAt, learnedModel, pricedId, hasOwnPrice } = found;
  const foundCapabilities = deps.capabilities.all();
  const capabilities = foundCapabilities instanceof Promise ? await foundCapabilities : foundCapabilities;
  const known = capabilities.get(price.model ?? resolved) ?? capabilities.get(resolved);
  const { input, passTokens, heldUnseen, predictedTokens } = planInput({
    orgId,
    caller: request.caller,
    call,
    model,
    ratios: deps.ratios,
    settings,
    candidates,
    contextTokens: numberOf(known?.context_tokens),
    maxOutputTokens: numberOf(known?.max_output_tokens),
    betas: request.betas,
    offersTools: offered.length > 0,
  });
  const tools =
    offered.length === 0
      ? withoutTools(call)
      : await planTools(call, offered, {
          price,
          model,
          settings,
          candidates,
          inputTokens: passTokens,
          priceOf: async (name) => deps.prices.find(orgId, name, now.getTime()),
        });
  const inputTokens = passTokens * tools.rounds;
  const service = callServiceOf(price, call, {
    model,
    inputTokens,
    tools,
    predictedTokens,
    region: calledAt.region ?? undefined,
    tier: tierAt(candidates),
  });
  const onLimit = request.onLimit ?? settings.onLimit;
  const minOutputTokens = Math.max(settings.minOutputTokens * call.choices, call.thinkingTokens + 1);
  const wanted = outputCap(call, settings, numberOf(known?.max_output_tokens));
  const maxOutputTokens = withinMaxCost(request, {
    service,
    inputTokens,
    heldUnseen,
    rounds: tools.rounds,
    wanted,
    minOutputTokens,
    onLimit,
  });
  const isAssembled = settings.hold !== 'worst_case' && mayAssemble(deps, settings, call, model, candidates);
  return {
    call,
    model,
    provider: placeOf(candidates[0] as Connection, listedProvider).provider ?? '',
    listedProvider,
    price,
    pricedAt: calledAt,
    learnedModel,
    pricedId,
    hasOwnPrice,
    service,
    tools,
    candidates,
    input,
    inputTokens,
    heldUnseen,
    predictedTokens,
    maxOutputTokens,
    wantedOutputTokens: wanted,
    maxCostNanos: request.maxCostNanos,
    minOutputTokens: Math.min(minOutputTokens, maxOutputTokens),
    showsOutput: showsOutput({
      requestsReasoning: call.requestsReasoning,
      reasonsOnRequest: call.format.request.reasonsOnRequest,
      names: [model, resolved],
      areCatalogNames: candidates.every((one) => kindOf(one).namesModels),
      canReason: known?.capabilities?.includes('reasoning'),
    }),
    settings,
    betas: betasOf(call.format, request.betas, call.body),
    isAssembled,
    paced:
      settings.hold === 'paced' && (call.isStream || isAssembled) && maxOutputTokens > 0
        ? {
            pace: paceOf(deps.paces, { orgId, model, tier: tierOf(service), candidates }),
            maxOutputTokens,
            answers: call.choices,
          }
        : undefined,
    onLimit,
  };
}

/** Returns true if the call can be sent as a stream and still get the response of a plain call, whichever connection serves it. */
function mayAssemble(
  { partialStreams }: CallPlanDependencies,
  settings: GatewaySettings,
  { isStream, format, body }: ParsedCall,
  model: string,
  candidates: readonly Connection[],
): boolean {
  return (
    settings.plainCalls === 'streamed' &&
    !isStream &&
    format.response.assembly?.mayAssemble(body) === true &&
    candidates.every((one) => kindOf(one).wholeStreams.includes(format) && !partialStreams.has(one.id, model))
  );
}

/** Returns the remedy for a deployment without a price. */
function deploymentHint(connection: Connection, deployment: string): string {
  const { name } = connection;
  const quoted = /^[\w.:/-]{1,200}$/.test(deployment) ? deployment : 'DEPLOYMENT';
  return ` If it is a deployment, state its model: purser connect ${kindOf(connection).commandName} --name ${name} --deployment ${quoted}=gpt-4o`;
}

/** Returns the error of a call without a priced connection. */
async function unplanned(
  { prices }: CallPlanDependencies,
  { orgId, model, nowMs }: PricedModel,
  serving: readonly Connection[],
): Promise<GatewayError> {
  const withDeployments = serving.find((connection) => mayBeDeployment(connection, model));
  const hint = withDeployments === undefined ? '' : deploymentHint(withDeployments, model);
  return serving.length > 0 || (await prices.findForCall(orgId, model, nowMs)) === undefined
    ? new GatewayError(
        400,
        'model_without_price',
        `The model ${model} has no price, so its cost cannot be limited. Set a price for it in Purser.${hint}`,
        { model },
      )
    : new GatewayError(
        404,
        'model_not_found',
        `No connection of the organization serves the model ${model}.`,
        { model },
      );
}

/** Returns the connections for the model name in the request. If there are none, returns those for the resolved name. */
function candidatesFor(
  { connections }: CallPlanDependencies,
  orgId: string,
  { wanted }: MeteredOperation,
  model: string,
  resolved: string,
): readonly Connection[] | Promise<readonly Connection[]> {
  const orResolved = (found: readonly Connection[]) =>
    found.length > 0 || resolved === model ? found : connections.candidates(orgId, wanted, resolved);
  const found = connections.candidates(orgId, wanted, model);
  return found instanceof Promise ? found.then(orResolved) : orResolved(found);
}

/**
 * Returns the output cap: the smaller of the request's maximum and the model's, times the number of answers. Without a maximum in
 * the request, the default of the org applies.
 */
function outputCap(
  { format, maxOutputTokens, choices }: ParsedCall,
  settings: GatewaySettings,
  modelMax: number | undefined,
): number {
  if (format.request.output === undefined) {
    return 0;
  }
  const each = Math.min(
    maxOutputTokens ?? settings.defaultMaxOutputTokens,
    modelMax ?? Number.POSITIVE_INFINITY,
  );
  return each * choices;
}

interface CostCheck {
  readonly service: CallService;
  readonly inputTokens: number;
  readonly heldUnseen: HeldUnseen | undefined;
  readonly rounds: number;
  readonly wanted: number;
  readonly minOutputTokens: number;
  readonly onLimit: OnLimit;
}

/** Returns the output that the client's maximum cost allows. Throws if that is too little. */
function withinMaxCost({ maxCostNanos }: PlanRequest, check: CostCheck): number {
  const { service, inputTokens, heldUnseen, wanted, minOutputTokens, onLimit } = check;
  if (maxCostNanos === undefined) {
    return wanted;
  }
  const input = BigInt(inputTokens);
  const affordable = affordableOutputTokens(service.rates, input, maxCostNanos, service.others);
  const isCovered = worstCaseCost(service.rates, input, 0n, service.others) <= maxCostNanos;
  if (isCovered && affordable >= BigInt(wanted)) {
    return wanted;
  }
  if (isCovered && onLimit === 'fit' && affordable >= BigInt(Math.min(minOutputTokens, wanted))) {
    return Number(affordable);
  }
  throw new GatewayError(
    402,
    maxCostExceeded,
    heldUnseen === undefined ? aboveMaxCost : `${aboveMaxCost} ${explanationOf(heldUnseen, check.rounds)}`,
  );
}

/** Returns the settings for a caller, whose key may set its own `hold` and `reserve_for_running`. */
export function settingsOf({ hold, reserveForRunning }: Caller, ofOrg: GatewaySettings): GatewaySettings {
  return hold == null && reserveForRunning == null
    ? ofOrg
    : {
        ...ofOrg,
        hold: hold ?? ofOrg.hold,
        reserveForRunning: reserveForRunning ?? ofOrg.reserveForRunning,
      };
}

/** Returns the service tier that one of the connections selects for all its calls; undefined if none does. */
function tierAt(candidates: readonly Connection[]): string | undefined {
  for (const connection of candidates) {
    const { tierHeader } = kindOf(connection);
    const tier = tierHeader === undefined ? undefined : connection.headers[tierHeader];
    if (tier !== undefined) {
      return tier.toLowerCase();
    }
  }
  return undefined;
}

/** Returns true if the provider is asked for a stream. */
export function isStreamed({ call, isAssembled }: Pick<CallPlan, 'call' | 'isAssembled'>): boolean {
  return call.isStream || isAssembled;
}

/** Returns the service tier that a call requests. */
export function tierOf({ stated }: CallService): string {
  return stated.service_tier ?? '';
}

/** Returns the input that a provider may charge for if it reports none. */
export function inputBoundOf({ service, inputTokens }: CallPlan): InputBound {
  return {
    inputTokens,
    cacheWriteTokens: service.cachesInput ? inputTokens : 0,
    cacheWrite1hTokens: service.charged.cache_write_1h_tokens ?? 0,
  };
}

/** Returns the maximum cost of an attempt with this output. */
export function attemptCost({ service, inputTokens }: CallPlan, outputTokens: number): bigint {
  return worstCaseCost(service.rates, BigInt(inputTokens), BigInt(outputTokens), service.others);
}

function numberOf(value: bigint | null | undefined): number | undefined {
  return value == null ? undefined : Number(value);
}
