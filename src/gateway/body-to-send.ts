/** The body for a provider: the client's body with the output maximum, the model, and the options that make the provider report usage. */
import { type Connection, kindOf, modelIdAt } from '../capabilities/integration/connections/index.ts';
import { type BodyChanges, editBody, editEach } from './body/edit-body.ts';
import type { ParsedCall } from './parse-call.ts';
import { type CallPlan, isStreamed } from './plan-call.ts';

/** OpenAI models that only accept the newer name of the output maximum. */
const requiresCompletionMaximum = /(?<![a-z0-9])(o\d|gpt-?([5-9]|[12]\d)|codex)/i;

/** Returns the body to send. It sets the output maximum and the request for usage, and the model if another one was chosen. */
export function bodyOf(plan: CallPlan, connection: Connection, maxOutputTokens: number): Buffer {
  const { call, tools } = plan;
  const { isAnyProvider, imitated } = kindOf(connection);
  const imitatedName = imitated.get(call.format)?.(plan.model);
  const model = imitatedName ?? plan.model;
  const changes: Record<string, string | number | boolean> = {};
  const renames: Record<string, string> = {};
  const each = Math.floor(maxOutputTokens / call.choices);
  const { output } = call.format.request;
  if (output !== undefined) {
    const { maxName, compatibleMaxName } = output;
    for (const { path, tokens } of call.maxFields) {
      if (tokens > each) {
        changes[path] = each;
      }
    }
    const documented = output.maxNames.map((name) => `${call.maxPath}${name}`);
    if (!call.maxFields.some(({ path }) => documented.includes(path))) {
      changes[`${call.maxPath}${isAnyProvider || imitated.has(call.format) ? compatibleMaxName : maxName}`] =
        each;
    }
    if (isMaximumUnknown(call, model, connection)) {
      if (compatibleMaxName in call.body) {
        // The provider would read null as no maximum.
        changes[compatibleMaxName] = Math.min(each, call.body[maxName] as number);
      } else {
        renames[maxName] = compatibleMaxName;
      }
    }
  }
  if (plan.isAssembled) {
    changes.stream = true;
  }
  if (addsUsageChunk(plan)) {
    changes['stream_options.include_usage'] = true;
  }
  const { callsMaxName } = call.format.tools;
  if (callsMaxName !== undefined && tools.bodyMax !== undefined) {
    changes[callsMaxName] = tools.bodyMax;
  }
  const { isModelInPath } = call.format.request;
  const id = imitatedName ?? modelIdAt(connection, model);
  if (isModelInPath ? call.body.model != null && model !== call.model : id !== call.body.model) {
    changes.model = isModelInPath ? `models/${model}` : id;
  }
  // Each request of a batch names the model again.
  const bytes =
    isModelInPath && model !== call.model
      ? editEach(call.bytes, 'requests', 'model', `models/${model}`)
      : call.bytes;
  return editBody(bytes, changes as BodyChanges, renames);
}

/** Returns true if the provider may not know the newer name of the output maximum. Many providers reject a body with both names. */
function isMaximumUnknown(
  { format, hasNewerMaximum }: ParsedCall,
  model: string,
  connection: Connection,
): boolean {
  const { isAnyProvider, imitated } = kindOf(connection);
  return (isAnyProvider || imitated.has(format)) && hasNewerMaximum && !requiresCompletionMaximum.test(model);
}

/** Returns true if the gateway requests the chunk with the usage, because the client did not. */
export function addsUsageChunk(plan: Pick<CallPlan, 'call' | 'isAssembled'>): boolean {
  const { format, includesUsage } = plan.call;
  return format.request.requestsUsage && isStreamed(plan) && !includesUsage;
}
