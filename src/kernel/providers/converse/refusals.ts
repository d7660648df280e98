/** Members of `Converse` that are charged in ways that the gateway cannot bound. */
import { type Fields, fieldsOf } from '../fields.ts';
import type { RefusedMember } from '../requested-service.ts';

const unsupported = 'is not supported by the gateway';

export function refusalOf(body: Fields): RefusedMember | undefined {
  const { guardrailConfig, promptVariables, performanceConfig, serviceTier, additionalModelRequestFields } =
    body;
  if (guardrailConfig != null) {
    return { name: 'guardrailConfig', rule: `${unsupported}: guardrails are charged separately` };
  }
  if (promptVariables != null) {
    return { name: 'promptVariables', rule: `${unsupported}: the prompt is not in the request` };
  }
  const { latency } = fieldsOf(performanceConfig);
  if (latency != null && latency !== 'standard') {
    return { name: 'performanceConfig.latency', rule: `${unsupported}: it has no price` };
  }
  if (serviceTier != null && typeof fieldsOf(serviceTier).type !== 'string') {
    return { name: 'serviceTier.type', rule: 'must be a string' };
  }
  const isObject =
    typeof additionalModelRequestFields === 'object' && !Array.isArray(additionalModelRequestFields);
  return additionalModelRequestFields === undefined || isObject
    ? undefined
    : { name: 'additionalModelRequestFields', rule: 'must be an object' };
}
