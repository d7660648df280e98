/** OpenTelemetry over HTTP: each convention, in both encodings, recorded once. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import {
  type Batch,
  type EventShape,
  logsJson,
  logsProtobuf,
  type SpanShape,
  spanId,
  traceId,
  tracesJson,
  tracesProtobuf,
} from '../../../../test/support/otlp.ts';

const world = useWorld({}, { baseUrl: 'https://purser.example' });
let org: TestOrg;
beforeAll(async () => {
  for (const model of ['gpt-test', 'claude-test', 'embed-test']) {
    const { status } = await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: {
        input_usd_per_million: '1',
        cached_input_usd_per_million: '0.1',
        cache_write_usd_per_million: '2',
        output_usd_per_million: '10',
        audio_input_usd_per_million: '20',
        audio_output_usd_per_million: '40',
        image_input_usd_per_million: '4',
        cached_image_input_usd_per_million: '0.2',
      },
    });
    expect(status).toBe(200);
  }
  world.clock.advanceSeconds(60);
});
beforeEach(async () => {
  org = await world.createOrg();
});

type Signal = 'traces' | 'logs';

const json = (body: object) => ({
  raw: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});
const protobuf = (raw: Buffer) => ({ raw, headers: { 'content-type': 'application/x-protobuf' } });

function send(
  signal: Signal,
  body: ReturnType<typeof json> | ReturnType<typeof protobuf>,
  key = org.ownerKey,
) {
  return world.request('POST', `/otlp/v1/${signal}`, { key, ...body });
}

const sendSpans = (batch: Batch<SpanShape>) => send('traces', json(tracesJson(batch)));
const sendEvents = (batch: Batch<EventShape>) => send('logs', json(logsJson(batch)));

async function runs(): Promise<Record<string, unknown>[]> {
  const { json: page } = await world.request('GET', '/v1/runs?limit=200', { key: org.ownerKey });
  return page.data;
}

const nowMs = () => world.clock.now().getTime();
const at = () => ({ startMs: nowMs() - 3_000, endMs: nowMs() - 1_000 });

let spans = 0;
const nextSpan = () => {
  spans += 1;
  return spanId(spans);
};

function chat(more: Partial<SpanShape['attributes']> = {}, shape: Partial<SpanShape> = {}): SpanShape {
  return {
    spanId: nextSpan(),
    ...at(),
    ...shape,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      ...(more as SpanShape['attributes']),
    },
  };
}

const usual = { model: 'gpt-test', status: 'succeeded', chain_id: traceId };

/** Each shape as its emitters send it, and what is recorded of it. */
const shapes: Record<string, { batch: Batch<Omit<SpanShape, 'spanId' | 'startMs' | 'endMs'>>; run: object }> =
  {
    'the GenAI conventions of 2026, in their own repository': {
      batch: {
        records: [
          {
            attributes: {
              'gen_ai.operation.name': 'chat',
              'gen_ai.provider.name': 'openai',
              'gen_ai.request.model': 'gpt-test',
              'gen_ai.usage.input_tokens': 1_000,
              'gen_ai.usage.cache_read.input_tokens': 400,
              'gen_ai.usage.cache_write.input_tokens': 100,
              'gen_ai.usage.text.input_tokens': 400,
              'gen_ai.usage.image.input_tokens': 300,
              'gen_ai.usage.image.cache_read.input_tokens': 100,
              'gen_ai.usage.audio.input_tokens': 300,
              'gen_ai.usage.audio.cache_read.input_tokens': 200,
              'gen_ai.usage.output_tokens': 90,
              'gen_ai.usage.audio.output_tokens': 40,
              'gen_ai.usage.reasoning.output_tokens': 30,
            },
          },
        ],
      },
      run: {
        ...usual,
        input_tokens: 1_000,
        cached_input_tokens: 400,
        cache_write_tokens: 100,
        output_tokens: 90,
        // 200 × 1 + 300 × 0.1 + 100 × 0.2 + 100 × 2 + 100 × 20 + 200 × 4 + 50 × 10 + 40 × 40 dollars per million.
        cost_usd: '0.00535',
      },
    },
    'the GenAI conventions 1.40': {
      batch: {
        resource: {
          'service.name': 'support-bot',
          'deployment.environment.name': 'prod',
          'team.id': 'core',
          'purser.project': 'search',
        },
        records: [
          {
            attributes: {
              'gen_ai.operation.name': 'chat',
              'gen_ai.provider.name': 'openai',
              'gen_ai.request.model': 'gpt-test',
              'gen_ai.response.model': 'gpt-test-2026-01-01',
              'gen_ai.response.id': 'chatcmpl-current-conventions',
              'gen_ai.response.finish_reasons': ['stop'],
              'gen_ai.usage.input_tokens': 1_000,
              'gen_ai.usage.cache_read.input_tokens': 400,
              'gen_ai.usage.cache_creation.input_tokens': 100,
              'gen_ai.usage.output_tokens': 50,
              'gen_ai.usage.reasoning.output_tokens': 30,
              'server.address': 'api.openai.com',
              'server.port': 443,
              'enduser.id': 'customer-7',
              'purser.tag.feature': 'summaries',
              'gen_ai.input.messages': '[{"role":"user","content":"a secret prompt"}]',
            },
          },
        ],
      },
      run: {
        ...usual,
        provider: 'openai',
        workflow: 'support-bot',
        deployment: 'prod',
        team: 'core',
        project: 'search',
        customer_id: 'customer-7',
        tags: { feature: 'summaries' },
        input_tokens: 1_000,
        cached_input_tokens: 400,
        cache_write_tokens: 100,
        output_tokens: 50,
        // 500 × 1 + 400 × 0.1 + 100 × 2 + 50 × 10 dollars per million.
        cost_usd: '0.00124',
        latency_ms: 2_000,
        metadata: {
          telemetry: 'gen_ai',
          response_id: 'chatcmpl-current-conventions',
          response_model: 'gpt-test-2026-01-01',
        },
      },
    },
    'the GenAI conventions before 1.27': {
      batch: {
        records: [
          {
            attributes: {
              'gen_ai.system': 'openai',
              'gen_ai.request.model': 'gpt-test',
              'gen_ai.usage.prompt_tokens': 10,
              'gen_ai.usage.completion_tokens': 5,
              'gen_ai.prompt': 'a secret prompt',
            },
          },
        ],
      },
      run: { ...usual, provider: 'openai', input_tokens: 10, output_tokens: 5, cost_usd: '0.00006' },
    },
    OpenInference: {
      batch: {
        records: [
          {
            attributes: {
              'openinference.span.kind': 'LLM',
              'llm.provider': 'anthropic',
              'llm.model_name': 'claude-test',
              'llm.token_count.prompt': 100,
              'llm.token_count.prompt_details.cache_read': 60,
              'llm.token_count.prompt_details.cache_write': 10,
              'llm.token_count.completion': 10,
              'llm.token_count.completion_details.reasoning': 4,
              'llm.token_count.total': 110,
              'llm.cost.total': 0.5,
              'user.id': 'customer-8',
              'input.value': 'a secret prompt',
            },
          },
        ],
      },
      run: {
        model: 'claude-test',
        provider: 'anthropic',
        customer_id: 'customer-8',
        input_tokens: 100,
        cached_input_tokens: 60,
        cache_write_tokens: 10,
        output_tokens: 10,
        // The price of the catalog, not the amount that the emitter states.
        cost_usd: '0.000156',
        metadata: { telemetry: 'openinference', stated_cost_usd: '0.5' },
      },
    },
    'pydantic-ai before 1.0': {
      batch: {
        records: [
          {
            attributes: {
              'gen_ai.operation.name': 'chat',
              'gen_ai.system': 'openai',
              'gen_ai.request.model': 'gpt-test',
              'gen_ai.usage.input_tokens': 1_000,
              'gen_ai.usage.output_tokens': 100,
              'gen_ai.usage.details.cached_tokens': 300,
              'gen_ai.usage.details.input_audio_tokens': 200,
              'gen_ai.usage.details.reasoning_tokens': 50,
            },
          },
        ],
      },
      run: {
        ...usual,
        input_tokens: 1_000,
        cached_input_tokens: 300,
        output_tokens: 100,
        // 500 × 1 + 300 × 0.1 + 200 × 20 + 100 × 10 dollars per million.
        cost_usd: '0.00553',
        metadata: { telemetry: 'gen_ai' },
      },
    },
    'the AI SDK 6': {
      batch: {
        records: [
          {
            attributes: {
              'ai.operationId': 'ai.streamText.doStream',
              'ai.model.provider': 'openai.chat',
              'ai.model.id': 'gpt-test',
              'ai.usage.inputTokens': 1_000,
              'ai.usage.cachedInputTokens': 300,
              'ai.usage.inputTokenDetails.cacheReadTokens': 300,
              'ai.usage.inputTokenDetails.cacheWriteTokens': 200,
              'ai.usage.outputTokens': 100,
              'ai.usage.outputTokenDetails.reasoningTokens': 50,
            },
          },
        ],
      },
      run: {
        ...usual,
        provider: 'openai.chat',
        input_tokens: 1_000,
        cached_input_tokens: 300,
        cache_write_tokens: 200,
        output_tokens: 100,
        // 500 × 1 + 300 × 0.1 + 200 × 2 + 100 × 10 dollars per million.
        cost_usd: '0.00193',
        metadata: { telemetry: 'ai_sdk' },
      },
    },
    'OpenInference embeddings': {
      batch: {
        records: [
          {
            attributes: {
              'openinference.span.kind': 'EMBEDDING',
              'embedding.model_name': 'embed-test',
              'llm.token_count.prompt': 100,
            },
          },
        ],
      },
      run: { model: 'embed-test', input_tokens: 100, output_tokens: 0, cost_usd: '0.0001' },
    },
    OpenLLMetry: {
      batch: {
        resource: { 'service.name': 'unknown_service:node' },
        records: [
          {
            attributes: {
              'llm.request.type': 'chat',
              'gen_ai.system': 'OpenAI',
              'gen_ai.request.model': 'gpt-test',
              'gen_ai.usage.prompt_tokens': 30,
              'gen_ai.usage.completion_tokens': 3,
              'gen_ai.usage.cache_read_input_tokens': 20,
              'llm.usage.total_tokens': 33,
              'gen_ai.openai.api_base': 'https://api.openai.com/v1/',
              'traceloop.workflow.name': 'joke-writer',
              'traceloop.association.properties.customer_id': 'customer-9',
              'gen_ai.prompt.0.content': 'a secret prompt',
            },
          },
        ],
      },
      run: {
        ...usual,
        provider: 'OpenAI',
        workflow: 'joke-writer',
        customer_id: 'customer-9',
        input_tokens: 30,
        cached_input_tokens: 20,
        output_tokens: 3,
        cost_usd: '0.000042',
        metadata: { telemetry: 'openllmetry' },
      },
    },
  };

describe.each(Object.entries(shapes))('a span of %s', (_, { batch, run }) => {
  const asSent = (): Batch<SpanShape> => ({
    ...batch,
    records: batch.records.map((record) => ({ ...record, spanId: nextSpan(), ...at() })),
  });

  test('becomes a run, as JSON', async () => {
    const sent = asSent();
    const answer = await sendSpans(sent);
    expect([answer.status, answer.json]).toEqual([200, {}]);
    expect(await runs()).toMatchObject([
      { external_id: `${traceId}:${sent.records[0]?.spanId}`, marks: ['backfill'], ...run },
    ]);
  });

  test('becomes the same run, as Protobuf', async () => {
    const answer = await send('traces', protobuf(tracesProtobuf(asSent())));
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers['content-type']).toBe('application/x-protobuf');
    expect(await runs()).toMatchObject([run]);
  });
});

test('content of calls is not stored', async () => {
  for (const { batch } of Object.values(shapes)) {
    await sendSpans({
      ...batch,
      records: batch.records.map((one) => ({ ...one, spanId: nextSpan(), ...at() })),
    });
  }
  const [rows] = [
    await world.db.query('SELECT to_jsonb(runs.*) AS row FROM runs WHERE org_id = $1', [org.id]),
  ];
  expect(rows.length).toBe(Object.keys(shapes).length);
  expect(JSON.stringify(rows)).not.toContain('secret');
  expect(world.logLines.join('')).not.toContain('a secret prompt');
});

describe('spans that are not calls', () => {
  test.each([
    ['an agent with the usage of its calls', { 'gen_ai.operation.name': 'invoke_agent' }],
    ['a tool', { 'gen_ai.operation.name': 'execute_tool' }],
    ['a workflow', { 'gen_ai.operation.name': 'invoke_workflow' }],
    ['a chain of OpenInference', { 'openinference.span.kind': 'CHAIN' }],
    ['a function of the AI SDK around its calls', { 'ai.operationId': 'ai.streamText' }],
    ['a task of OpenLLMetry', { 'traceloop.span.kind': 'task' }],
  ])('spans that are not calls are accepted and not recorded: %s', async (_, attributes) => {
    const answer = await sendSpans({ records: [chat(attributes)] });
    expect(answer.json).toEqual({});
    expect(await runs()).toEqual([]);
  });

  test('spans that are not calls are accepted and not recorded: other spans, and those of coding agents, whose events are recorded', async () => {
    expect((await sendSpans({ records: [{ ...chat(), attributes: { 'http.route': '/' } }] })).json).toEqual(
      {},
    );
    await sendSpans({ scope: 'com.anthropic.claude_code.tracing', records: [chat()] });
    expect(await runs()).toEqual([]);
  });
});

const claudeCodeEvent = (more: EventShape['attributes'] = {}): Batch<EventShape> => ({
  resource: { 'service.name': 'claude-code', department: 'engineering', 'team.id': 'platform' },
  scope: 'com.anthropic.claude_code.events',
  records: [
    {
      timeMs: nowMs() - 500,
      body: 'claude_code.api_request',
      attributes: {
        'event.name': 'api_request',
        'event.timestamp': new Date(nowMs() - 500).toISOString(),
        'event.sequence': 12,
        'session.id': 'session-1',
        'user.id': 'an installation',
        'user.email': 'ada@example.com',
        model: 'claude-test',
        input_tokens: '10',
        output_tokens: '5',
        cache_read_tokens: '1000',
        cache_creation_tokens: '100',
        cost_usd: '0.25',
        duration_ms: '2000',
        ...more,
      },
    },
  ],
});

const codexEvent = (more: EventShape['attributes'] = {}): Batch<EventShape> => ({
  resource: { 'service.name': 'codex_cli_rs' },
  scope: 'codex_otel.log_only',
  records: [
    {
      timeMs: nowMs() - 500,
      eventName: 'event otel/src/events/session_telemetry.rs:934',
      attributes: {
        'event.name': 'codex.sse_event',
        'event.kind': 'response.completed',
        'event.timestamp': new Date(nowMs() - 500).toISOString(),
        'conversation.id': 'conversation-1',
        'user.email': 'ada@example.com',
        model: 'gpt-test',
        input_token_count: '1000',
        output_token_count: '50',
        cached_token_count: 600,
        reasoning_token_count: 20,
        tool_token_count: '1050',
        ...more,
      },
    },
  ],
});

const agents = {
  'Claude Code': {
    event: claudeCodeEvent,
    run: {
      model: 'claude-test',
      provider: 'anthropic',
      workflow: 'claude-code',
      department: 'engineering',
      team: 'platform',
      customer_id: null,
      tags: { user: 'ada@example.com' },
      chain_id: 'session-1',
      input_tokens: 1_110,
      cached_input_tokens: 1_000,
      cache_write_tokens: 100,
      output_tokens: 5,
      cost_usd: '0.00036',
      latency_ms: 2_000,
      metadata: { telemetry: 'claude_code', stated_cost_usd: '0.25' },
    },
  },
  Codex: {
    event: codexEvent,
    run: {
      model: 'gpt-test',
      provider: 'openai',
      workflow: 'codex_cli_rs',
      tags: { user: 'ada@example.com' },
      chain_id: 'conversation-1',
      input_tokens: 1_000,
      cached_input_tokens: 600,
      output_tokens: 50,
      cost_usd: '0.00096',
      metadata: { telemetry: 'codex' },
    },
  },
} as const;

describe.each(Object.entries(agents))('an event of %s', (_, { event, run }) => {
  test('becomes a run in either encoding, and once if it is sent in both', async () => {
    expect((await sendEvents(event())).json).toEqual({});
    expect((await send('logs', protobuf(logsProtobuf(event())))).text).toBe('');
    expect(await runs()).toMatchObject([run]);
  });

  test('is another run if its time or its counts differ', async () => {
    await sendEvents(event());
    await sendEvents(event({ 'event.timestamp': new Date(nowMs() - 400).toISOString() }));
    expect(await runs()).toHaveLength(2);
  });

  test('is not recorded if the calls of its session went through the gateway or were admitted', async () => {
    const admitted = { model: run.model, input_tokens: 5, output_tokens: 5, chain_id: run.chain_id };
    const { status } = await world.request('POST', '/v1/runs', { key: org.ownerKey, body: admitted });
    expect(status).toBe(201);
    expect((await sendEvents(event())).json).toEqual({});
    expect(await runs()).toMatchObject([{ input_tokens: 5 }]);
  });
});

test('other events of coding agents are not recorded', async () => {
  await sendEvents(codexEvent({ 'event.kind': 'response.created' }));
  await sendEvents(codexEvent({ 'event.name': 'codex.api_request' }));
  await sendEvents(claudeCodeEvent({ 'event.name': 'tool_result' }));
  expect(await runs()).toEqual([]);
});

describe('a call is recorded once', () => {
  test('a call is recorded once if its span is sent twice, also in one request, and with other values', async () => {
    const span = chat();
    await sendSpans({ records: [span, span] });
    await sendSpans({ records: [span] });
    const again = { ...span, attributes: { ...span.attributes, 'gen_ai.usage.output_tokens': 21 } };
    await sendSpans({ records: [again] });
    expect(await runs()).toMatchObject([{ output_tokens: 20, cost_usd: '0.0003' }]);
  });

  test('a call is recorded once if two spans are about one response, in one request, in two, and in two at once', async () => {
    const one = () => chat({ 'gen_ai.response.id': 'chatcmpl-the-same-response' });
    await Promise.all([
      sendSpans({ records: [one(), one()] }),
      sendSpans({ records: [one()] }),
      sendSpans({ records: [one(), chat()] }),
    ]);
    await sendSpans({ records: [one()] });
    expect(await runs()).toHaveLength(2);
  });

  test('two calls are recorded if two responses have the same short id, which servers use again', async () => {
    await sendSpans({ records: [chat({ 'gen_ai.response.id': 'chatcmpl-485' })] });
    await sendSpans({ records: [chat({ 'gen_ai.response.id': 'chatcmpl-485' })] });
    expect(await runs()).toHaveLength(2);
  });

  test('a call is recorded once if a span of a framework is around that of the SDK', async () => {
    const inner = chat({ 'gen_ai.usage.input_tokens': 7 });
    const outer = chat();
    await sendSpans({ records: [{ ...inner, parentSpanId: outer.spanId }, outer] });
    expect(await runs()).toMatchObject([{ input_tokens: 7 }]);
  });

  test('a call is recorded once by the gateway, if it was sent there', async () => {
    await sendSpans({
      records: [
        chat({ 'server.address': 'purser.example', 'server.port': 443 }),
        chat({ 'server.address': 'PURSER.example' }),
        chat({ 'gen_ai.openai.api_base': 'https://purser.example/openai/v1' }),
        chat({ 'http.response.header.x-svc-run-id': 'run_1' }),
        chat({ 'http.response.header.x-svc-run-id': ['run_1'] }),
        chat({ 'purser.run_id': 'run_1' }),
      ],
    });
    expect(await runs()).toEqual([]);
    await sendSpans({ records: [chat({ 'server.address': 'purser.example', 'server.port': 11_434 })] });
    expect(await runs()).toHaveLength(1);
  });

  test('the id of a run of another organization joins nothing, and is answered like any other id', async () => {
    const other = await world.createOrg();
    const body = { model: 'gpt-4o', input_tokens: 5, output_tokens: 5 };
    const { json: foreign } = await world.request('POST', '/v1/runs', { key: other.ownerKey, body });
    const answers: unknown[] = [];
    for (const id of [foreign.id, 'run_that_does_not_exist']) {
      const labels = {
        'purser.run_id': id,
        'purser.tag.feature': 'joined',
        'gen_ai.request.model': 'gpt-4o',
      };
      const answer = await sendSpans({ records: [chat(labels)] });
      answers.push([answer.status, answer.json]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(await runs()).toEqual([]);
    const after = await world.request('GET', `/v1/runs/${foreign.id}`, { key: other.ownerKey });
    expect(after.json).toEqual(foreign);
  });

  test('a call is recorded once for each org', async () => {
    const other = await world.createOrg();
    const span = chat({ 'gen_ai.response.id': 'chatcmpl-of-two-organizations' });
    await sendSpans({ records: [span] });
    await send('traces', json(tracesJson({ records: [span] })), other.ownerKey);
    org = other;
    expect(await runs()).toHaveLength(1);
  });
});

describe('reports that disagree', () => {
  const withoutUsage = (shape: Partial<SpanShape> = {}): SpanShape => {
    const { attributes, ...rest } = chat({}, shape);
    const { 'gen_ai.usage.input_tokens': _, 'gen_ai.usage.output_tokens': __, ...others } = attributes;
    return { ...rest, attributes: others };
  };
  const costs = async () => (await runs()).map(({ cost_usd }) => cost_usd).sort();

  test.each([
    ['in one request', (spans: SpanShape[]) => [spans]],
    ['one by one', (spans: SpanShape[]) => spans.map((span) => [span])],
  ])('the usage of a framework counts if the stream of the SDK in it has none, %s', async (_, batches) => {
    const outer = chat();
    const inner = withoutUsage({ parentSpanId: outer.spanId });
    for (const records of batches([inner, outer])) {
      await sendSpans({ records });
    }
    expect((await costs()).filter((cost) => cost !== '0')).toEqual(['0.0003']);
  });

  test('an outer span with the sum of several inner ones is not recorded', async () => {
    const outer = chat({ 'gen_ai.usage.input_tokens': 200, 'gen_ai.usage.output_tokens': 40 });
    const inner = [1, 2].map(() => chat({}, { parentSpanId: outer.spanId }));
    await sendSpans({ records: [...inner, outer] });
    expect(await costs()).toEqual(['0.0003', '0.0003']);
  });

  test('a response without usage does not stand in the way of a later report with it', async () => {
    const id = { 'gen_ai.response.id': 'chatcmpl-of-a-stream-without-usage' };
    const first = withoutUsage();
    await sendSpans({ records: [{ ...first, attributes: { ...first.attributes, ...id } }] });
    await sendSpans({ records: [chat(id)] });
    await sendSpans({ records: [chat(id)] });
    expect(await costs()).toEqual(['0', '0.0003']);
  });

  test('an outer span that arrives before its inner one is the run', async () => {
    const outer = chat();
    await sendSpans({ records: [outer] });
    const answer = await sendSpans({ records: [chat({}, { parentSpanId: outer.spanId })] });
    expect(answer.json).toEqual({});
    expect(await costs()).toEqual(['0.0003']);
  });

  test('a batch that a collector repeats in one request is recorded once', async () => {
    const outer = chat();
    const inner = chat({}, { parentSpanId: outer.spanId });
    await sendSpans({ records: [outer, inner, outer, inner] });
    expect(await costs()).toEqual(['0.0003']);
  });

  test.each([
    ['in one request', (spans: SpanShape[]) => [spans]],
    ['one by one', (spans: SpanShape[]) => spans.map((span) => [span])],
  ])('embeddings inside of a chat are a call of their own, %s', async (_, batches) => {
    const outer = chat();
    const embeddings = { 'gen_ai.operation.name': 'embeddings', 'gen_ai.request.model': 'embed-test' };
    const inner = chat({ ...embeddings, 'gen_ai.usage.output_tokens': 0 }, { parentSpanId: outer.spanId });
    for (const records of batches([inner, outer])) {
      await sendSpans({ records });
    }
    expect(await costs()).toEqual(['0.0001', '0.0003']);
  });

  test('two spans that name each other as parents are two calls', async () => {
    const [one, other] = [chat(), chat()] as const;
    await sendSpans({
      records: [
        { ...one, parentSpanId: other.spanId },
        { ...other, parentSpanId: one.spanId },
      ],
    });
    expect(await runs()).toHaveLength(2);
  });

  test('a span that is sent when its call starts, and again when it has ended, is one run', async () => {
    const started = withoutUsage();
    await sendSpans({ records: [{ ...started, endMs: 0 }] });
    const pending = { 'logfire.span_type': 'pending_span' };
    await sendSpans({
      records: [
        {
          ...withoutUsage({ parentSpanId: started.spanId }),
          attributes: { ...started.attributes, ...pending },
        },
      ],
    });
    expect(await runs()).toEqual([]);
    await sendSpans({ records: [chat({}, { spanId: started.spanId })] });
    expect(await costs()).toEqual(['0.0003']);
  });

  test('a span with ended pieces has the usage of the piece that states it', async () => {
    const piece = withoutUsage();
    await sendSpans({ records: [piece] });
    await sendSpans({ records: [piece] });
    await sendSpans({ records: [chat({}, { spanId: piece.spanId })] });
    expect(await costs()).toEqual(['0', '0.0003']);
  });

  test('another call with the ids of a recorded one is rejected with the reason', async () => {
    const span = chat();
    const other = { ...span, attributes: { ...span.attributes, 'gen_ai.usage.input_tokens': 7_000 } };
    await sendSpans({ records: [span] });
    const answer = await sendSpans({ records: [other] });
    expect(answer.json.partialSuccess).toEqual({
      rejectedSpans: '1',
      errorMessage: 'external_id: Another call with other usage is recorded under this id.',
    });
    const withLabel = { ...span, attributes: { ...span.attributes, 'enduser.id': 'customer-1' } };
    expect((await sendSpans({ records: [withLabel] })).json).toEqual({});
    expect(await costs()).toEqual(['0.0003']);
  });
});

test.each([
  ['negative', -5],
  ['text', 'many'],
  ['not a number', Number.NaN],
  ['more than a run can have', 1e18],
  ['infinite', Number.POSITIVE_INFINITY],
  ['a boolean', true],
])('an input count that is %s is not charged, and the run is marked', async (_, count) => {
  const span = chat({ 'gen_ai.usage.input_tokens': count });
  expect((await send('traces', protobuf(tracesProtobuf({ records: [span] })))).status).toBe(200);
  expect(await runs()).toMatchObject([
    {
      input_tokens: 0,
      output_tokens: 20,
      cost_usd: '0.0002',
      marks: expect.arrayContaining(['usage_missing']),
    },
  ]);
});

describe('recorded past the checks', () => {
  test('a call counts in a limit that is used up, and is never denied', async () => {
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
      key: org.ownerKey,
      body: { cap_usd: '0.0001' },
    });
    expect((await sendSpans({ records: [chat(), chat()] })).json).toEqual({});
    expect(await runs()).toHaveLength(2);
    const denied = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'gpt-test', input_tokens: 1, output_tokens: 1 },
    });
    expect(denied.json.error).toMatchObject({ code: 'spend_cap_exceeded', details: { spent_usd: '0.0006' } });
  });

  test('at the time of the call; one in the future is recorded now', async () => {
    const yesterday = nowMs() - 86_400_000;
    const future = nowMs() + 3_600_000;
    await sendSpans({ records: [chat({}, { startMs: yesterday, endMs: yesterday + 10 })] });
    expect(await runs()).toMatchObject([{ charged_at: new Date(yesterday).toISOString() }]);
    await sendSpans({ records: [chat({}, { startMs: future, endMs: future + 10 })] });
    expect((await runs()).map(({ charged_at }) => charged_at)).toContain(new Date(nowMs()).toISOString());
  });

  test('a model without a price at the stated cost, or else at no cost to be repriced', async () => {
    const unpriced = { 'gen_ai.request.model': 'no-price' };
    await sendSpans({ records: [chat({ ...unpriced, 'gen_ai.usage.cost': 0.0625 })] });
    await sendSpans({ records: [chat(unpriced, { startMs: nowMs() - 9_000 })] });
    expect(await runs()).toMatchObject([
      { cost_usd: '0.0625', marks: ['backfill'] },
      { cost_usd: '0', input_tokens: 100, price_source: 'none', marks: expect.arrayContaining(['unpriced']) },
    ]);
  });

  test('the name that the provider reports is priced if the requested one has no price', async () => {
    const azure = { 'gen_ai.request.model': 'my-deployment', 'gen_ai.response.model': 'gpt-test' };
    await sendSpans({ records: [chat(azure)] });
    expect(await runs()).toMatchObject([{ model: 'gpt-test', cost_usd: '0.0003' }]);
  });

  test('a failed call is free, and one without usage is marked', async () => {
    const { attributes, ...shape } = chat();
    const { 'gen_ai.usage.input_tokens': _, 'gen_ai.usage.output_tokens': __, ...rest } = attributes;
    await sendSpans({ records: [{ ...shape, attributes: rest, statusCode: 2 }] });
    await sendSpans({
      records: [{ ...shape, spanId: nextSpan(), startMs: shape.startMs - 9_000, attributes: rest }],
    });
    expect(await runs()).toMatchObject([
      { status: 'failed', cost_usd: '0', marks: ['backfill'] },
      { status: 'succeeded', cost_usd: '0', marks: expect.arrayContaining(['usage_missing']) },
    ]);
  });

  test('locked values of the key take precedence', async () => {
    const key = await world.mintKey(org, 'member', ['runs:write'], {
      attribution: { team: 'fixed', tags: { env: 'prod' } },
      attribution_locked: ['team', 'tags'],
    });
    const batch = {
      resource: { 'team.id': 'stated', 'purser.tag.env': 'dev', 'purser.tag.app': 'x' },
      records: [chat()],
    };
    expect((await send('traces', json(tracesJson(batch)), key.secret)).json).toEqual({});
    expect(await runs()).toMatchObject([{ team: 'fixed', tags: { env: 'prod', app: 'x' } }]);
  });
});

test('a span that cannot be recorded is rejected alone', async () => {
  const { attributes, ...shape } = chat();
  const nameless = { ...attributes, 'gen_ai.request.model': 'x'.repeat(201) };
  const batch = { records: [{ ...shape, attributes: nameless }, chat()] };
  const answer = await sendSpans(batch);
  expect([answer.status, answer.json.partialSuccess]).toEqual([
    200,
    { rejectedSpans: '1', errorMessage: 'A call without the name of a model cannot be recorded.' },
  ]);
  const inProtobuf = await world.request('POST', '/otlp/v1/traces', {
    key: org.ownerKey,
    ...protobuf(tracesProtobuf({ records: [{ ...shape, attributes: nameless }] })),
  });
  const reader = new BinaryReader(Buffer.from(inProtobuf.text, 'latin1'));
  expect([
    reader.tag()[0],
    reader.uint32(),
    reader.tag()[0],
    String(reader.int64()),
    reader.tag()[0],
  ]).toEqual([1, expect.any(Number), 1, '1', 2]);
  expect(await runs()).toHaveLength(1);
});

test('hostile values of single spans do not affect the others', async () => {
  const huge = chat({ 'gen_ai.usage.input_tokens': 1e12, 'gen_ai.usage.output_tokens': 1e12 });
  const hostile = [
    ...Array.from({ length: 3 }, () => ({ ...huge, spanId: nextSpan() })),
    chat({ 'gen_ai.usage.input_tokens': -5, 'enduser.id': 'nul\u0000', 'purser.tag.__proto__': 'x' }),
    chat({ 'gen_ai.usage.input_tokens': 'many', 'purser.tag.long': 'x'.repeat(900) }),
    chat({}, { startMs: 0, endMs: 0 }),
    chat({}, { startMs: nowMs(), endMs: nowMs() - 5_000 }),
  ];
  const answer = await sendSpans({ records: [...hostile, chat()] });
  expect(answer.status).toBe(200);
  expect(await runs()).toHaveLength(8);
});

describe('access and errors', () => {
  test.each(['metrics', 'traces', 'logs'])('%s: an empty request is accepted', async (signal) => {
    const body = protobuf(Buffer.alloc(0));
    expect((await send(signal as Signal, body)).status).toBe(200);
    expect((await send(signal as Signal, json({}))).status).toBe(200);
  });

  test('needs a key with the scope `runs:write`, as a bearer, also with an encoded space', async () => {
    const reader = await world.mintKey(org, 'member', ['runs:read']);
    const denied = await send('traces', json({}), reader.secret);
    expect([denied.status, denied.json.code]).toEqual([403, 7]);
    const unknown = await world.request('POST', '/otlp/v1/traces', json({}));
    expect([unknown.status, unknown.json.code, unknown.headers['www-authenticate']]).toEqual([
      401,
      16,
      'Bearer realm="purser"',
    ]);
    const { status } = await world.request('POST', '/otlp/v1/traces', {
      raw: '{}',
      headers: { 'content-type': 'application/json', authorization: `Bearer%20${org.ownerKey}` },
    });
    expect(status).toBe(200);
  });

  test('errors are a Status in the encoding of the request', async () => {
    const broken = await send('traces', protobuf(Buffer.from([0x0a, 0x7f])));
    expect([broken.status, broken.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    const reader = new BinaryReader(Buffer.from(broken.text, 'latin1'));
    expect([reader.tag()[0], reader.int32(), reader.tag()[0]]).toEqual([1, 3, 2]);
    expect(reader.string()).toContain('not a valid OTLP message');
    const notJson = await send('traces', { raw: '{', headers: { 'content-type': 'application/json' } });
    expect([notJson.status, notJson.json.code]).toEqual([400, 3]);
    const text = await send('traces', { raw: 'x', headers: { 'content-type': 'text/plain' } });
    expect([text.status, text.json.code]).toEqual([415, 3]);
    const path = await world.request('GET', '/otlp/v1/traces', { key: org.ownerKey });
    expect([path.status, path.json.code]).toEqual([404, 12]);
  });

  test('a name that appears twice in one object is 400, and nothing is recorded', async () => {
    const text = JSON.stringify(tracesJson({ records: [chat()] }));
    const repeatedBody = text.replace('"spans":', '"spans":[],"sp\\u0061ns":');
    expect(repeatedBody).not.toBe(text);
    const headers = { 'content-type': 'application/json' };
    const answer = await send('traces', { raw: repeatedBody, headers });
    expect([answer.status, answer.json.code]).toEqual([400, 3]);
    const logs = await send('logs', { raw: '{"resourceLogs":[],"resourceLogs":[]}', headers });
    expect([logs.status, logs.json.code]).toEqual([400, 3]);
    expect(await runs()).toEqual([]);
    expect((await send('traces', { raw: text, headers })).status).toBe(200);
    expect(await runs()).toHaveLength(1);
  });

  test('gzip is read, and a body beyond the limit is 413', async () => {
    const body = gzipSync(JSON.stringify(tracesJson({ records: [chat()] })));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect((await send('traces', { raw: body, headers })).json).toEqual({});
    expect(await runs()).toHaveLength(1);
    const bomb = gzipSync(Buffer.alloc(33_554_433));
    const answer = await send('traces', { raw: bomb, headers });
    expect([answer.status, answer.json.code]).toEqual([413, 8]);
  });

  test('a small body that becomes millions of empty messages is 400', async () => {
    const raw = gzipSync(Buffer.alloc(33_554_432, new Uint8Array([0x0a, 0x00])));
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' };
    expect((await send('traces', { raw, headers })).status).toBe(400);
  });

  test('too many requests of an org at once are 429 with the time to wait, and others are served', async () => {
    const { port } = await world.listen();
    const head =
      `POST /otlp/v1/traces HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${org.ownerKey}\r\n` +
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const slow: { socket: Socket; answered: Promise<unknown> }[] = [];
    /** Sends its head, and waits with its body. */
    const start = () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(head);
      slow.push({ socket, answered: once(socket, 'data') });
    };
    for (let n = 0; n < 32; n += 1) {
      start();
    }
    await eventually(async () => {
      const limited = await send('traces', json({}));
      if (limited.status === 200) {
        // This request may have taken the place of one that arrived at the same time, and was rejected.
        start();
      }
      expect([limited.status, limited.json.code, limited.headers['retry-after']]).toEqual([429, 8, '1']);
    });
    const other = await world.createOrg();
    expect((await send('traces', json({}), other.ownerKey)).status).toBe(200);
    for (const { socket, answered } of slow) {
      socket.write('2\r\n{}\r\n0\r\n\r\n');
      await answered;
      socket.destroy();
    }
    expect((await send('traces', json({}))).status).toBe(200);
  });

  test('a request rate of the org is 429 with the time to wait', async () => {
    const { status } = await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          {
            name: 'runs',
            match: { route_class: 'runs' },
            unit: 'requests',
            limit: 1,
            window_seconds: 60,
            kind: 'rate',
          },
        ],
      },
    });
    expect(status).toBe(200);
    const allowed = await send('traces', json({}));
    expect(allowed.headers.ratelimit).toMatch(/^"rlp_\w+";r=0;t=60$/);
    const limited = await send('traces', json({}));
    expect([limited.status, limited.json.code, Number(limited.headers['retry-after'])]).toEqual([
      429,
      8,
      expect.any(Number),
    ]);
  });
});
