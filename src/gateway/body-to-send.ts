/** The body for a provider: the client's body with the output maximum, the model, and the options that make the provider report usage. */
import { type Connection, kindOf } from '../capabilities/integration/connections/index.ts';
import { type BodyChanges, editBody } from './body/edit-body.ts';
import type { ParsedCall } from './parse-call.ts';
import type { CallPlan } from './plan-call.ts';

/** OpenAI models that only accept the newer name of the output maximum. */
const requiresCompletionMaximum = /(?<![a-z0-9])(o\d|gpt-?([5-9]|[12]\d)|codex)/i;

/** Returns the body to send. It sets the output maximum and the request for usage, and the model if another one was chosen. */
export function bodyOf(
  { call, model, tools }: CallPlan,
  connection: Connection,
  maxOutputTokens: number,
): Buffer {
  const changes: Record<string, string | number | boolean> = {};
  const renames: Record<string, string> = {};
  const each = Math.floor(maxOutputTokens / call.choices);
  const { output } = call.format.request;
  if (output !== undefined) {
    const { maxName, compatibleMaxName } = output;
    for (const name of call.maxFields) {
      if ((call.body[name] as number) > each) {
        changes[name] = each;
      }
    }
    if (!output.maxNames.some((name) => call.maxFields.includes(name))) {
      changes[kindOf(connection).isAnyProvider ? compatibleMaxName : maxName] = each;
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
  if (addsUsageChunk(call)) {
    changes['stream_options.include_usage'] = true;
  }
  const { callsMaxName } = call.format.tools;
  if (callsMaxName !== undefined && tools.bodyMax !== undefined) {
    changes[callsMaxName] = tools.bodyMax;
  }
  if (model !== call.body.model) {
    changes.model = model;
  }
  return editBody(call.bytes, changes as BodyChanges, renames);
}

/** Returns true if the provider may not know the newer name of the output maximum. Many providers reject a body with both names. */
function isMaximumUnknown({ hasNewerMaximum }: ParsedCall, model: string, connection: Connection): boolean {
  return kindOf(connection).isAnyProvider && hasNewerMaximum && !requiresCompletionMaximum.test(model);
}

/** Returns true if the gateway requests the chunk with the usage, because the client did not. */
export function addsUsageChunk({ format, isStream, includesUsage }: ParsedCall): boolean {
  return format.request.requestsUsage && isStream && !includesUsage;
}
