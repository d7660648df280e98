/** The body that is sent to a provider: that of the client with the maximum, the model and what the gateway needs for the usage. */
import type { Connection } from '../capabilities/integration/connections/index.ts';
import { defaultMaxField, maxFieldsOf } from '../kernel/providers/call-request.ts';
import { type BodyChanges, editBody } from './body/edit-body.ts';
import type { ParsedCall } from './parse-call.ts';
import type { CallPlan } from './plan-call.ts';

/** Models of OpenAI that accept no other name of the maximum. */
const requiresCompletionMaximum = /(?<![a-z0-9])(o\d|gpt-?([5-9]|[12]\d)|codex)/i;

/** Returns the body to send: the maximum of the output, the request for usage, and the model if another one was chosen. */
export function bodyOf(
  { call, model, tools }: CallPlan,
  connection: Connection,
  maxOutputTokens: number,
): Buffer {
  const changes: Record<string, string | number | boolean> = {};
  const renames: Record<string, string> = {};
  const each = Math.floor(maxOutputTokens / call.choices);
  if (call.shape !== 'embeddings') {
    for (const name of call.maxFields) {
      if ((call.body[name] as number) > each) {
        changes[name] = each;
      }
    }
    if (!maxFieldsOf[call.shape].some((name) => call.maxFields.includes(name))) {
      changes[defaultMaxField(call.shape, connection.kind !== 'openai_compatible')] = each;
    }
    if (isMaximumUnknown(call, model, connection)) {
      if ('max_tokens' in call.body) {
        // It is null, which such a provider takes for no maximum.
        changes.max_tokens = Math.min(each, call.body.max_completion_tokens as number);
      } else {
        renames.max_completion_tokens = 'max_tokens';
      }
    }
  }
  if (addsUsageChunk(call)) {
    changes['stream_options.include_usage'] = true;
  }
  if (tools.bodyMax !== undefined) {
    changes.max_tool_calls = tools.bodyMax;
  }
  if (model !== call.body.model) {
    changes.model = model;
  }
  return editBody(call.bytes, changes as BodyChanges, renames);
}

/**
 * True if the provider may not know `max_completion_tokens`. Every compatible provider knows `max_tokens`, but many reject a body with both.
 */
function isMaximumUnknown(
  { hasCompletionMaximum }: ParsedCall,
  model: string,
  { kind }: Connection,
): boolean {
  return kind === 'openai_compatible' && hasCompletionMaximum && !requiresCompletionMaximum.test(model);
}

/** True if the gateway requests the chunk with the usage, which the client did not. */
export function addsUsageChunk({ shape, isStream, includesUsage }: ParsedCall): boolean {
  return shape === 'chat' && isStream && !includesUsage;
}
