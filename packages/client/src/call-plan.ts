/** Plans a call of an SDK before its decision: its format, the estimate of its input, and the maximum of its output. */
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import { thinkingTokensOf } from '../../../src/kernel/providers/call-request.ts';
import { type Fields, fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { allFormats } from '../../../src/kernel/providers/formats.ts';
import type { RequestedService } from '../../../src/kernel/providers/requested-service.ts';
import { requestsReasoning, showsOutput } from '../../../src/kernel/providers/visible-output.ts';
import { estimateInput } from './estimate.ts';
import type { DecisionRequest } from './generated/types.ts';
import type { MeterOptions } from './meter-options.ts';

export interface CallPlan {
  readonly format: CallFormat;
  readonly body: Fields;
  readonly model: string;
  readonly inputTokens: number;
  /** The maximum of all alternative answers together. */
  readonly maxOutputTokens: number;
  /** Number of alternative answers. */
  readonly choices: number;
  /** True if every output token can be seen in the response, as far as the request says. */
  readonly showsOutput: boolean;
  readonly decision: DecisionRequest;
  /** True if the usage chunk has to be requested, and is left out of the stream. */
  readonly addsUsageChunk: boolean;
}

/** The least output that `fit` accepts, as in the gateway. */
const minOutputTokens = 256;

/** Returns undefined for a request that is not metered. The start of the path differs between providers. */
export function formatOfRequest(method: string, url: string): CallFormat | undefined {
  const { pathname } = new URL(url);
  return method === 'POST' ? allFormats.find(({ path }) => pathname.endsWith(path)) : undefined;
}

/** A request that cannot be metered is not sent. */
export class UnmeteredCallError extends Error {}

/** `areCatalogNames`: the provider is called by the names of its catalog. */
export function planCall(
  format: CallFormat,
  text: string,
  options: MeterOptions,
  areCatalogNames: boolean,
): CallPlan {
  const body = parsed(text);
  const { model } = body;
  if (typeof model !== 'string' || model === '') {
    throw new UnmeteredCallError('`model` must be a string.');
  }
  if (body.background === true) {
    throw new UnmeteredCallError('`background` is not supported: the usage of such a response is not seen.');
  }
  const inputTokens =
    options.estimateInputTokens?.(body) ?? estimateInput(format, body, model, options.unseenInputTokens);
  const maxOutputTokens = maxOutputOf(format, body, options.defaultMaxOutputTokens);
  const choices = choicesOf(format, body);
  const least = Math.min(maxOutputTokens, Math.max(minOutputTokens * choices, thinkingTokensOf(body) + 1));
  const isFitting = options.onLimit === 'fit' && format.request.output !== undefined;
  return {
    format,
    body,
    model,
    inputTokens,
    maxOutputTokens,
    choices,
    showsOutput: showsOutput({
      requestsReasoning: requestsReasoning(body),
      reasonsOnRequest: format.request.reasonsOnRequest,
      names: [model],
      areCatalogNames,
      canReason: undefined,
    }),
    decision: {
      model,
      input_tokens: inputTokens,
      max_output_tokens: maxOutputTokens,
      ...heldServiceOf(format, body),
      ...(isFitting && { fit: true, min_output_tokens: least }),
    },
    addsUsageChunk:
      format.request.requestsUsage &&
      body.stream === true &&
      fieldsOf(body.stream_options).include_usage !== true,
  };
}

/** Returns the body to send: with the maximum output that is held, and with the request for usage. */
export function bodyToSend(plan: CallPlan, maxOutputTokens: number, knowsNewerNames: boolean): string {
  const { format, body } = plan;
  const { output } = format.request;
  const changes: Record<string, unknown> = {};
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
