/** The JavaScript SDK of OpenTelemetry with its exporters, configured by their environment variables as users do. */
import Anthropic from '@anthropic-ai/sdk';
import { SpanStatusCode } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { useGatewayWorld } from '../../../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
beforeEach(() => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `${gateway.url}/otlp`);
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', `Authorization=Bearer%20${gateway.org.ownerKey}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const resource = (service: string) => resourceFromAttributes({ 'service.name': service });

async function runsOf(service: string): Promise<{ input_tokens: number; output_tokens: number }[]> {
  const key = gateway.org.ownerKey;
  const { json } = await gateway.world.request('GET', `/v1/runs?limit=200&workflow=${service}`, { key });
  return json.data;
}

async function emit(
  service: string,
  exporter: SpanExporter,
  calls: number,
  more: object = {},
): Promise<void> {
  const provider = new NodeTracerProvider({
    resource: resource(service),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxExportBatchSize: 20 })],
  });
  const tracer = provider.getTracer('a test');
  for (let call = 0; call < calls; call += 1) {
    const span = tracer.startSpan('chat gpt-test');
    span.setAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.usage.input_tokens': call,
      'gen_ai.usage.output_tokens': 2,
      'gen_ai.input.messages': 'a long prompt '.repeat(200),
      ...more,
    });
    span.setStatus({ code: SpanStatusCode.OK });
    span.end();
  }
  await provider.shutdown();
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test.each([
  ['Protobuf', ProtobufExporter],
  ['JSON', JsonExporter],
])('records every span once, as %s and compressed', async (encoding, Exporter) => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
  await emit(encoding, new Exporter(), 50);
  const runs = await runsOf(encoding);
  expect(runs).toHaveLength(50);
  expect(sum(runs.map(({ input_tokens }) => input_tokens))).toBe(sum([...Array(50).keys()]));
  expect(sum(runs.map(({ output_tokens }) => output_tokens))).toBe(100);
});

const messages = [{ role: 'user' as const, content: 'Say hello' }];
const streamed = { stream: true } as const;

/** Calls through the gateway, each with the id of its response. */
const calls: Record<string, (openai: OpenAI, anthropic: Anthropic) => Promise<string>> = {
  'a chat': async ({ chat }) => (await chat.completions.create({ model: 'gpt-test', messages })).id,
  'a streamed chat': async ({ chat }) => {
    let id = '';
    for await (const chunk of await chat.completions.create({ model: 'gpt-test', messages, ...streamed })) {
      id = chunk.id;
    }
    return id;
  },
  'a response': async ({ responses }) => (await responses.create({ model: 'gpt-test', input: 'Hello' })).id,
  'a streamed response': async ({ responses }) => {
    let id = '';
    for await (const event of await responses.create({ model: 'gpt-test', input: 'Hello', ...streamed })) {
      id = event.type === 'response.completed' ? event.response.id : id;
    }
    return id;
  },
  'a message': async (_, anthropic) => {
    const body = { model: 'claude-test', max_tokens: 50, messages };
    return (await anthropic.messages.create(body)).id;
  },
  'a streamed message': async (_, anthropic) => {
    const body = { model: 'claude-test', max_tokens: 50, messages };
    return (await anthropic.messages.stream(body).finalMessage()).id;
  },
};

let responses = 0;
test.each(Object.entries(calls))('does not record the span of %s through the gateway', async (name, call) => {
  responses += 1;
  gateway.provider.responseId = `of-a-test-number-${responses}`;
  const openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  const anthropic = new Anthropic({
    baseURL: `${gateway.url}/anthropic`,
    apiKey: gateway.key,
    maxRetries: 0,
  });
  const id = await call(openai, anthropic);
  expect(id).toContain(gateway.provider.responseId);
  const service = name.replaceAll(' ', '-');
  await emit(service, new ProtobufExporter(), 1, { 'gen_ai.response.id': id });
  expect(await runsOf(service)).toEqual([]);
  await emit(service, new ProtobufExporter(), 1, { 'gen_ai.response.id': `${id}-of-another-account` });
  expect(await runsOf(service)).toHaveLength(1);
});

test('records an event of the SDK for logs', async () => {
  const provider = new LoggerProvider({
    resource: resource('claude-code'),
    processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter() })],
  });
  provider.getLogger('com.anthropic.claude_code.events').emit({
    body: 'claude_code.api_request',
    attributes: {
      'event.name': 'api_request',
      'session.id': 'a session of its own',
      model: 'claude-test',
      input_tokens: 3,
      output_tokens: 4,
    },
  });
  await provider.shutdown();
  expect(await runsOf('claude-code')).toMatchObject([
    { input_tokens: 3, output_tokens: 4, chain_id: 'a session of its own' },
  ]);
});
