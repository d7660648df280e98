/** Plans a call of an SDK before its decision: its shape, the estimate of its input, and the maximum of its output. */
import {
  defaultMaxField,
  maxFieldsOf,
  type RequestedService,
  requestedServiceOf,
  thinkingTokensOf,
} from '../../../src/kernel/providers/call-request.ts';
import type { Shape } from '../../../src/kernel/providers/call-usage.ts';
import type { ErrorFormat } from '../../../src/kernel/providers/error-body.ts';
import { type Fields, fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { hidesReasoning, requestsReasoning } from '../../../src/kernel/providers/visible-output.ts';
import { estimateInput } from './estimate.ts';
import type { DecisionRequest } from './generated/types.ts';
import type { MeterOptions } from './meter-options.ts';

export interface CallPlan {
  readonly shape: Shape;
  readonly format: ErrorFormat;
  readonly body: Fields;
  readonly model: string;
  readonly inputTokens: number;
  /** Of all alternative answers together. */
  readonly maxOutputTokens: number;
  /** Number of alternative answers. */
  readonly choices: number;
  /** True if every output token can be seen in the response, as far as the request says. */
  readonly showsOutput: boolean;
  readonly decision: DecisionRequest;
  /** True if the usage chunk has to be requested, and is left out of the stream. */
  readonly addsUsageChunk: boolean;
}

/** The end of the path of each metered operation. The start differs between providers. */
const paths: readonly (readonly [RegExp, Shape])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/embeddings$/, 'embeddings'],
  [/\/messages$/, 'messages'],
];
/** The least output that `fit` accepts, as in the gateway. */
const minOutputTokens = 256;

/** Returns undefined for a request that is not metered. */
export function shapeOfRequest(method: string, url: string): Shape | undefined {
  const { pathname } = new URL(url);
  return method === 'POST' ? paths.find(([path]) => path.test(pathname))?.[1] : undefined;
}

export const formatOf = (shape: Shape): ErrorFormat => (shape === 'messages' ? 'anthropic' : 'openai');

/** A request that cannot be metered is not sent. */
export class UnmeteredCallError extends Error {}

export function planCall(shape: Shape, text: string, options: MeterOptions): CallPlan {
  const body = parsed(text);
  const { model } = body;
  if (typeof model !== 'string' || model === '') {
    throw new UnmeteredCallError('`model` must be a string.');
  }
  if (body.background === true) {
    throw new UnmeteredCallError('`background` is not supported: the usage of such a response is not seen.');
  }
  const inputTokens =
    options.estimateInputTokens?.(body) ?? estimateInput(shape, body, model, options.unseenInputTokens);
  const maxOutputTokens = maxOutputOf(shape, body, options.defaultMaxOutputTokens);
  const choices = choicesOf(shape, body);
  const least = Math.min(maxOutputTokens, Math.max(minOutputTokens * choices, thinkingTokensOf(body) + 1));
  const isFitting = options.onLimit === 'fit' && shape !== 'embeddings';
  return {
    shape,
    format: formatOf(shape),
    body,
    model,
    inputTokens,
    maxOutputTokens,
    choices,
    showsOutput: !requestsReasoning(body) && !hidesReasoning(model),
    decision: {
      model,
      input_tokens: inputTokens,
      max_output_tokens: maxOutputTokens,
      ...heldServiceOf(shape, body),
      ...(isFitting && { fit: true, min_output_tokens: least }),
    },
    addsUsageChunk:
      shape === 'chat' && body.stream === true && fieldsOf(body.stream_options).include_usage !== true,
  };
}

/** Returns the body to send: with the maximum output that is held, and with the request for usage. */
export function bodyToSend(plan: CallPlan, maxOutputTokens: number, isOpenAi: boolean): string {
  const { shape, body } = plan;
  const changes: Record<string, unknown> = {};
  if (shape !== 'embeddings') {
    const each = Math.floor(maxOutputTokens / choicesOf(shape, body));
    const present = maxFieldsOf[shape].filter((name) => typeof body[name] === 'number');
    for (const name of present) {
      changes[name] = Math.min(body[name] as number, each);
    }
    if (present.length === 0) {
      changes[defaultMaxField(shape, isOpenAi)] = each;
    }
  }
  if (plan.addsUsageChunk) {
    changes.stream_options = { ...fieldsOf(body.stream_options), include_usage: true };
  }
  return JSON.stringify({ ...body, ...changes });
}

/** Cheaper tiers than the usual one. The provider may serve a call in the usual one all the same, so that one is held. */
const cheaperTiers = new Set(['batch', 'flex']);

function heldServiceOf(shape: Shape, body: Fields): RequestedService {
  const { service_tier: tier, ...usual } = requestedServiceOf(shape, body);
  return tier === undefined || cheaperTiers.has(tier) ? usual : { ...usual, service_tier: tier };
}

function parsed(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    throw new UnmeteredCallError('The body is not valid JSON.');
  }
}

function maxOutputOf(shape: Shape, body: Fields, byDefault: number): number {
  if (shape === 'embeddings') {
    return 0;
  }
  const maxima = maxFieldsOf[shape].map((name) => body[name]).filter((value) => typeof value === 'number');
  return (maxima.length === 0 ? byDefault : Math.min(...maxima)) * choicesOf(shape, body);
}

/** Number of alternative answers: each may have the maximum. */
function choicesOf(shape: Shape, { n }: Fields): number {
  return shape === 'chat' && typeof n === 'number' && n >= 1 ? Math.floor(n) : 1;
}
