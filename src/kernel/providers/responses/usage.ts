import type { CallUsage } from '../call-usage.ts';
import { fieldsOf } from '../fields.ts';
import { openAiUsage } from '../openai-usage.ts';
import { toolsInOutput, withServerTools } from '../server-tools.ts';

/** Returns the usage of a whole response, with the searches that its output shows; undefined if it reports none that can be read. */
export function responsesUsage(response: unknown): CallUsage | undefined {
  const { usage, service_tier: tier, output } = fieldsOf(response);
  const reported = openAiUsage(usage, tier);
  return reported && withServerTools(reported, toolsInOutput(output));
}
