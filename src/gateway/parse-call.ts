/** Parses the body of a metered call: the fields that the gateway reads. All others are the business of the provider. */

import { maxFieldsOf, thinkingTokensOf } from '../kernel/providers/call-request.ts';
import type { Shape } from '../kernel/providers/call-usage.ts';
import { type Fields, fieldsOf } from '../kernel/providers/fields.ts';
import { requestsReasoning } from '../kernel/providers/visible-output.ts';
import { isStorable } from '../platform/http/message/json-errors.ts';
import { bodyValuesMax, embeddingValuesMax, surveyBody } from './body/body-survey.ts';
import type { CallMemory } from './body/call-memory.ts';
import { repeatedNames } from './body/edit-body.ts';
import { objectStartOf } from './body/json-positions.ts';
import { GatewayError } from './errors/dialect-errors.ts';

export interface ParsedCall {
  readonly shape: Shape;
  /** Empty once the response has begun: nothing is sent again then. */
  bytes: Buffer;
  /** Once the call is admitted, only members of the body that are neither objects nor lists, and short. */
  body: Fields;
  readonly model: string;
  readonly isStream: boolean;
  /** True if the client has requested the chunk with the usage itself. */
  readonly includesUsage: boolean;
  /** Fields of the body that limit the output. */
  readonly maxFields: readonly string[];
  /** The smallest of their values; undefined if there are none. */
  readonly maxOutputTokens: number | undefined;
  /** Number of alternative answers (`n`): each may have the maximum. */
  readonly choices: number;
  /** The output must be larger than this: the budget of extended thinking is a part of it. */
  readonly thinkingTokens: number;
  readonly requestsReasoning: boolean;
  readonly hasTools: boolean;
}

const modelMax = 200;
const choicesMax = 1_000;

/** `deployment` is the model that the path names: that of the body then means nothing, as in Azure. */
export function parseCall(shape: Shape, bytes: Buffer, memory: CallMemory, deployment?: string): ParsedCall {
  const body = parseObject(bytes, memory, shape === 'embeddings' ? embeddingValuesMax : bodyValuesMax);
  // Parsers disagree about repeated names: the provider might read another value than the one that was checked.
  const critical = [
    ...maxFieldsOf[shape],
    'model',
    'stream',
    'n',
    'stream_options',
    'stream_options.include_usage',
    'background',
    'service_tier',
    'speed',
    'inference_geo',
    'messages',
    'input',
    'system',
    'instructions',
    'tools',
    'functions',
    'tool_choice',
    'max_tool_calls',
    'web_search_options',
    'search_parameters',
    'plugins',
    'mcp_servers',
    'container',
    'prompt',
    'context_management',
    'thinking',
    'reasoning',
    'reasoning_effort',
  ];
  const [repeated] = repeatedNames(bytes, critical);
  if (repeated !== undefined) {
    throw invalid(repeated, 'must not be repeated');
  }
  const model = deployment ?? body.model;
  if (!isLabel(model)) {
    throw invalid('model', `must be a string of 1 to ${modelMax} characters`);
  }
  if (body.background === true) {
    // Such a response is created after the call, and its usage would not be seen.
    throw invalid('background', 'is not supported by the gateway');
  }
  const choices = shape === 'chat' && body.n != null ? Math.max(1, countOf(body.n, 'n')) : 1;
  if (choices > choicesMax) {
    throw invalid('n', `must be at most ${choicesMax}`);
  }
  const maxFields = maxFieldsOf[shape].filter((name) => body[name] != null);
  const maxima = maxFields.map((name) => countOf(body[name], name));
  return {
    shape,
    bytes,
    body,
    model,
    isStream: body.stream === true,
    includesUsage: fieldsOf(body.stream_options).include_usage === true,
    maxFields,
    maxOutputTokens: maxima.length === 0 ? undefined : Math.min(...maxima),
    choices,
    thinkingTokens: thinkingTokensOf(body),
    requestsReasoning: requestsReasoning(body),
    hasTools: Array.isArray(body.tools) || Array.isArray(body.functions),
  };
}

const noBytes = Buffer.alloc(0);

/** Drops what planning needed alone. The body may be hundreds of megabytes of heap. */
export function dropContent(call: ParsedCall): void {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(call.body)) {
    if (typeof value === 'string' ? value.length <= modelMax : typeof value !== 'object') {
      kept[name] = value;
    }
  }
  call.body = kept;
}

export function dropBytes(call: ParsedCall): void {
  call.bytes = noBytes;
}

/** Returns the end user that the body names, if there is one. */
export function endUserOf({ shape, body }: ParsedCall): string | undefined {
  const user = shape === 'messages' ? fieldsOf(body.metadata).user_id : (body.user ?? body.safety_identifier);
  return isLabel(user) ? user : undefined;
}

/** Other texts can neither be stored nor be limited. */
export function isLabel(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= modelMax && isStorable(value);
}

export function parseObject(bytes: Buffer, memory: CallMemory, valuesMax = bodyValuesMax): Fields {
  const { values } = surveyBody(bytes, valuesMax);
  memory.holdParsed(values);
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new GatewayError(400, 'invalid_json', 'The body is not valid JSON.');
  }
  if (objectStartOf(bytes) === undefined) {
    throw new GatewayError(400, 'invalid_json', 'The body must be a JSON object.');
  }
  return fieldsOf(body);
}

function countOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(name, 'must be a non-negative integer');
  }
  return value;
}

function invalid(name: string, rule: string): GatewayError {
  return new GatewayError(400, 'invalid_value', `\`${name}\` ${rule}.`, { field: name });
}
