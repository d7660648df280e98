/**
 * Calls to models among spans: the GenAI semantic conventions (current and earlier ones), OpenInference, OpenLLMetry, the AI SDK and Langfuse. Spans of
 * agents, chains, tools and workflows are not calls, although some repeat the usage of the calls inside them.
 */
import { type Attributes, amountOf, countOf, labelsOf, names, tagsOf, textOf } from './attributes.ts';
import type { CallLabels, Convention, ModelCall } from './model-call.ts';
import type { TelemetryRecord } from './telemetry-record.ts';
import { tokenNames } from './token-names.ts';
import { costDetailsOf, tokensOf } from './tokens.ts';

/** `gen_ai.operation.name` and `llm.request.type` of calls: those of the conventions, and the functions of LiteLLM. */
const callOperations = new Set([
  'acompletion',
  'aembedding',
  'aimage_generation',
  'anthropic_messages',
  'arerank',
  'aresponses',
  'atext_completion',
  'chat',
  'completion',
  'embedding',
  'embeddings',
  'generate_content',
  'image_generation',
  'messages',
  'rerank',
  'responses',
  'text_completion',
]);
/** `openinference.span.kind` of calls. */
const callKinds = new Set(['LLM', 'EMBEDDING', 'DECISION']);
/** `langfuse.observation.type` of calls. */
const callObservations = new Set(['generation', 'embedding']);

/** `ai.operationId` of calls, such as `ai.generateText.doGenerate`: the spans around them repeat their usage. */
const sdkCall = /^ai\.\w+\.do[A-Z]\w*$/;

/** Coding agents, whose calls are taken from their events. */
const agentScopes = ['com.anthropic.claude_code', 'codex_'];

/** The host and port of this service, if it serves the gateway. */
export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns undefined for a span that is not a call to a model. */
export function callOfSpan(
  span: TelemetryRecord,
  gateway: GatewayAddress | undefined,
): ModelCall | undefined {
  const convention = conventionOf(span);
  if (convention === undefined || span.traceId === '' || span.spanId === '') {
    return undefined;
  }
  const { attributes } = span;
  const usage = tokensOf(span);
  const isFailed = span.isError || textOf(names.errorType, attributes) !== undefined;
  const isMissing = !usage.isKnown && !isFailed;
  if (isMissing && isInProgress(span)) {
    return undefined;
  }
  const spanKey = `${span.traceId}:${span.spanId}`;
  return {
    convention,
    instrumentation: span.scopeName,
    // A span without usage may be sent again with it.
    externalId: isMissing ? `${spanKey}:no-usage` : spanKey,
    chainId: span.traceId,
    spanKey,
    isEmbedding: isEmbedding(attributes),
    parentKey: span.parentSpanId === '' ? '' : `${span.traceId}:${span.parentSpanId}`,
    requestModel: textOf(names.requestModel, attributes),
    responseModel: textOf(names.responseModel, attributes),
    responseId: textOf(names.responseId, attributes),
    session: undefined,
    isRecordedElsewhere: textOf(names.runId, attributes) !== undefined || isSentTo(gateway, span),
    isFailed,
    startMs: span.startMs,
    endMs: span.endMs,
    usage,
    statedCost: amountOf(textOf(names.cost, attributes)) ?? costDetailsOf(attributes),
    serviceTier: textOf(names.serviceTier, attributes),
    labels: callLabels(span),
  };
}

function conventionOf({ attributes, scopeName }: TelemetryRecord): Convention | undefined {
  const isOfAgent = agentScopes.some((scope) => scopeName.startsWith(scope));
  const hasModel = textOf([...names.requestModel, ...names.responseModel], attributes) !== undefined;
  if (isOfAgent || !hasModel) {
    return undefined;
  }
  const kind = textOf(names.spanKind, attributes);
  if (kind !== undefined) {
    return callKinds.has(kind.toUpperCase()) ? 'openinference' : undefined;
  }
  if (textOf(names.frameworkKind, attributes) !== undefined) {
    return undefined;
  }
  const observation = textOf(names.observationType, attributes);
  if (observation !== undefined) {
    return callObservations.has(observation) ? 'langfuse' : undefined;
  }
  const sdkFunction = textOf(names.sdkFunction, attributes);
  if (sdkFunction !== undefined) {
    return sdkCall.test(sdkFunction) ? 'ai_sdk' : undefined;
  }
  const operation = textOf(names.operation, attributes);
  if (operation !== undefined && !callOperations.has(operation.toLowerCase())) {
    return undefined;
  }
  const isLlmetry = attributes.has('llm.request.type') || attributes.has('llm.vendor');
  const isCall = operation !== undefined || countOf(tokenNames.input, attributes) !== undefined;
  return !isCall ? undefined : isLlmetry ? 'openllmetry' : 'gen_ai';
}

function isInProgress({ endMs, attributes }: TelemetryRecord): boolean {
  return endMs === 0 || textOf(names.spanType, attributes) === 'pending_span';
}

function isEmbedding(attributes: Attributes): boolean {
  const operation = textOf([...names.operation, ...names.sdkFunction], attributes) ?? '';
  const kind = textOf([...names.spanKind, ...names.observationType], attributes) ?? '';
  return /embed/i.test(operation) || kind.toLowerCase() === 'embedding';
}

function callLabels({ attributes, resource }: TelemetryRecord): CallLabels {
  const provider = textOf(names.provider, attributes);
  return {
    ...labelsOf(attributes, resource),
    ...(provider !== undefined && { provider }),
    tags: tagsOf(attributes, resource),
  };
}

function isSentTo(gateway: GatewayAddress | undefined, { attributes }: TelemetryRecord): boolean {
  if (gateway === undefined) {
    return false;
  }
  const base = textOf(names.apiBase, attributes);
  const url = base === undefined ? undefined : urlOf(base);
  const host = url?.hostname ?? textOf(names.serverAddress, attributes);
  const port = url === undefined ? countOf(names.serverPort, attributes) : portOf(url);
  return (
    host?.toLowerCase() === gateway.host &&
    (port === gateway.port || (port === undefined && defaultPorts.includes(gateway.port)))
  );
}

const defaultPorts = [443, 80];

/** Returns the address of a service by its URL. */
export function addressOf(url: string): GatewayAddress | undefined {
  const parsed = urlOf(url);
  return parsed && { host: parsed.hostname, port: portOf(parsed) };
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
}
