/** The models that an org's routing policy names, each with everything that the choice looks at. */
import { apiError, invalidFields } from '../../../contract/api-error.ts';
import { matchesPattern, patternOf } from '../../../kernel/policy.ts';
import { costOf, worstCaseCost } from '../../../kernel/prices.ts';
import type { Candidate, Evaluated } from '../../../kernel/routing.ts';
import type { AdmissionPreview } from '../../../ledger/holds/hold-request.ts';
import { postableAmount } from '../../../ledger/postings/amount-range.ts';
import { scopeOf } from '../../../ledger/scope.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { Latency, ListedPrice, ModelCapabilitiesCache, Prices } from '../../spend/models/index.ts';
import { noCapabilities } from '../../spend/models/index.ts';
import { type Attempt, attemptFrom, type PolicyCheck, type PolicyDenial } from '../policies/index.ts';
import type { RoutingPolicyRow } from './queries.ts';
import type { AskRoute } from './schema.ts';

export interface OptionDependencies {
  readonly prices: Prices;
  readonly capabilities: ModelCapabilitiesCache;
  readonly policies: PolicyCheck;
  /** How long the runs of an org took, by model. */
  latenciesOf(orgId: string): Promise<ReadonlyMap<string, Latency>>;
}

export interface RouteCall {
  readonly caller: Caller;
  readonly now: Date;
  readonly body: AskRoute;
}

/** A model that may be chosen. */
export interface Option {
  readonly candidate: Candidate;
  /** Undefined: it has none. */
  readonly price: ListedPrice | undefined;
  /** What it would take of the org's limits. */
  readonly preview: AdmissionPreview;
  readonly attempt: Attempt;
  /** What policies have against it. */
  readonly objection: PolicyDenial | undefined;
}

/** By the names of their models. */
export interface Options {
  readonly candidates: readonly Option[];
  readonly fallbacks: readonly Option[];
}

/** More than anyone compares; a wildcard may match them all. */
const candidatesMax = 500;

export async function optionsOf(
  { prices, capabilities: facts, policies, latenciesOf }: OptionDependencies,
  call: RouteCall,
  policy: RoutingPolicyRow,
  evaluated: ReadonlyMap<string, Evaluated>,
): Promise<Options> {
  const { caller, now } = call;
  const orgId = caller.tenantId;
  const listed = await prices.list(orgId, now.getTime());
  const priced = new Map(listed.map((price) => [price.model, price]));
  const known = await facts.all();
  const latencies = await latenciesOf(orgId);
  const draw = (model: string): Option => {
    const price = priced.get(model);
    const { context_tokens, max_output_tokens, regions, capabilities } = known.get(model) ?? noCapabilities;
    const { preview: look, attempt } = chargeOf(call, model, price);
    return {
      price,
      preview: look,
      attempt,
      objection: undefined,
      candidate: {
        model,
        costNanos: price === undefined ? null : costOf(price.rates, countsOf(call.body)),
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
  const names = namedBy(policy.candidates, [...priced.keys()]);
  const drawn = [...names, ...policy.fallbacks].map(draw);
  const objections = await policies.preview(
    orgId,
    drawn.map(({ attempt }) => attempt),
    now,
  );
  const judged = drawn.map((option, index) => objectedTo(option, objections[index], call.body.hold === true));
  return { candidates: judged.slice(0, names.length), fallbacks: judged.slice(names.length) };
}

/** Names stand for themselves, patterns for every model that they match, and each model once. */
function namedBy(candidates: readonly string[], models: readonly string[]): string[] {
  const names = new Set(candidates.filter((name) => !name.includes('*')));
  for (const pattern of candidates.filter((name) => name.includes('*')).map(patternOf)) {
    for (const model of models) {
      if (matchesPattern(pattern, model)) {
        names.add(model);
      }
    }
  }
  if (names.size > candidatesMax) {
    throw apiError(
      'conflict',
      `The candidates of the routing policy stand for ${names.size} models, where ${candidatesMax} can be compared.`,
    );
  }
  return [...names];
}

/** What was approved may be used by a run; a hold, which lets its run pass without asking again, does not use it up. */
function objectedTo(option: Option, objection: PolicyDenial | undefined, forHold: boolean): Option {
  if (objection === undefined || (objection.isApproved && !forHold)) {
    return option;
  }
  return { ...option, objection, candidate: { ...option.candidate, policyRefusal: objection.code } };
}

/** The same request as a run of this model would be: the most that it may cost is what counts. */
function chargeOf(
  { caller, now, body }: RouteCall,
  model: string,
  price: ListedPrice | undefined,
): Pick<Option, 'preview' | 'attempt'> {
  const { inputTokens, outputTokens } = countsOf(body);
  const worst = price === undefined ? 0n : worstCaseCost(price.rates, inputTokens, outputTokens);
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

function countsOf({ input_tokens, max_output_tokens }: AskRoute) {
  return {
    inputTokens: BigInt(input_tokens),
    cachedInputTokens: 0n,
    cacheWriteTokens: 0n,
    outputTokens: BigInt(max_output_tokens),
  };
}
