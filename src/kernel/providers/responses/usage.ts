import type { CallUsage } from '../call-usage.ts';
import { fieldsOf } from '../fields.ts';
import { openAiUsage } from '../openai-usage.ts';
import { toolsInOutput, withServerTools } from '../server-tools.ts';

/** Returns the usage of a whole response, including the searches in its output; undefined if no usage can be read. */
export function responsesUsage(response: unknown): CallUsage | undefined {
  const { usage, service_tier: tier, output } = fieldsOf(response);
  const reported = openAiUsage(usage, tier);
  return reported && withServerTools(reported, toolsInOutput(output));
}
