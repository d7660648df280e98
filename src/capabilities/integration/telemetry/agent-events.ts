/** Finds model calls in log records: the events that Claude Code and Codex emit. */
import { hash } from 'node:crypto';
import { hasCalendarDate } from '../../../kernel/calendar-date.ts';
import { type Attributes, amountOf, countOf, labelsOf, names, tagsOf, textOf } from './attributes.ts';
import type { CallTokens, ModelCall } from './model-call.ts';
import type { TelemetryRecord } from './telemetry-record.ts';

/** Returns undefined for a record that is not a finished call. */
export function callOfEvent(record: TelemetryRecord): ModelCall | undefined {
  switch (eventOf(record)) {
    case 'claude_code.api_request':
      return claudeCodeCall(record);
    case 'codex.sse_event':
      // A response has many events; the last one has its usage.
      return textOf(['event.kind'], record.attributes) === 'response.completed' &&
        record.attributes.has('input_token_count')
        ? codexCall(record)
        : undefined;
    default:
      return undefined;
  }
}

const claudeCodeScope = 'com.anthropic.claude_code';

function eventOf({ eventName, scopeName, attributes }: TelemetryRecord): string {
  const named = textOf(['event.name'], attributes) ?? eventName;
  return scopeName.startsWith(claudeCodeScope) && !named.includes('.') ? `claude_code.${named}` : named;
}

/** Anthropic's counts of input leave cached tokens out. */
function claudeCodeCall(record: TelemetryRecord): ModelCall {
  const { attributes } = record;
  const count = (name: string) => countOf([name], attributes) ?? 0;
  const cached = count('cache_read_tokens');
  const cacheWrite = count('cache_creation_tokens');
  return {
    convention: 'claude_code',
    ...eventCall(record, textOf(['session.id'], attributes)),
    responseId: textOf(['request_id'], attributes),
    usage: tokens({
      input: count('input_tokens') + cached + cacheWrite,
      cached,
      cacheWrite,
      output: count('output_tokens'),
    }),
    statedCost: amountOf(textOf(['cost_usd'], attributes)),
    serviceTier: undefined,
    labels: { ...eventLabels(record), provider: 'anthropic' },
  };
}

/** OpenAI's counts of input and output contain cached tokens and reasoning. */
function codexCall(record: TelemetryRecord): ModelCall {
  const { attributes } = record;
  const count = (name: string) => countOf([name], attributes) ?? 0;
  return {
    convention: 'codex',
    ...eventCall(record, textOf(['conversation.id'], attributes)),
    responseId: undefined,
    usage: tokens({
      input: count('input_token_count'),
      cached: count('cached_token_count'),
      cacheWrite: count('cache_write_token_count'),
      output: count('output_token_count'),
      reasoning: count('reasoning_token_count'),
    }),
    statedCost: undefined,
    serviceTier: textOf(['service_tier'], attributes),
    labels: { ...eventLabels(record), provider: 'openai' },
  };
}

type EventCall = Pick<
  ModelCall,
  | 'instrumentation'
  | 'externalId'
  | 'chainId'
  | 'spanKey'
  | 'parentKey'
  | 'isEmbedding'
  | 'requestModel'
  | 'responseModel'
  | 'session'
  | 'isRecordedElsewhere'
  | 'isFailed'
  | 'startMs'
  | 'endMs'
>;

/** The chain of a session is the session, as for its calls through the gateway. */
function eventCall(record: TelemetryRecord, session: string | undefined): EventCall {
  const { attributes, traceId, startMs: recordedMs } = record;
  const timestamp = textOf(['event.timestamp'], attributes) ?? '';
  const eventMs = hasCalendarDate(timestamp) ? Date.parse(timestamp) : Number.NaN;
  const endMs = Number.isNaN(eventMs) ? recordedMs : eventMs;
  const chain = session ?? traceId;
  return {
    instrumentation: record.scopeName,
    externalId: `${chain === '' ? 'event' : chain}:${fingerprint(record)}`,
    chainId: chain,
    spanKey: '',
    parentKey: '',
    requestModel: textOf(['model'], attributes),
    responseModel: undefined,
    session,
    isEmbedding: false,
    isRecordedElsewhere: textOf(names.runId, attributes) !== undefined,
    isFailed: false,
    startMs: Math.max(0, endMs - (countOf(['duration_ms'], attributes) ?? 0)),
    endMs,
  };
}

/** Events have no id. One that is sent again has the same attributes and time. */
function fingerprint({ attributes, startMs, traceId, spanId }: TelemetryRecord): string {
  const sorted = [...attributes].sort(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify([startMs, traceId, spanId, sorted]), 'hex').slice(0, 32);
}

function eventLabels({ attributes, resource }: TelemetryRecord): ModelCall['labels'] {
  const user = userOf(attributes);
  const { customer_id: _, ...labels } = labelsOf(resource);
  const customer = textOf(['purser.customer'], resource);
  return {
    ...labels,
    ...(customer !== undefined && { customer_id: customer }),
    tags: { ...(user !== undefined && { user }), ...tagsOf(resource) },
  };
}

/** The developer, not a customer. The `user.id` of Claude Code is that of an installation. */
function userOf(attributes: Attributes): string | undefined {
  return textOf(['user.email', 'user.account_uuid', 'user.account_id'], attributes);
}

function tokens(
  counts: Pick<CallTokens, 'input' | 'cached' | 'cacheWrite' | 'output'> & { reasoning?: number },
) {
  const { input, cached, cacheWrite, output, reasoning = 0 } = counts;
  return {
    input: Math.max(input, cached + cacheWrite),
    cached,
    cacheWrite,
    cacheWrite1h: 0,
    output: Math.max(output, reasoning),
    reasoning,
    audioInput: 0,
    audioOutput: 0,
    imageInput: 0,
    cachedImage: 0,
    isKnown: true,
  };
}
