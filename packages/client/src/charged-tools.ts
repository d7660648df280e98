/** The calls of tools that a provider charges for a call, as far as its request and its response say so without a price. */
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import type { CallUsage, ServerTools } from '../../../src/kernel/providers/call-usage.ts';
import type { Fields } from '../../../src/kernel/providers/fields.ts';
import { freeWith, offeredTools } from '../../../src/kernel/providers/offered-tools.ts';
import { countedCalls, mostCalls } from '../../../src/kernel/providers/server-tools.ts';

/** Its calls are shown by the response, and not in the usage. */
const shownOnly = 'code_execution';

export interface ChargedTools {
  /** Returns the calls to charge. */
  charged(usage: CallUsage, shown: ServerTools | undefined): ServerTools;
}

export function chargedToolsOf(format: CallFormat, body: Fields): ChargedTools {
  const offered = offeredTools(format, body);
  const isExecutionFree = offered.some((tool) => freeWith(tool).includes(shownOnly));
  const uncalled: Record<string, number> = {};
  for (const { unit, isChargedUncalled } of offered) {
    if (isChargedUncalled && !(isExecutionFree && unit === shownOnly)) {
      uncalled[unit] = countedCalls(uncalled, unit) + 1;
    }
  }
  return {
    charged({ serverTools }, shown = {}) {
      const executions = isExecutionFree ? 0 : countedCalls(shown, shownOnly);
      const seen = executions === 0 ? serverTools : { [shownOnly]: executions, ...serverTools };
      return mostCalls(seen, uncalled);
    },
  };
}
