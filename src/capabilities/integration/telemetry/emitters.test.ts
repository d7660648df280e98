/** Spans that real emitters have sent about calls (test/emitters): their runs have the tokens that the provider has billed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { BilledCall, RecordedSpan, Recording } from '../../../../test/emitters/recording.ts';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { tracesJson } from '../../../../test/support/otlp.ts';
import { type CallUsage, noUsage } from '../../../kernel/providers/call-usage.ts';
import { messagesUsage } from '../../../kernel/providers/messages/usage.ts';
import { openAiUsage } from '../../../kernel/providers/openai-usage.ts';
import { tokenNames } from './token-names.ts';

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

type Detail = 'cached' | 'cacheWrite' | 'cacheWrite1h' | 'reasoning' | 'audio';

interface Gap {
  /** Numbers of the calls, from 1; all by default. */
  readonly calls?: readonly number[];
  /** Nothing: the calls are not reported at all. */
  readonly details?: readonly Detail[] | 'all counts';
  /** Tokens that the emitter counts twice: those that the first event of a stream states. */
  readonly excessOutput?: number;
  /** Tokens that the emitter leaves out of the input, and does not report elsewhere. */
  readonly missingInput?: number;
}

/** Calls and details that an emitter does not report. Tokens of a detail that is missing are recorded as plain input and output. */
const unreported: Readonly<Record<string, readonly Gap[]>> = {
  'openai-v2': [{ calls: [4, 5, 6] }, { details: ['cached', 'cacheWrite', 'reasoning', 'audio'] }],
  'openllmetry-openai': [{ details: ['cacheWrite', 'audio'] }, { calls: [2], details: ['reasoning'] }],
  'openllmetry-openai-0.40': [
    { details: ['cacheWrite', 'reasoning', 'audio'] },
    { calls: [2], details: 'all counts' },
    { calls: [4, 5] },
  ],
  'openllmetry-anthropic-0.40': [{ details: ['cacheWrite1h'] }, { calls: [2], details: 'all counts' }],
  'openinference-anthropic-0.1': [{ details: ['cacheWrite1h'] }, { calls: [2] }],
  'openllmetry-langchain': [{ details: ['reasoning'] }],
  'openinference-langchain': [{ calls: [1], details: ['cacheWrite'] }],
  litellm: [{ details: ['cacheWrite1h'] }],
  'ai-sdk-4': [{ details: ['cacheWrite1h'] }, { calls: [1, 2, 3], details: ['cacheWrite'] }],
  'ai-sdk-5': [{ calls: [1, 2], details: ['cached', 'reasoning'] }],
  'pydantic-ai-0.8': [
    { details: ['cacheWrite1h', 'audio'] },
    { calls: [1, 2, 3], details: ['cached', 'cacheWrite'] },
    { calls: [4], details: [], excessOutput: 1 },
  ],
  'pydantic-ai-0.2': [
    { details: ['cacheWrite1h', 'audio'] },
    { calls: [3], details: ['cacheWrite'] },
    { calls: [4], details: [], excessOutput: 1 },
  ],
  'js-openllmetry-openai': [
    { details: ['cached', 'cacheWrite', 'reasoning', 'audio'] },
    { calls: [2, 5], details: 'all counts' },
    { calls: [6] },
  ],
  'js-openllmetry-anthropic': [{ details: ['cacheWrite1h'] }],
  'js-langfuse-openai': [{ calls: [6], details: 'all counts' }],
  'js-openinference-anthropic': [{ details: ['cacheWrite1h'] }],
  'js-openinference-openai': [{ details: ['cacheWrite'] }, { calls: [2, 6], details: 'all counts' }],
  'js-openai': [{ details: ['cached', 'cacheWrite', 'reasoning', 'audio'] }],
  'js-openinference-langchain': [
    { details: ['cacheWrite', 'cacheWrite1h'] },
    { calls: [4], details: [], excessOutput: 1 },
  ],
  'js-openllmetry-langchain': [
    { details: ['cached', 'cacheWrite', 'cacheWrite1h', 'reasoning'] },
    { calls: [3], details: [], missingInput: 700 },
    { calls: [4], details: [], excessOutput: 1 },
  ],
  'js-langfuse-langchain': [{ details: ['cacheWrite1h'] }, { calls: [4], details: [], excessOutput: 1 }],
  'ai-sdk-7': [{ details: ['cacheWrite1h', 'reasoning'] }],
};

/** Gemini counts thoughts beside the answer. */
function geminiUsage(usage: BilledCall['usage']): CallUsage {
  const count = (name: string) => Number(usage[name] ?? 0);
  return {
    ...noUsage,
    inputTokens: count('promptTokenCount'),
    cachedInputTokens: count('cachedContentTokenCount'),
    outputTokens: count('candidatesTokenCount') + count('thoughtsTokenCount'),
    reasoningTokens: count('thoughtsTokenCount'),
  };
}

function usageOf({ format, usage }: BilledCall): CallUsage {
  if (format === 'generate_content') {
    return geminiUsage(usage);
  }
  const read =
    format === 'messages' ? messagesUsage(usage) : openAiUsage(usage, undefined, format !== 'embeddings');
  if (read === undefined) {
    throw new Error(`no usage of ${format}`);
  }
  return read;
}

interface ShownRun {
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly parts: Readonly<Record<string, number>>;
  readonly micro_dollars: number;
  readonly marks: readonly string[];
}

function byInput(one: Pick<ShownRun, 'input_tokens' | 'model'>, other: typeof one): number {
  return one.input_tokens - other.input_tokens || (one.model < other.model ? -1 : 1);
}

function expectedRuns(name: string, { billed }: Recording): ShownRun[] {
  const numbered = billed.map((call, index) => {
    const gaps = (unreported[name] ?? []).filter(({ calls }) => calls?.includes(index + 1) ?? true);
    return { call, gaps };
  });
  return numbered
    .filter(({ gaps }) => gaps.every(({ details }) => details !== undefined))
    .map(({ call, gaps }) => expectedRun(call, gaps))
    .sort(byInput);
}

function expectedRun(call: BilledCall, gaps: readonly Gap[]): ShownRun {
  if (gaps.some(({ details }) => details === 'all counts')) {
    const marks = ['backfill', 'usage_missing'];
    return { model: call.model, input_tokens: 0, output_tokens: 0, parts: {}, micro_dollars: 0, marks };
  }
  const usage = usageOf(call);
  const isMissing = (detail: Detail) => gaps.some(({ details }) => details?.includes(detail));
  const reported = (detail: Detail, count: number) => (isMissing(detail) ? 0 : count);
  const cached = reported('cached', usage.cachedInputTokens);
  const cacheWrite = reported('cacheWrite', usage.cacheWriteTokens);
  const cacheWrite1h = reported('cacheWrite1h', usage.cacheWrite1hTokens);
  const audioInput = reported('audio', usage.audioInputTokens);
  const audioOutput = reported('audio', usage.audioOutputTokens);
  const excess = gaps.reduce((sum, { excessOutput = 0 }) => sum + excessOutput, 0);
  const input = gaps.reduce((sum, { missingInput = 0 }) => sum - missingInput, usage.inputTokens);
  const output = call.format === 'embeddings' ? 0 : usage.outputTokens + excess;
  const reasoning = reported('reasoning', usage.reasoningTokens);
  const parts: Readonly<Record<string, readonly [quantity: number, usdPerMillion: number]>> = {
    input: [input - cached - cacheWrite - audioInput, usdPerMillion.input],
    cached_input: [cached, usdPerMillion.cached],
    cache_write: [cacheWrite - cacheWrite1h, usdPerMillion.cacheWrite],
    cache_write_1h: [cacheWrite1h, usdPerMillion.cacheWrite1h],
    audio_input: [audioInput, usdPerMillion.audioInput],
    output: [output - reasoning - audioOutput, usdPerMillion.output],
    reasoning: [reasoning, usdPerMillion.output],
    audio_output: [audioOutput, usdPerMillion.audioOutput],
  };
  const counted = Object.entries(parts).filter(([, [quantity]]) => quantity > 0);
  return {
    model: call.model,
    input_tokens: input,
    output_tokens: output,
    parts: Object.fromEntries(counted.map(([kind, [quantity]]) => [kind, quantity])),
    micro_dollars: counted.reduce((sum, [, [quantity, rate]]) => sum + quantity * rate, 0),
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

interface Run {
  readonly id: string;
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly cost_parts: readonly { readonly kind: string; readonly quantity: number }[];
  readonly marks: readonly string[];
}

async function runs(org: TestOrg): Promise<ShownRun[]> {
  const get = async (path: string) => (await world.request('GET', path, { key: org.ownerKey })).json;
  const ids = ((await get('/v1/runs?limit=200')).data as Run[]).map(({ id }) => id);
  const all: Run[] = await Promise.all(ids.map((id) => get(`/v1/runs/${id}`)));
  return all.sort(byInput).map(({ model, input_tokens, output_tokens, cost_usd, cost_parts, marks }) => ({
    model,
    input_tokens,
    output_tokens,
    parts: Object.fromEntries(cost_parts.map(({ kind, quantity }) => [kind, quantity])),
    micro_dollars: Math.round(Number(cost_usd) * 1e7) / 10,
    marks,
  }));
}

test.each(recordings)(
  '%s: each call of a recording is one run, with what was billed',
  async (name, recording) => {
    const org = await world.createOrg();
    await send(org, recording.spans);
    expect(await runs(org)).toEqual(expectedRuns(name, recording));
  },
);

/** Spans of the SDK of Anthropic, which are not linked to those of these emitters. */
const unlinked = ['openinference-anthropic', 'openinference-langchain'];

test.each(recordings.filter(([name]) => !unlinked.includes(name)))(
  '%s: each call is one run if its spans arrive one by one',
  async (name, recording) => {
    const org = await world.createOrg();
    for (const span of recording.spans) {
      await send(org, [span]);
    }
    expect(await runs(org)).toEqual(expectedRuns(name, recording));
  },
);

test('the guide names each attribute of a token count', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides/opentelemetry.md'), 'utf8');
  const names = Object.values(tokenNames).flat();
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});
