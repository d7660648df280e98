/**
 * The attributes that are read, by name. All others, among them prompts and responses, are skipped without being decoded.
 */
import { type LabelDimension, labelDimensions, runDimensions } from '../../../contract/run-dimensions.ts';
import { tokensMax } from '../../../ledger/scope.ts';
import { tokenNames } from './token-names.ts';

export type AttributeValue = string | number | boolean;
export type Attributes = ReadonlyMap<string, AttributeValue>;

/** Names in order of preference: the current GenAI conventions, earlier ones, OpenInference, OpenLLMetry, others. */
export const names = {
  operation: ['gen_ai.operation.name', 'llm.request.type'],
  spanKind: ['openinference.span.kind'],
  frameworkKind: ['traceloop.span.kind'],
  observationType: ['langfuse.observation.type'],
  /** The function of the AI SDK that a span is about, before its version 7. */
  sdkFunction: ['ai.operationId'],
  provider: [
    'gen_ai.provider.name',
    'gen_ai.system',
    'llm.provider',
    'llm.system',
    'llm.vendor',
    'decision.provider',
    'ai.model.provider',
  ],
  requestModel: [
    'gen_ai.request.model',
    'llm.request.model',
    'llm.request.model_name',
    'llm.model_name',
    'embedding.model_name',
    'decision.request.model_name',
    'decision.model_name',
    'ai.model.id',
    'langfuse.observation.model.name',
  ],
  responseModel: [
    'gen_ai.response.model',
    'llm.response.model',
    'llm.response.model_name',
    'decision.response.model_name',
    'ai.response.model',
  ],
  responseId: ['gen_ai.response.id', 'ai.response.id'],
  cost: ['gen_ai.usage.cost', 'llm.cost.total', 'operation.cost', 'gen_ai.cost.total_cost'],
  /** Objects with counts or costs, as text. */
  usageDetails: ['langfuse.observation.usage_details'],
  costDetails: ['langfuse.observation.cost_details'],
  usageObject: ['metadata.usage_object'],
  providerMetadata: ['ai.response.providerMetadata'],
  serviceTier: [
    'openai.response.service_tier',
    'gen_ai.openai.response.service_tier',
    'anthropic.response.service_tier',
    'openai.request.service_tier',
    'gen_ai.openai.request.service_tier',
  ],
  errorType: ['error.type'],
  /** Spans that are sent when a call starts, and again when it has ended. */
  spanType: ['logfire.span_type'],
  serverAddress: ['server.address'],
  serverPort: ['server.port'],
  apiBase: ['gen_ai.openai.api_base', 'openai.api_base', 'llm.openai.api_base'],
  /** The run that the emitter says has recorded the call: its own word, or a captured response header of the gateway. */
  runId: ['purser.run_id', 'http.response.header.x-svc-run-id'],
} as const satisfies Record<string, readonly string[]>;

/** Attributes of the events of Claude Code and Codex. */
const eventNames = [
  'event.name',
  'event.kind',
  'event.timestamp',
  'event.sequence',
  'session.id',
  'conversation.id',
  'request_id',
  'model',
  'duration_ms',
  'cost_usd',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_creation_tokens',
  'input_token_count',
  'output_token_count',
  'cached_token_count',
  'cache_write_token_count',
  'reasoning_token_count',
  'service_tier',
  'user.email',
  'user.account_uuid',
  'user.account_id',
] as const;

const tagPrefix = 'purser.tag.';
const labelNames = labelDimensions.flatMap((name): readonly string[] => runDimensions[name].attributes);
const read = new Set<string>([
  ...Object.values(names).flat(),
  ...Object.values(tokenNames).flat(),
  ...labelNames,
  ...eventNames,
]);

export function isRead(name: string): boolean {
  return read.has(name) || name.startsWith(tagPrefix);
}

/** Longer names and values are skipped: none of those that are read are. */
export const nameBytesMax = 100;
export const valueBytesMax = 1_000;
/** Maximum number of attributes that are kept of a resource or a record: more than there are names, with all tags. */
export const attributesMax = 100;

/** Returns the first value that is there, of the record and then of its resource. */
export function attributeOf(
  wanted: readonly string[],
  ...sources: readonly Attributes[]
): AttributeValue | undefined {
  for (const source of sources) {
    for (const name of wanted) {
      const value = source.get(name);
      if (value !== undefined && value !== '') {
        return value;
      }
    }
  }
  return undefined;
}

export function textOf(wanted: readonly string[], ...sources: readonly Attributes[]): string | undefined {
  const value = attributeOf(wanted, ...sources);
  return value === undefined ? undefined : String(value);
}

/** Returns a count; some exporters send numbers as text. Undefined for anything else, and for more than a run can have. */
export function countOf(wanted: readonly string[], source: Attributes): number | undefined {
  const stated = attributeOf(wanted, source);
  const value = typeof stated === 'boolean' ? Number.NaN : Number(stated ?? Number.NaN);
  return value >= 0 && value <= tokensMax ? Math.ceil(value) : undefined;
}

/** Returns true if a count is stated and is not one. */
export function isInvalidCount(wanted: readonly string[], source: Attributes): boolean {
  return attributeOf(wanted, source) !== undefined && countOf(wanted, source) === undefined;
}

/** Returns an amount of USD that is not negative. */
export function amountOf(text: string | undefined): number | undefined {
  const amount = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(amount) && amount >= 0 ? amount : undefined;
}

export type Labels = Readonly<Partial<Record<LabelDimension, string>>>;

/** Returns the labels that their own attributes state, of the record and then of its resource. */
export function labelsOf(...sources: readonly Attributes[]): Labels {
  const labels: Partial<Record<LabelDimension, string>> = {};
  for (const name of labelDimensions) {
    const value = textOf(runDimensions[name].attributes, ...sources);
    if (value !== undefined && !(name === 'workflow' && isUnknownService(value))) {
      labels[name] = value;
    }
  }
  return labels;
}

/** SDKs name a service without a name `unknown_service`, with the name of the process. */
function isUnknownService(name: string): boolean {
  return name.startsWith('unknown_service');
}

export function tagsOf(...sources: readonly Attributes[]): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const source of sources) {
    for (const [name, value] of source) {
      if (name.startsWith(tagPrefix) && name.length > tagPrefix.length) {
        tags[name.slice(tagPrefix.length)] ??= String(value);
      }
    }
  }
  return tags;
}
