/** The calls of tools that a provider charges for a call, as far as its request and its response say so without a price. */
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import type { CallUsage, ServerTools } from '../../../src/kernel/providers/call-usage.ts';
import type { Fields } from '../../../src/kernel/providers/fields.ts';
import { freeWith, type OfferedTool, offeredTools } from '../../../src/kernel/providers/offered-tools.ts';
import { countedCalls, mostCalls } from '../../../src/kernel/providers/server-tools.ts';

/** Its calls are shown by the response, and not in the usage. */
const shownOnly = 'code_execution';

export interface ChargedTools {
  /** Returns the calls to charge. */
  charged(usage: CallUsage, shown: ServerTools | undefined): ServerTools;
}

/** `chargesContainers`: the provider is one that charges for containers in which nothing is run. */
export function chargedToolsOf(format: CallFormat, body: Fields, chargesContainers: boolean): ChargedTools {
  const offered = offeredTools(format, body);
  const search = searchUnitOf(offered);
  const isExecutionFree = offered.some((tool) => freeWith(tool).includes(shownOnly));
  const uncalled: Record<string, number> = {};
  for (const { unit, isChargedUncalled } of offered) {
    if (chargesContainers && isChargedUncalled && !(isExecutionFree && unit === shownOnly)) {
      uncalled[unit] = countedCalls(uncalled, unit) + 1;
    }
  }
  return {
    charged({ serverTools }, shown = {}) {
      const executions = isExecutionFree ? 0 : countedCalls(shown, shownOnly);
      const seen = executions === 0 ? serverTools : { [shownOnly]: executions, ...serverTools };
      return withSearchUnit(mostCalls(seen, uncalled), search);
    },
  };
}

/** Returns the unit of the searches of a call. The service charges one without a price as `web_search`. */
function searchUnitOf(offered: readonly OfferedTool[]): string {
  const kinds = offered.filter(({ unit, isAnyUnit }) => unit === 'web_search' && !isAnyUnit);
  return kinds.find(({ pricedBy }) => pricedBy.length > 1)?.pricedBy[0] ?? 'web_search';
}

function withSearchUnit(calls: ServerTools, unit: string): ServerTools {
  const { web_search: searches, ...others } = calls;
  return searches === undefined || unit === 'web_search' ? calls : { ...others, [unit]: searches };
}
