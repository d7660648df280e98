/**
 * Provider-run tools of a call: their maximum cost, which is held, and the charges for their calls. A tool without a price is
 * refused unless the org has set the maximum cost of a call of such a tool.
 */
import {
  type Connection,
  type GatewaySettings,
  kindOf,
} from '../capabilities/integration/connections/index.ts';
import { isOrgPrice, type PriceInForce } from '../capabilities/spend/models/index.ts';
import { worstCaseCost } from '../kernel/prices.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import type { ToolFormat } from '../kernel/providers/call-format.ts';
import type { CallUsage, ServerTools } from '../kernel/providers/call-usage.ts';
import {
  defaultImageModel,
  freeWith,
  type OfferedTool,
  offeredTools,
  requestsCompaction,
} from '../kernel/providers/offered-tools.ts';
import { countedCalls, mostCalls } from '../kernel/providers/server-tools.ts';
import { maximumRatesFor, type Tariff } from '../kernel/rate-modifiers.ts';
import { GatewayError } from './errors/gateway-error.ts';
import type { ParsedCall } from './parse-call.ts';

export interface CallTools {
  /** Maximum number of calls of tools with a price, by unit. */
  readonly units: ServerTools;
  /** Number of held calls by unit. If all tools share one maximum, the most expensive tool has all of them. */
  readonly callsMax: ServerTools;
  /** Units of all tools that the request offers. */
  readonly offered: ReadonlySet<string>;
  /** Maximum cost of tools without a price. */
  readonly nanos: bigint;
  /** Cost of a call of a tool without a price; undefined if the org allows no such tools. */
  readonly callNanos: bigint | undefined;
  /** Units that are charged by tokens only. */
  readonly tokensOnly: ReadonlySet<string>;
  /** The unit that prices the calls of a tool, if it is not that of the tool. */
  readonly pricedAs: ReadonlyMap<string, string>;
  /** Units that are charged once the provider has accepted the call, whatever the response shows. */
  readonly chargedUncalled: ServerTools;
  /** Maximum number of times that the provider reads the whole input: once, and once more after each tool call. */
  readonly rounds: number;
  /** Maximum number of tool calls to write into the body; undefined if the body stays unchanged. */
  readonly bodyMax: number | undefined;
  /** False if the response does not show tool calls. */
  readonly isVisible: boolean;
  /** Maximum cost of a call of each tool that is charged by the tokens of a model of its own. */
  readonly modelNanos: ReadonlyMap<string, bigint>;
}

const noUnits: ServerTools = {};
export const noCallTools: CallTools = {
  units: noUnits,
  callsMax: noUnits,
  offered: new Set(),
  nanos: 0n,
  callNanos: undefined,
  tokensOnly: new Set(),
  pricedAs: new Map(),
  chargedUncalled: noUnits,
  rounds: 1,
  bodyMax: undefined,
  isVisible: true,
  modelNanos: new Map(),
};

const compacting: CallTools = { ...noCallTools, rounds: 2 };

/** Returns the tools of a call that offers none. */
export function withoutTools({ body }: ParsedCall): CallTools {
  return requestsCompaction(body) ? compacting : noCallTools;
}

/** Maximum number of tool calls that can be held in one response. More are refused, because their bound would be too high to be useful. */
const callsLimit = 1_000;
export interface ToolRules {
  readonly price: Tariff;
  readonly model: string;
  readonly settings: GatewaySettings;
  readonly candidates: readonly Connection[];
  /** Maximum input of one pass of the model. */
  readonly inputTokens: number;
  /** Returns the price of a model that a tool uses. */
  priceOf(model: string): Promise<Tariff | undefined>;
}

interface Priced {
  readonly tool: OfferedTool;
  readonly calls: number;
  /** Price of one call. */
  readonly nanos: bigint;
  /** The unit that has this price; undefined if no unit has. */
  readonly unit: string | undefined;
  /** True if this is the maximum cost of a call that is charged by the tokens of a model. */
  readonly isOfModel: boolean;
}

export function toolsOf({ format, body }: ParsedCall): readonly OfferedTool[] {
  return offeredTools(format, body);
}

export async function planTools(
  { format: { tools: format }, body }: ParsedCall,
  offered: readonly OfferedTool[],
  rules: ToolRules,
): Promise<CallTools> {
  const { settings, candidates, model } = rules;
  const callNanos = settings.unpricedToolCallNanos ?? undefined;
  const isAnyProvider = candidates.some((one) => kindOf(one).isAnyProvider);
  const { callsMaxName } = format;
  const most = callsMaxName === undefined ? undefined : countOf(body[callsMaxName]);
  const bodyMax = callsMaxName === undefined ? undefined : (most ?? settings.maxToolCalls);
  const priced: Priced[] = [];
  const tokensOnly = new Set<string>(isAnyProvider ? [] : offered.flatMap(freeWith));
  let calls = 0;
  for (const tool of offered.filter((one) => !one.isStored || pricedUnit(one, rules.price) !== undefined)) {
    // The maximum in the body takes precedence over that of the settings, because the provider applies it.
    const usual = bodyMax ?? (isOneSearch(tool, format, model) ? 1 : settings.maxToolCalls);
    const own = callsOf(tool, format, usual);
    calls += own;
    const isPriced = rules.price.unitNanos.has(tool.unit);
    if (tool.isTokensOnly && !isAnyProvider && !isPriced) {
      tokensOnly.add(tool.unit);
    } else if (!tokensOnly.has(tool.unit)) {
      const tariff = await tariffOf(tool, rules, isAnyProvider);
      priced.push(priceOfTool(tool, Math.min(own, bodyMax ?? own), rules, tariff, callNanos));
    }
  }
  const rounds = 1 + Math.min(calls, bodyMax ?? calls) + (requestsCompaction(body) ? 1 : 0);
  if (rounds > callsLimit) {
    throw new GatewayError(400, 'invalid_value', `A call may use tools at most ${callsLimit} times.`);
  }
  return {
    ...held(priced, bodyMax, isAnyProvider),
    pricedAs: pricedAsOf(priced),
    modelNanos: new Map(
      priced.flatMap(({ tool, nanos, isOfModel }) => (isOfModel ? [[tool.unit, nanos]] : [])),
    ),
    offered: new Set(offered.map(({ unit }) => unit)),
    callNanos,
    tokensOnly,
    rounds,
    bodyMax: most === bodyMax ? undefined : bodyMax,
    isVisible: format.showsCalls,
  };
}

/** Returns the price of the model that a tool uses. Only OpenAI and Azure have a known model for generated images. */
function tariffOf(
  { unit, model }: OfferedTool,
  { priceOf }: ToolRules,
  isAnyProvider: boolean,
): Promise<Tariff | undefined> | undefined {
  const used = model ?? (unit === 'image_generation' && !isAnyProvider ? defaultImageModel : undefined);
  return used === undefined ? undefined : priceOf(used);
}

/** Returns the unit that prices each tool. If it has several, the most expensive one. */
function pricedAsOf(priced: readonly Priced[]): ReadonlyMap<string, string> {
  const found = new Map<string, Priced>();
  for (const one of priced) {
    const before = found.get(one.tool.unit);
    if (one.unit !== undefined && (before === undefined || one.nanos > before.nanos)) {
      found.set(one.tool.unit, one);
    }
  }
  return new Map([...found].map(([unit, one]) => [unit, one.unit ?? unit]));
}

/** Returns the maximum number of calls of one tool. In formats without a maximum per tool, the provider may obey such a member or not. */
function callsOf({ callsMax }: OfferedTool, { limitsEach }: ToolFormat, usual: number): number {
  return limitsEach ? (callsMax ?? usual) : Math.max(callsMax ?? 0, usual);
}

/** Returns true for a search by a model that always makes exactly one. */
function isOneSearch({ unit }: OfferedTool, { searchesOf }: ToolFormat, model: string): boolean {
  return unit === 'web_search' && 'web_search' in searchesOf(model);
}

function priceOfTool(
  tool: OfferedTool,
  calls: number,
  { price, model, inputTokens }: ToolRules,
  tariff: Tariff | undefined,
  callNanos: bigint | undefined,
): Priced {
  const unit = pricedUnit(tool, price);
  const unitNanos = unit === undefined ? undefined : price.unitNanos.get(unit);
  if (unitNanos !== undefined || price.hasFreeUnits === true) {
    return { tool, calls, nanos: unitNanos ?? 0n, unit: unit ?? tool.unit, isOfModel: false };
  }
  if (tool.isLarge) {
    throw new GatewayError(
      400,
      'invalid_value',
      `\`memory_limit\` must be \`1g\`, because a larger container has no price. Set one for the unit ${tool.pricedBy[0]} of the ` +
        `model ${model} in Purser.`,
      { field: 'memory_limit' },
    );
  }
  if (tariff !== undefined) {
    const input = BigInt(inputTokens);
    const rates = maximumRatesFor(tariff, usualTerms, input);
    const bound = worstCaseCost(rates, input, BigInt(tool.modelOutputTokens));
    return { tool, calls, nanos: bound, unit: undefined, isOfModel: true };
  }
  if (callNanos === undefined) {
    throw new GatewayError(
      400,
      'tool_without_price',
      `The provider runs the tool ${tool.type}, which has no price, so its cost cannot be limited. Set a price for the unit ` +
        `${tool.pricedBy[0]} of the model ${model} in Purser, or unpriced_tool_call_usd in the settings of the gateway.`,
      { tool: tool.type, unit: tool.pricedBy[0], model },
    );
  }
  return { tool, calls, nanos: callNanos, unit: undefined, isOfModel: false };
}

/** Returns the cost of `calls` calls of each tool that has a price per call. */
export function costOfTools(offered: readonly OfferedTool[], calls: number, price: Tariff): bigint {
  const nanosOf = (tool: OfferedTool) => price.unitNanos.get(pricedUnit(tool, price) ?? '') ?? 0n;
  return offered.reduce((sum, tool) => sum + nanosOf(tool), 0n) * BigInt(calls);
}

/** Returns the unit that prices the calls of a tool; undefined if none has a price. */
function pricedUnit({ pricedBy, isAnyUnit }: OfferedTool, { unitNanos }: Tariff): string | undefined {
  const priced = pricedBy.filter((unit) => unitNanos.has(unit));
  const nanosOf = (unit: string) => unitNanos.get(unit) as bigint;
  return isAnyUnit
    ? priced.reduce<string | undefined>(
        (most, one) => (most === undefined || nanosOf(one) > nanosOf(most) ? one : most),
        undefined,
      )
    : priced[0];
}

const usualTerms = { tier: null, region: null };

/**
 * Returns the amounts to hold. If all tools share one maximum, the most expensive tool may make all calls. Containers that are
 * charged without a call are held besides.
 */
function held(priced: readonly Priced[], total: number | undefined, isAnyProvider: boolean) {
  const callsMax: Record<string, number> = {};
  const units: Record<string, number> = {};
  const chargedUncalled: Record<string, number> = {};
  let nanos = 0n;
  const hold = ({ tool, nanos: each, unit }: Priced, calls: number) => {
    callsMax[tool.unit] = countedCalls(callsMax, tool.unit) + calls;
    if (unit === undefined) {
      nanos += each * BigInt(calls);
    } else {
      units[unit] = countedCalls(units, unit) + calls;
    }
  };
  const mostExpensive = priced.reduce<Priced | undefined>(
    (most, one) => (most === undefined || one.nanos > most.nanos ? one : most),
    undefined,
  );
  for (const one of total === undefined || mostExpensive === undefined ? priced : [mostExpensive]) {
    hold(one, one.calls);
  }
  for (const one of isAnyProvider ? [] : priced) {
    const { unit } = one.tool;
    if (one.tool.isChargedUncalled) {
      chargedUncalled[unit] = countedCalls(chargedUncalled, unit) + 1;
      if (countedCalls(callsMax, unit) < countedCalls(chargedUncalled, unit)) {
        hold(one, 1);
      }
    }
  }
  return { callsMax, units, nanos, chargedUncalled };
}

export interface ToolCharges extends Pick<CallUsage, 'toolModels'> {
  /** Units of the run, under the names in its price. */
  readonly units: ServerTools;
  /** Cost of tools that have no rate in the price. */
  readonly nanos: bigint;
}

/** Tools that the client may run as well. They are the provider's only if the request offers them as such. */
const eitherSide = new Set(['shell', 'tool_search', 'x_search']);
const noModels: CallUsage['toolModels'] = [];

/** Returns the charges for tool calls: for the calls that were seen or reported, or for the held maximum if that may not be all of them. */
export function toolChargesOf(
  price: PriceInForce,
  tools: CallTools,
  { toolCalls = noUnits, isFinal, isAccepted }: Pick<CallOutcome, 'toolCalls' | 'isFinal' | 'isAccepted'>,
  { serverTools, toolModels, statedNanos }: CallUsage,
): ToolCharges {
  // A stated cost contains that of tools, but a price of the org may win.
  if (statedNanos !== null && !isOrgPrice(price)) {
    return { units: unitsOf(serverTools, tools), toolModels, nanos: 0n };
  }
  // The report takes precedence over the shown calls. A call that the provider did not run, such as one beyond the maximum of
  // searches, is shown but not reported.
  const seen = isFinal ? { ...toolCalls, ...serverTools } : mostCalls(serverTools, toolCalls);
  const isAll = !isAccepted || (isFinal && tools.isVisible);
  const known = isAll ? seen : mostCalls(seen, tools.callsMax);
  const calls = isAccepted ? mostCalls(known, tools.chargedUncalled) : known;
  // Reported tokens of generated images are charged in place of the images, unless these have a price.
  const isByModel = isAll && toolModels.length > 0 && !price.unitNanos.has('image_generation');
  const units: Record<string, number> = {};
  let nanos = 0n;
  for (const [unit, count] of Object.entries(calls)) {
    const isOffered = tools.offered.has(unit) || Object.hasOwn(serverTools, unit);
    const pricedAs = tools.pricedAs.get(unit) ?? unit;
    const modelNanos = tools.modelNanos.get(unit);
    if (tools.tokensOnly.has(unit) || (eitherSide.has(unit) && !isOffered)) {
      // Charged as tokens, or run by the client.
    } else if (price.unitNanos.has(pricedAs) || price.hasFreeUnits === true) {
      units[pricedAs] = count;
    } else if (
      (unit === 'advisor' && isAll && modelNanos !== undefined) ||
      (unit === 'image_generation' && isByModel)
    ) {
      // Its tokens are reported, and charged at the price of its model.
    } else if (modelNanos !== undefined) {
      nanos += modelNanos * BigInt(count);
    } else if (tools.callNanos === undefined) {
      // For a unit without a price, the held amount is posted.
      units[pricedAs] = count;
    } else {
      nanos += tools.callNanos * BigInt(count);
    }
  }
  return { units, toolModels: isByModel ? toolModels : noModels, nanos };
}

/** Returns the calls under the names of the units that price them. */
export function unitsOf(calls: ServerTools, { pricedAs }: Pick<CallTools, 'pricedAs'>): ServerTools {
  return pricedAs.size === 0
    ? calls
    : Object.fromEntries(Object.entries(calls).map(([unit, count]) => [pricedAs.get(unit) ?? unit, count]));
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
