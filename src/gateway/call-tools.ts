/**
 * The tools of a call that the provider runs: what they may cost, which is held, and what their calls are charged. A tool without a price is
 * refused unless the org has set the most that a call of one may cost.
 */
import {
  type Connection,
  type GatewaySettings,
  kindOf,
} from '../capabilities/integration/connections/index.ts';
import { costOf, worstCaseCost } from '../kernel/prices.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import type { ToolFormat } from '../kernel/providers/call-format.ts';
import type { AdvisorUsage, CallUsage, ServerTools } from '../kernel/providers/call-usage.ts';
import { type OfferedTool, offeredTools, requestsCompaction } from '../kernel/providers/offered-tools.ts';
import { countedCalls, mostCalls } from '../kernel/providers/server-tools.ts';
import { maximumRatesFor, ratesFor, type Tariff } from '../kernel/rate-modifiers.ts';
import { GatewayError } from './errors/gateway-error.ts';
import type { ParsedCall } from './parse-call.ts';

export interface CallTools {
  /** The most calls of tools with a price, by unit. */
  readonly units: ServerTools;
  /** The calls that are held, by unit. With one maximum for all tools, they are those of the most expensive one. */
  readonly callsMax: ServerTools;
  /** Units of all tools that the request offers. */
  readonly offered: ReadonlySet<string>;
  /** The most that tools without a price may cost. */
  readonly nanos: bigint;
  /** The cost of a call of a tool without a price; undefined if the org allows none. */
  readonly callNanos: bigint | undefined;
  /** Units of which only the tokens are charged. */
  readonly tokensOnly: ReadonlySet<string>;
  /** Maximum number of times that the provider reads the whole input: once, and again after each call of a tool. */
  readonly rounds: number;
  /** The maximum to write into the body; undefined: it stays as it is. */
  readonly bodyMax: number | undefined;
  /** False if the response does not show the calls. */
  readonly isVisible: boolean;
  /** The price of the advisor's model. */
  readonly advisor: Tariff | undefined;
}

const noUnits: ServerTools = {};
export const noCallTools: CallTools = {
  units: noUnits,
  callsMax: noUnits,
  offered: new Set(),
  nanos: 0n,
  callNanos: undefined,
  tokensOnly: new Set(),
  rounds: 1,
  bodyMax: undefined,
  isVisible: true,
  advisor: undefined,
};

const compacting: CallTools = { ...noCallTools, rounds: 2 };

/** Returns the tools of a call that offers none. */
export function withoutTools({ body }: ParsedCall): CallTools {
  return requestsCompaction(body) ? compacting : noCallTools;
}

/** More calls in one response are refused: their bound would mean nothing. */
const callsLimit = 1_000;
/** The maximum output of an advisor whose tool sets none. */
const advisorOutputTokens = 16_384;

export interface ToolRules {
  readonly price: Tariff;
  readonly model: string;
  readonly settings: GatewaySettings;
  readonly candidates: readonly Connection[];
  /** The input that one pass of the model may have. */
  readonly inputTokens: number;
  /** Returns the price of the model of an advisor. */
  priceOf(model: string): Promise<Tariff | undefined>;
}

interface Priced {
  readonly tool: OfferedTool;
  readonly calls: number;
  /** The price of one call. */
  readonly nanos: bigint;
  readonly isUnit: boolean;
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
  const advisorModel = offered.find((tool) => tool.model !== undefined)?.model;
  const advisor = advisorModel === undefined ? undefined : await rules.priceOf(advisorModel);
  const { callsMaxName } = format;
  const most = callsMaxName === undefined ? undefined : countOf(body[callsMaxName]);
  const bodyMax = callsMaxName === undefined ? undefined : (most ?? settings.maxToolCalls);
  const priced: Priced[] = [];
  const tokensOnly = new Set<string>();
  let calls = 0;
  for (const tool of offered) {
    if (tool.isLarge) {
      // The price of a container is that of the usual size.
      throw new GatewayError(
        400,
        'invalid_value',
        '`memory_limit` must be `1g`: larger containers are not supported by the gateway.',
        { field: 'memory_limit' },
      );
    }
    // The maximum in the body may be larger than that of the settings, and is the one that the provider applies.
    const usual = bodyMax ?? (isOneSearch(tool, format, model) ? 1 : settings.maxToolCalls);
    const own = callsOf(tool, format, usual);
    calls += own;
    if (tool.isTokensOnly && !isAnyProvider) {
      tokensOnly.add(tool.unit);
    } else {
      priced.push(priceOfTool(tool, Math.min(own, bodyMax ?? own), rules, advisor, callNanos));
    }
  }
  const rounds = 1 + Math.min(calls, bodyMax ?? calls) + (requestsCompaction(body) ? 1 : 0);
  if (rounds > callsLimit) {
    throw new GatewayError(400, 'invalid_value', `A call may use tools at most ${callsLimit} times.`);
  }
  return {
    ...held(priced, bodyMax),
    offered: new Set(offered.map(({ unit }) => unit)),
    callNanos,
    tokensOnly,
    rounds,
    bodyMax: most === bodyMax ? undefined : bodyMax,
    isVisible: format.showsCalls,
    advisor,
  };
}

/** Providers of other formats may obey a maximum in the tool, or not know it. */
function callsOf({ callsMax }: OfferedTool, { limitsEach }: ToolFormat, usual: number): number {
  return limitsEach ? (callsMax ?? usual) : Math.max(callsMax ?? 0, usual);
}

/** A model that searches by itself searches once. */
function isOneSearch({ unit }: OfferedTool, { searchesOf }: ToolFormat, model: string): boolean {
  return unit === 'web_search' && 'web_search' in searchesOf(model);
}

function priceOfTool(
  tool: OfferedTool,
  calls: number,
  { price, model, inputTokens }: ToolRules,
  advisor: Tariff | undefined,
  callNanos: bigint | undefined,
): Priced {
  const nanos = price.unitNanos.get(tool.unit) ?? (price.hasFreeUnits === true ? 0n : undefined);
  if (nanos !== undefined) {
    return { tool, calls, nanos, isUnit: true };
  }
  if (tool.model !== undefined && advisor !== undefined) {
    const input = BigInt(inputTokens);
    const rates = maximumRatesFor(advisor, usualTerms, input);
    const bound = worstCaseCost(rates, input, BigInt(advisorOutputTokens));
    return { tool, calls, nanos: bound, isUnit: false };
  }
  if (callNanos === undefined) {
    throw new GatewayError(
      400,
      'tool_without_price',
      `The provider runs the tool ${tool.type}, which has no price, so its cost cannot be limited. Set a price for the unit ` +
        `${tool.unit} of the model ${model} in Purser, or unpriced_tool_call_usd in the settings of the gateway.`,
      { tool: tool.type, unit: tool.unit, model },
    );
  }
  return { tool, calls, nanos: callNanos, isUnit: false };
}

const usualTerms = { tier: null, region: null };

/** Returns what is held. With a maximum for all tools together, the most expensive one may have all of the calls. */
function held(priced: readonly Priced[], total: number | undefined) {
  const callsMax: Record<string, number> = {};
  const units: Record<string, number> = {};
  let nanos = 0n;
  const mostExpensive = priced.reduce<Priced | undefined>(
    (most, one) => (most === undefined || one.nanos > most.nanos ? one : most),
    undefined,
  );
  for (const one of total === undefined || mostExpensive === undefined ? priced : [mostExpensive]) {
    const { tool, calls, isUnit } = one;
    callsMax[tool.unit] = countedCalls(callsMax, tool.unit) + calls;
    if (isUnit) {
      units[tool.unit] = countedCalls(units, tool.unit) + calls;
    } else {
      nanos += one.nanos * BigInt(calls);
    }
  }
  return { callsMax, units, nanos };
}

export interface ToolCharges {
  /** The units of the run, as its price counts them. */
  readonly units: ServerTools;
  /** The cost of tools that the price does not have. */
  readonly nanos: bigint;
}

/** Calls of these may be those of the client, unless the request offers the tool of the provider. */
const eitherSide = new Set(['shell', 'tool_search']);

/** Returns what the calls of tools are charged: those that were seen or reported, or the most that were held if these are not all. */
export function toolChargesOf(
  price: Tariff,
  tools: CallTools,
  { toolCalls = noUnits, isFinal, isAccepted }: CallOutcome,
  { serverTools, advisors, statedNanos }: CallUsage,
): ToolCharges {
  // A call that the provider has not run, such as one after the most searches, is shown and not reported.
  const seen = isFinal ? { ...toolCalls, ...serverTools } : mostCalls(serverTools, toolCalls);
  if (statedNanos !== null) {
    return { units: serverTools, nanos: 0n };
  }
  const isAll = !isAccepted || (isFinal && tools.isVisible);
  const calls = isAll ? seen : mostCalls(seen, tools.callsMax);
  const units: Record<string, number> = {};
  let nanos = tools.advisor === undefined ? 0n : advisorCost(price, tools.advisor, advisors);
  for (const [unit, count] of Object.entries(calls)) {
    const isOffered = tools.offered.has(unit);
    if (price.unitNanos.has(unit) || price.hasFreeUnits === true) {
      units[unit] = count;
    } else if (tools.tokensOnly.has(unit) || (eitherSide.has(unit) && !isOffered)) {
      // Charged as tokens, or run by the client.
    } else if (unit === 'advisor' && tools.advisor !== undefined) {
      nanos = isAll ? nanos : tools.nanos;
    } else if (tools.callNanos === undefined) {
      // A unit without a price: the held amount is posted.
      units[unit] = count;
    } else {
      nanos += tools.callNanos * BigInt(count);
    }
  }
  return { units, nanos };
}

/** Returns the additional cost of advisors: their tokens are charged already, at the rates of the model of the call. */
function advisorCost(price: Tariff, advisor: Tariff, usages: readonly AdvisorUsage[]): bigint {
  let nanos = 0n;
  for (const usage of usages) {
    const counts = {
      inputTokens: BigInt(usage.inputTokens),
      cachedInputTokens: BigInt(usage.cachedInputTokens),
      cacheWriteTokens: BigInt(usage.cacheWriteTokens),
      outputTokens: BigInt(usage.outputTokens),
    };
    const own = costOf(ratesFor(advisor, usualTerms, counts.inputTokens), counts);
    const charged = costOf(ratesFor(price, usualTerms, counts.inputTokens), counts);
    nanos += own > charged ? own - charged : 0n;
  }
  return nanos;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
