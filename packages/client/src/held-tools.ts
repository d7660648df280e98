/** The tools that a provider runs for a call, as its decision holds them. Their prices are known to the service alone. */
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import type { Fields } from '../../../src/kernel/providers/fields.ts';
import { freeWith, type OfferedTool, offeredTools } from '../../../src/kernel/providers/offered-tools.ts';
import { countedCalls } from '../../../src/kernel/providers/server-tools.ts';
import { PurserApiError } from './errors.ts';

export interface HeldTools {
  /** The most calls, by the unit that prices them. */
  readonly units: Readonly<Record<string, number>>;
  /** The most times that the provider reads the whole input: once, and once more after each call of a tool. */
  readonly rounds: number;
  /** The maximum of calls to write into the body; undefined if the body has one, or the format none. */
  readonly bodyMax: { readonly name: string; readonly calls: number } | undefined;
}

/** Tools that are charged by the tokens of a model of their own, when these are reported. */
const ofOwnModel: ReadonlySet<string> = new Set(['advisor', 'image_generation']);
const noHeldTools: HeldTools = { units: {}, rounds: 1, bodyMax: undefined };

/** `callsMax`: calls of a tool for which the request sets no maximum. */
export function heldToolsOf(format: CallFormat, body: Fields, model: string, callsMax: number): HeldTools {
  const offered = offeredTools(format, body);
  if (offered.length === 0) {
    return noHeldTools;
  }
  const { callsMaxName: name, limitsEach, searchesOf } = format.tools;
  const stated = name === undefined ? undefined : countOf(body[name]);
  const usual = stated ?? callsMax;
  const free = new Set(offered.flatMap(freeWith));
  const units: Record<string, number> = {};
  let calls = 0;
  for (const tool of offered) {
    const isOne = tool.unit === 'web_search' && 'web_search' in searchesOf(model);
    const own = callsOf(tool, isOne ? 1 : usual, limitsEach);
    calls += own;
    if (!tool.isTokensOnly && !ofOwnModel.has(tool.unit) && !free.has(tool.unit)) {
      const [unit = tool.unit] = tool.pricedBy;
      units[unit] = countedCalls(units, unit) + own;
    }
  }
  return {
    units,
    rounds: 1 + (name === undefined ? calls : Math.min(calls, usual)),
    bodyMax: name === undefined || stated !== undefined ? undefined : { name, calls: usual },
  };
}

/** In formats without a maximum for each tool, the provider may obey such a member or not. */
function callsOf({ callsMax }: OfferedTool, usual: number, limitsEach: boolean): number {
  return limitsEach ? (callsMax ?? usual) : Math.max(callsMax ?? 0, usual);
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Returns the units without a price for which the service has rejected a decision; empty if it has done something else. */
export function unitsWithoutPrice(error: unknown): readonly string[] {
  if (!(error instanceof PurserApiError && error.is('validation_failed'))) {
    return [];
  }
  const { fields } = error.details as { readonly fields?: readonly { readonly field: string }[] };
  return (fields ?? []).flatMap(({ field }) =>
    field.startsWith('units.') ? [field.slice('units.'.length)] : [],
  );
}

/** The provider would run a tool whose cost cannot be held. */
export class ToolWithoutPriceError extends Error {
  readonly model: string;
  readonly units: readonly string[];

  constructor(model: string, units: readonly string[]) {
    super(
      `The provider runs tools for this call whose units have no price, so their cost cannot be held: ${units.join(', ')}. Set ` +
        `prices for these units of the model ${model} in Purser, or wrap the SDK with \`unpricedTools: 'allow'\`.`,
    );
    this.model = model;
    this.units = units;
  }
}
