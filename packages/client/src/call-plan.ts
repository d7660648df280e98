/** Plans a call of an SDK before its decision: its format, the estimate of its input, and the maximum of its output. */

import { knownHostOf } from '../../../src/kernel/known-hosts.ts';
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import { thinkingTokensOf } from '../../../src/kernel/providers/call-request.ts';
import { type Fields, fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { allFormats } from '../../../src/kernel/providers/formats.ts';
import type { RequestedService } from '../../../src/kernel/providers/requested-service.ts';
import { requestsReasoning, showsOutput } from '../../../src/kernel/providers/visible-output.ts';
import { hasWholeStreams } from './assembled-response.ts';
import type { CallHolds, CallToHold, HoldPlan } from './call-holds.ts';
import { estimateInput } from './estimate.ts';
import type { DecisionRequest } from './generated/types.ts';
import { type HeldTools, heldToolsOf } from './held-tools.ts';
import type { MeterOptions } from './meter-options.ts';

/** `maxOutputTokens` and `minOutputTokens` are those of all alternative answers together. */
export interface CallPlan extends CallToHold, HoldPlan {
  readonly format: CallFormat;
  readonly body: Fields;
  /** The most input tokens, with those that the provider reads again after calls of its tools. */
  readonly inputTokens: number;
  readonly tools: HeldTools;
  /** True if the call is sent as a stream, which is put together for its caller. */
  readonly isAssembled: boolean;
  readonly decision: DecisionRequest;
  /** True if the usage chunk has to be requested, and is left out of the stream. */
  readonly addsUsageChunk: boolean;
}

/** The least output that `fit` accepts, as in the gateway. */
const minOutputTokens = 256;
/** A hold that has expired cannot be increased, so that its call would be ended. */
const growingHoldSeconds = 3_600;

/** The formats whose requests have their model in the body. Calls of others are sent unmetered. */
export const meteredFormats: readonly CallFormat[] = allFormats.filter(
  ({ request }) => !request.isModelInPath,
);

/** Returns undefined for a request that is not metered. The start of the path differs between providers. */
export function formatOfRequest(method: string, url: string): CallFormat | undefined {
  const { pathname } = new URL(url);
  return method === 'POST' ? meteredFormats.find(({ path }) => pathname.endsWith(path)) : undefined;
}

/** A request that cannot be metered is not sent. */
export class UnmeteredCallError extends Error {}

export interface PlanContext {
  readonly url: string;
  readonly options: MeterOptions;
  /** True if the provider is called by the names of its catalog. */
  readonly areCatalogNames: boolean;
  readonly holds: Pick<CallHolds, 'plan' | 'hasPartialStreams'>;
}

export function planCall(
  format: CallFormat,
  text: string,
  { url, options, areCatalogNames, holds }: PlanContext,
): CallPlan {
  const body = parsed(text);
  const { model } = body;
  if (typeof model !== 'string' || model === '') {
    throw new UnmeteredCallError('`model` must be a string.');
  }
  if (body.background === true) {
    throw new UnmeteredCallError('`background` is not supported: the usage of such a response is not seen.');
  }
  const tools = heldToolsOf(format, body, model, options.maxToolCalls);
  const passTokens =
    options.estimateInputTokens?.(body) ?? estimateInput(format, body, model, options.unseenInputTokens);
  const inputTokens = passTokens * tools.rounds;
  const maxOutputTokens = maxOutputOf(format, body, options.defaultMaxOutputTokens);
  const choices = choicesOf(format, body);
  const isAssembled =
    options.plainCalls === 'streamed' &&
    options.hold !== 'worst_case' &&
    body.stream !== true &&
    hasWholeStreams(knownHostOf(url)?.provider, format) &&
    format.response.assembly?.mayAssemble(body) === true &&
    !holds.hasPartialStreams({ url, model });
  const isStream = body.stream === true || isAssembled;
  const service = heldServiceOf(format, body);
  const call = {
    url,
    model,
    tier: service.service_tier ?? '',
    isStream,
    maxOutputTokens,
    minOutputTokens: Math.min(
      maxOutputTokens,
      Math.max(minOutputTokens * choices, thinkingTokensOf(body) + 1),
    ),
    choices,
    showsOutput: showsOutput({
      requestsReasoning: requestsReasoning(body),
      reasonsOnRequest: format.request.reasonsOnRequest,
      names: [model],
      areCatalogNames,
      canReason: undefined,
    }),
  };
  const held = holds.plan(call);
  // A paced call that is not streamed cannot be ended early, because its caller would get nothing.
  const { onLimit = options.hold === 'paced' && !isStream ? 'fit' : 'refuse' } = options;
  const isFitting = onLimit === 'fit' && format.request.output !== undefined;
  return {
    ...call,
    ...held,
    format,
    body,
    inputTokens,
    tools,
    isAssembled,
    decision: {
      model,
      input_tokens: inputTokens,
      max_output_tokens: held.heldTokens,
      ...service,
      ...(Object.keys(tools.units).length > 0 && { units: tools.units }),
      ...(isFitting && { fit: true, min_output_tokens: Math.min(call.minOutputTokens, held.heldTokens) }),
      ...(held.heldTokens < maxOutputTokens && { expires_in_seconds: growingHoldSeconds }),
    },
    addsUsageChunk:
      format.request.requestsUsage && isStream && fieldsOf(body.stream_options).include_usage !== true,
  };
}

/** Returns the body to send: with the maximum output that is held, and with the request for usage. */
export function bodyToSend(plan: CallPlan, maxOutputTokens: number, knowsNewerNames: boolean): string {
  const { format, body, tools } = plan;
  const { output } = format.request;
  const changes: Record<string, unknown> = plan.isAssembled ? { stream: true } : {};
  if (output !== undefined) {
    const each = Math.floor(maxOutputTokens / choicesOf(format, body));
    const present = output.maxNames.filter((name) => typeof body[name] === 'number');
    for (const name of present) {
      changes[name] = Math.min(body[name] as number, each);
    }
    if (present.length === 0) {
      changes[knowsNewerNames ? output.maxName : output.compatibleMaxName] = each;
    }
  }
  if (tools.bodyMax !== undefined) {
    changes[tools.bodyMax.name] = tools.bodyMax.calls;
  }
  if (plan.addsUsageChunk) {
    changes.stream_options = { ...fieldsOf(body.stream_options), include_usage: true };
  }
  return JSON.stringify({ ...body, ...changes });
}

/** Cheaper tiers than the usual one. The provider may serve a call in the usual one all the same, so that one is held. */
const cheaperTiers = new Set(['batch', 'flex']);

function heldServiceOf({ request }: CallFormat, body: Fields): RequestedService {
  const { service_tier: tier, ...usual } = request.serviceOf(body);
  return tier === undefined || cheaperTiers.has(tier) ? usual : { ...usual, service_tier: tier };
}

function parsed(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    throw new UnmeteredCallError('The body is not valid JSON.');
  }
}

function maxOutputOf(format: CallFormat, body: Fields, byDefault: number): number {
  const { output } = format.request;
  if (output === undefined) {
    return 0;
  }
  const maxima = output.maxNames.map((name) => body[name]).filter((value) => typeof value === 'number');
  return (maxima.length === 0 ? byDefault : Math.min(...maxima)) * choicesOf(format, body);
}

/** Number of alternative answers: each may have the maximum. */
function choicesOf({ request: { output } }: CallFormat, body: Fields): number {
  const n = output?.choicesName === undefined ? undefined : body[output.choicesName];
  return typeof n === 'number' && n >= 1 ? Math.floor(n) : 1;
}
