/**
 * Provider-run tools of a call: their maximum cost, which is held, and the charges for their calls. A tool without a price is
 * refused unless the org has set the maximum cost of a call of such a tool.
 */
import {
  type Connection,
  type GatewaySettings,
  kindOf,
} from '../capabilities/integration/connections/index.ts';
import { worstCaseCost } from '../kernel/prices.ts';
import type { CallOutcome } from '../kernel/providers/call-end.ts';
import type { ToolFormat } from '../kernel/providers/call-format.ts';
import type { CallUsage, ServerTools } from '../kernel/providers/call-usage.ts';
import { type OfferedTool, offeredTools, requestsCompaction } from '../kernel/providers/offered-tools.ts';
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
  /** Maximum number of times that the provider reads the whole input: once, and once more after each tool call. */
  readonly rounds: number;
  /** Maximum number of tool calls to write into the body; undefined if the body stays unchanged. */
  readonly bodyMax: number | undefined;
  /** False if the response does not show tool calls. */
  readonly isVisible: boolean;
  /** Price of the advisor's model. */
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

/** Maximum number of tool calls that can be held in one response. More are refused, because their bound would be too high to be useful. */
const callsLimit = 1_000;
/** Maximum output of an advisor, if its tool does not set one. */
const advisorOutputTokens = 16_384;

export interface ToolRules {
  readonly price: Tariff;
  readonly model: string;
  readonly settings: GatewaySettings;
  readonly candidates: readonly Connection[];
  /** Maximum input of one pass of the model. */
  readonly inputTokens: number;
  /** Returns the price of an advisor's model. */
  priceOf(model: string): Promise<Tariff | undefined>;
}

interface Priced {
  readonly tool: OfferedTool;
  readonly calls: number;
  /** Price of one call. */
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
      // Containers of other sizes are refused, because the price is that of the usual size.
      throw new GatewayError(
        400,
        'invalid_value',
        '`memory_limit` must be `1g`: larger containers are not supported by the gateway.',
        { field: 'memory_limit' },
      );
    }
    // The maximum in the body takes precedence over that of the settings, because the provider applies it.
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

/** Returns the amounts to hold. If all tools share one maximum, the most expensive tool may make all calls. */
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
  /** Units of the run, under the names in its price. */
  readonly units: ServerTools;
  /** Cost of tools that have no rate in the price. */
  readonly nanos: bigint;
}

/** Tools that the client may run as well. They are the provider's only if the request offers them as such. */
const eitherSide = new Set(['shell', 'tool_search']);

/** Returns the charges for tool calls: for the calls that were seen or reported, or for the held maximum if that may not be all of them. */
export function toolChargesOf(
  price: Tariff,
  tools: CallTools,
  { toolCalls = noUnits, isFinal, isAccepted }: CallOutcome,
  { serverTools, statedNanos }: CallUsage,
): ToolCharges {
  // The report takes precedence over the shown calls. A call that the provider did not run, such as one beyond the maximum of
  // searches, is shown but not reported.
  const seen = isFinal ? { ...toolCalls, ...serverTools } : mostCalls(serverTools, toolCalls);
  if (statedNanos !== null) {
    return { units: serverTools, nanos: 0n };
  }
  const isAll = !isAccepted || (isFinal && tools.isVisible);
  const calls = isAll ? seen : mostCalls(seen, tools.callsMax);
  const units: Record<string, number> = {};
  let nanos = 0n;
  for (const [unit, count] of Object.entries(calls)) {
    const isOffered = tools.offered.has(unit);
    if (price.unitNanos.has(unit) || price.hasFreeUnits === true) {
      units[unit] = count;
    } else if (tools.tokensOnly.has(unit) || (eitherSide.has(unit) && !isOffered)) {
      // Charged as tokens, or run by the client.
    } else if (unit === 'advisor' && tools.advisor !== undefined) {
      // Its tokens are reported, and charged at the price of its model.
      nanos = isAll ? nanos : tools.nanos;
    } else if (tools.callNanos === undefined) {
      // For a unit without a price, the held amount is posted.
      units[unit] = count;
    } else {
      nanos += tools.callNanos * BigInt(count);
    }
  }
  return { units, nanos };
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
