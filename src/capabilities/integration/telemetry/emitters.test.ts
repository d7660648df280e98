/** Spans that real emitters have sent about calls (test/emitters): their runs have the tokens that the provider has billed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { BilledCall, RecordedSpan, Recording } from '../../../../test/emitters/recording.ts';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { tracesJson } from '../../../../test/support/otlp.ts';
import type { CallUsage } from '../../../kernel/providers/call-usage.ts';
import { messagesUsage } from '../../../kernel/providers/messages/usage.ts';
import { openAiUsage } from '../../../kernel/providers/openai-usage.ts';

const folder = join(import.meta.dirname, '../../../../test/emitters/recorded');
const recordings = readdirSync(folder).map((file): [string, Recording] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
]);

const usdPerMillion = {
  input: 1,
  cached: 0.5,
  cacheWrite: 2,
  cacheWrite1h: 4,
  output: 8,
  audioInput: 16,
  audioOutput: 32,
};

const world = useWorld();
beforeAll(async () => {
  const models = new Set(recordings.flatMap(([, { billed }]) => billed.map(({ model }) => model)));
  for (const model of models) {
    const { status } = await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: {
        input_usd_per_million: String(usdPerMillion.input),
        cached_input_usd_per_million: String(usdPerMillion.cached),
        cache_write_usd_per_million: String(usdPerMillion.cacheWrite),
        output_usd_per_million: String(usdPerMillion.output),
        audio_input_usd_per_million: String(usdPerMillion.audioInput),
        audio_output_usd_per_million: String(usdPerMillion.audioOutput),
        modifiers: [
          { cache_write_ttl: '1h', cache_write_usd_per_million: String(usdPerMillion.cacheWrite1h) },
        ],
      },
    });
    expect(status).toBe(200);
  }
  world.clock.advanceSeconds(600);
});

type Detail = 'cached' | 'cacheWrite' | 'cacheWrite1h' | 'audio';

interface Gap {
  /** Numbers of the calls, from 1; all by default. */
  readonly calls?: readonly number[];
  /** Undefined if the calls are not reported at all. */
  readonly details?: readonly Detail[];
}

/** Calls and details that an emitter does not report. Tokens of a detail that is missing are recorded as plain input and output. */
const unreported: Readonly<Record<string, readonly Gap[]>> = {
  'openai-v2': [{ calls: [4, 5, 6] }, { details: ['cached', 'cacheWrite', 'audio'] }],
  'openllmetry-openai': [{ details: ['cacheWrite', 'audio'] }],
  'openinference-langchain': [{ calls: [1], details: ['cacheWrite'] }],
  litellm: [{ details: ['cacheWrite1h'] }],
  'ai-sdk-4': [{ details: ['cacheWrite1h'] }, { calls: [1, 2, 3], details: ['cacheWrite'] }],
  'ai-sdk-5': [{ calls: [1, 2], details: ['cached'] }],
  'ai-sdk-7': [{ details: ['cacheWrite1h'] }],
};

function usageOf({ format, usage }: BilledCall): CallUsage {
  const read =
    format === 'messages' ? messagesUsage(usage) : openAiUsage(usage, undefined, format !== 'embeddings');
  if (read === undefined) {
    throw new Error(`no usage of ${format}`);
  }
  return read;
}

function expectedRuns(name: string, { billed }: Recording): object[] {
  const numbered = billed.map((call, index) => {
    const gaps = (unreported[name] ?? []).filter(({ calls }) => calls?.includes(index + 1) ?? true);
    return { call, gaps };
  });
  return numbered
    .filter(({ gaps }) => gaps.every(({ details }) => details !== undefined))
    .sort((one, other) => usageOf(one.call).inputTokens - usageOf(other.call).inputTokens)
    .map(({ call, gaps }) =>
      expectedRun(
        call,
        gaps.flatMap(({ details = [] }) => details),
      ),
    );
}

function expectedRun(call: BilledCall, gaps: readonly Detail[]): object {
  const usage = usageOf(call);
  const reported = (detail: Detail, count: number) => (gaps.includes(detail) ? 0 : count);
  const cached = reported('cached', usage.cachedInputTokens);
  const cacheWrite = reported('cacheWrite', usage.cacheWriteTokens);
  const cacheWrite1h = reported('cacheWrite1h', usage.cacheWrite1hTokens);
  const audioInput = reported('audio', usage.audioInputTokens);
  const audioOutput = reported('audio', usage.audioOutputTokens);
  const microDollars =
    (usage.inputTokens - cached - cacheWrite - audioInput) * usdPerMillion.input +
    cached * usdPerMillion.cached +
    (cacheWrite - cacheWrite1h) * usdPerMillion.cacheWrite +
    cacheWrite1h * usdPerMillion.cacheWrite1h +
    (usage.outputTokens - audioOutput) * usdPerMillion.output +
    audioInput * usdPerMillion.audioInput +
    audioOutput * usdPerMillion.audioOutput;
  return {
    model: call.model,
    input_tokens: usage.inputTokens,
    cached_input_tokens: cached,
    cache_write_tokens: cacheWrite - cacheWrite1h,
    cache_write_1h_tokens: cacheWrite1h,
    output_tokens: call.format === 'embeddings' ? 0 : usage.outputTokens,
    micro_dollars: microDollars,
    marks: ['backfill'],
  };
}

async function send(org: TestOrg, spans: readonly RecordedSpan[]): Promise<void> {
  const startedMs = world.clock.now().getTime() - 120_000;
  const resourceSpans = spans.flatMap(({ scope, ...span }) => {
    const record = { ...span, startMs: startedMs + span.startMs, endMs: startedMs + span.endMs };
    return (tracesJson({ scope, records: [record] }) as { resourceSpans: object[] }).resourceSpans;
  });
  const { status, json } = await world.request('POST', '/otlp/v1/traces', {
    key: org.ownerKey,
    body: { resourceSpans },
  });
  expect([status, json]).toEqual([200, {}]);
}

async function runs(org: TestOrg): Promise<object[]> {
  const { json } = await world.request('GET', '/v1/runs?limit=200', { key: org.ownerKey });
  const data = json.data as Record<string, unknown>[];
  return data
    .map((run) => ({
      model: run.model,
      input_tokens: run.input_tokens,
      cached_input_tokens: run.cached_input_tokens,
      cache_write_tokens: run.cache_write_tokens,
      cache_write_1h_tokens: run.cache_write_1h_tokens,
      output_tokens: run.output_tokens,
      micro_dollars: Math.round(Number(run.cost_usd) * 1e7) / 10,
      marks: run.marks,
    }))
    .sort((one, other) => Number(one.input_tokens) - Number(other.input_tokens));
}

test.each(recordings)(
  '%s: each call of a recording is one run, with what was billed',
  async (name, recording) => {
    const org = await world.createOrg();
    await send(org, recording.spans);
    expect(await runs(org)).toEqual(expectedRuns(name, recording));
  },
);
