/** Collects the models that an org's routing policy selects, with all input for the choice except the limits. */
import { apiError, invalidFields } from '../../../contract/api-error.ts';
import { matchesPattern, patternOf } from '../../../kernel/policy.ts';
import { costOf, worstCaseCost } from '../../../kernel/prices.ts';
import { isBilledByUnitsOnly, ratesFor } from '../../../kernel/rate-modifiers.ts';
import type { Candidate, Evaluated } from '../../../kernel/routing.ts';
import type { AdmissionPreview } from '../../../ledger/holds/hold-request.ts';
import { postableAmount } from '../../../ledger/postings/amount-range.ts';
import { scopeOf } from '../../../ledger/scope.ts';
import { requestedRates, serviceTermsOf } from '../../../ledger/service-fields.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { Latency, ListedPrice, ModelCapabilitiesCache, Prices } from '../../spend/models/index.ts';
import { noCapabilities } from '../../spend/models/index.ts';
import { attemptFrom, type PolicyCheck, type PolicyDenial, type PolicyInput } from '../policies/index.ts';
import type { RoutingPolicyRow } from './queries.ts';
import type { AskRoute } from './schema.ts';

export interface OptionDependencies {
  readonly prices: Prices;
  readonly capabilities: ModelCapabilitiesCache;
  readonly policies: PolicyCheck;
  /** Returns the latency of the org's runs by model. */
  latenciesOf(orgId: string): Promise<ReadonlyMap<string, Latency>>;
}

export interface RoutingCall {
  readonly caller: Caller;
  readonly now: Date;
  readonly body: AskRoute;
  /** True if the maximum of the output is lowered to that of each model, as for calls that set none. */
  readonly capsOutput?: boolean;
}

/** A model that can be chosen. */
export interface RouteOption {
  readonly candidate: Candidate;
  /** Undefined if the model has no price. */
  readonly price: ListedPrice | undefined;
  /** The amounts that a run of the model would use in the org's limits. */
  readonly preview: AdmissionPreview;
  readonly attempt: PolicyInput;
  /** The denial by policies. Undefined if they allow the model, or if an approval does for a request without a hold. */
  readonly policyDenial: PolicyDenial | undefined;
}

/** The options of a routing policy. */
export interface Options {
  readonly candidates: readonly RouteOption[];
  readonly fallbacks: readonly RouteOption[];
}

/** Maximum number of candidates. It bounds the work of a decision, because a wildcard may match all models. */
const candidatesMax = 500;

export async function optionsOf(
  { prices, capabilities: capabilitiesCache, policies, latenciesOf }: OptionDependencies,
  call: RoutingCall,
  policy: RoutingPolicyRow,
  evaluated: ReadonlyMap<string, Evaluated>,
): Promise<Options> {
  const { caller, now } = call;
  const orgId = caller.tenantId;
  const listed = await prices.list(orgId, now.getTime());
  // Leaves out models that are charged by units alone, because their cost does not follow from tokens.
  const byToken = listed.filter((price) => !isBilledByUnitsOnly(price));
  const priced = new Map(byToken.map((price) => [price.model, price]));
  const capabilitiesByModel = await capabilitiesCache.all();
  const latencies = await latenciesOf(orgId);
  const optionFor = async (model: string): Promise<RouteOption> => {
    const found = priced.get(model) ?? (await prices.find(orgId, model, now.getTime()));
    const price = found === undefined || isBilledByUnitsOnly(found) ? undefined : found;
    const { context_tokens, max_output_tokens, regions, capabilities } =
      capabilitiesByModel.get(model) ?? capabilitiesByModel.get(price?.model ?? '') ?? noCapabilities;
    const body = bodyFor(call, max_output_tokens);
    const { preview, attempt } = chargeOf({ caller, now, body }, model, price);
    return {
      price,
      preview,
      attempt,
      policyDenial: undefined,
      candidate: {
        model,
        costNanos: price === undefined ? null : expectedCost(price, body),
        contextTokens: context_tokens,
        maxOutputTokens: max_output_tokens,
        regions,
        capabilities,
        latencyMs: latencies.get(model)?.p50Ms ?? null,
        evaluated: evaluated.get(model) ?? null,
        policyRefusal: null,
        moneyRefusal: null,
      },
    };
  };
  const names = namedBy(policy.candidates, [...priced.values()]);
  const options = await Promise.all([...names, ...policy.fallbacks].map(optionFor));
  const denials = await policies.preview(
    orgId,
    options.map(({ attempt }) => attempt),
    now,
  );
  const checked = options.map((option, index) => withDenial(option, denials[index], call.body.hold === true));
  return { candidates: checked.slice(0, names.length), fallbacks: checked.slice(names.length) };
}

/**
 * Returns the models that names and patterns match, each once. A pattern that begins with `*` does not match models at hosts,
 * because these are the same models at other prices.
 */
function namedBy(candidates: readonly string[], models: readonly ListedPrice[]): string[] {
  const names = new Set(candidates.filter((name) => !name.includes('*')));
  for (const pattern of candidates.filter((name) => name.includes('*')).map(patternOf)) {
    const matchesHosts = !pattern.source.startsWith('*');
    for (const { model, host } of models) {
      if ((host === null || matchesHosts) && matchesPattern(pattern, model)) {
        names.add(model);
      }
    }
  }
  if (names.size > candidatesMax) {
    throw apiError(
      'conflict',
      `The candidates of the routing policy match ${names.size} models; the maximum is ${candidatesMax}.`,
    );
  }
  return [...names];
}

/**
 * Returns the option with its denial. An approval allows a run but not a hold: the run of a hold is not checked again, so it would
 * not use up the approval.
 */
function withDenial(
  option: RouteOption,
  policyDenial: PolicyDenial | undefined,
  forHold: boolean,
): RouteOption {
  if (policyDenial === undefined || (policyDenial.isApproved && !forHold)) {
    return option;
  }
  return { ...option, policyDenial, candidate: { ...option.candidate, policyRefusal: policyDenial.code } };
}

/** Returns the request for a model with this maximum output. */
function bodyFor({ body, capsOutput }: RoutingCall, modelMax: bigint | null): AskRoute {
  return capsOutput === true && modelMax !== null && modelMax < BigInt(body.max_output_tokens)
    ? { ...body, max_output_tokens: Number(modelMax) }
    : body;
}

/** Returns the request as a run of this model, with its maximum cost. */
function chargeOf(
  { caller, now, body }: RoutingCall,
  model: string,
  price: ListedPrice | undefined,
): Pick<RouteOption, 'preview' | 'attempt'> {
  const { inputTokens, outputTokens } = countsOf(body);
  const rates = requestedRates(price, body, inputTokens);
  const worst = rates === undefined ? 0n : worstCaseCost(rates, inputTokens, outputTokens);
  const usd = postableAmount(worst, model, 'max_output_tokens');
  if (typeof usd !== 'bigint') {
    throw invalidFields([usd]);
  }
  const scope = scopeOf(
    { ...body, model, provider: price?.provider ?? null },
    caller.keyId,
    body.chain_id ?? null,
  );
  return {
    preview: { scope, surface: 'run', amounts: { usd, tokens: inputTokens + outputTokens, requests: 1n } },
    attempt: attemptFrom(scope, {
      model,
      key_id: caller.keyId,
      role: caller.role,
      costNanos: usd,
      inputTokens,
      outputTokens,
      tags: body.tags ?? null,
      metadata: body.metadata ?? null,
      atMs: now.getTime(),
    }),
  };
}

function expectedCost(price: ListedPrice, body: AskRoute): bigint {
  const counts = countsOf(body);
  return costOf(ratesFor(price, serviceTermsOf(body), counts.inputTokens), counts);
}

function countsOf({ input_tokens, max_output_tokens }: AskRoute) {
  return {
    inputTokens: BigInt(input_tokens),
    cachedInputTokens: 0n,
    cacheWriteTokens: 0n,
    outputTokens: BigInt(max_output_tokens),
  };
}
