/**
 * Makes calls to a provider with the SDKs of JavaScript. The first argument names the calls, the others are the instrumentations. The packages
 * are those of the folder in PACKAGES.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const load = createRequire(join(process.env.PACKAGES ?? '', 'package.json'));
const { NodeTracerProvider, SimpleSpanProcessor } = load('@opentelemetry/sdk-trace-node');
const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-http');

const url = process.env.PROVIDER_URL;
const apiKey = 'sk-recorded';
const prompt = 'Say hello';
const messages = [{ role: 'user', content: prompt }];
const chatModel = 'gpt-5-mini';
const claudeModel = 'claude-sonnet-4-5';

const [calls = '', ...instrumentations] = process.argv.slice(2);
const exporter = new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces` }));
const tracing = new NodeTracerProvider({ spanProcessors: [...ownProcessors(), exporter] });
tracing.register();

/** Langfuse completes the spans of all others while they end. */
function ownProcessors() {
  if (!calls.startsWith('langfuse')) {
    return [];
  }
  const { LangfuseSpanProcessor } = load('@langfuse/otel');
  return [new LangfuseSpanProcessor({ publicKey: 'pk', secretKey: 'sk', baseUrl: url })];
}

const programs = {
  aiSdk,
  openai: () => callOpenAi(new (load('openai').OpenAI)({ baseURL: `${url}/v1`, apiKey })),
  anthropic,
  langchain: () => langchain([]),
  langfuseOpenai: () =>
    callOpenAi(
      load('@langfuse/openai').observeOpenAI(new (load('openai').OpenAI)({ baseURL: `${url}/v1`, apiKey })),
    ),
  langfuseLangchain: () => langchain([new (load('@langfuse/langchain').CallbackHandler)()]),
};

async function callOpenAi(/** @type {any} */ client) {
  await client.chat.completions.create({ model: chatModel, messages });
  await consume(
    await client.chat.completions.create({
      model: chatModel,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  await client.chat.completions.create({ model: 'gpt-audio', messages });
  await client.responses.create({ model: chatModel, input: prompt });
  await consume(await client.responses.create({ model: chatModel, input: prompt, stream: true }));
  await client.embeddings.create({ model: 'text-embedding-3-small', input: 'hello' });
}

async function anthropic() {
  const client = new (load('@anthropic-ai/sdk').Anthropic)({ baseURL: url, apiKey });
  const request = { model: claudeModel, max_tokens: 500, messages };
  await client.messages.create(request);
  await consume(await client.messages.create({ ...request, stream: true }));
  await client.messages.stream(request).finalMessage();
}

async function langchain(/** @type {readonly unknown[]} */ callbacks) {
  const { ChatOpenAI } = load('@langchain/openai');
  const { ChatAnthropic } = load('@langchain/anthropic');
  const chat = new ChatOpenAI({ apiKey, model: chatModel, configuration: { baseURL: `${url}/v1` } });
  const claude = new ChatAnthropic({ apiKey, model: claudeModel, maxTokens: 500, anthropicApiUrl: url });
  await chat.invoke(prompt, { callbacks });
  await consume(await chat.stream(prompt, { callbacks }));
  await claude.invoke(prompt, { callbacks });
  await consume(await claude.stream(prompt, { callbacks }));
}

async function aiSdk() {
  const ai = load('ai');
  const { z } = load('zod');
  const major = Number(load('ai/package.json').version.split('.')[0]);
  if (major >= 7) {
    ai.registerTelemetry(new (load('@ai-sdk/otel').OpenTelemetry)());
  }
  const telemetry = major >= 7 ? {} : { experimental_telemetry: { isEnabled: true } };
  const openai = load('@ai-sdk/openai').createOpenAI({
    baseURL: `${url}/v1`,
    apiKey,
    compatibility: 'strict',
  });
  const chat = openai.chat(chatModel);
  const claude = load('@ai-sdk/anthropic').createAnthropic({ baseURL: `${url}/v1`, apiKey })(claudeModel);

  await ai.generateText({ model: chat, prompt, ...telemetry });
  await ai.generateText({ model: openai.responses(chatModel), prompt, ...telemetry });
  await ai.streamText({ model: chat, prompt, ...telemetry }).consumeStream();
  await ai.generateText({ model: claude, prompt, ...telemetry });
  await ai.streamText({ model: claude, prompt, ...telemetry }).consumeStream();
  await ai.embed({
    model: openai.textEmbeddingModel('text-embedding-3-small'),
    value: 'hello',
    ...telemetry,
  });
  const weather = ai.tool({
    description: 'The weather of a city.',
    [major >= 5 ? 'inputSchema' : 'parameters']: z.object({ city: z.string() }),
    execute: async (/** @type {{ city: string }} */ { city }) => `It is sunny in ${city}.`,
  });
  await ai.generateText({
    model: claude,
    prompt: 'The weather of Paris?',
    tools: { weather },
    ...(major >= 7
      ? { stopWhen: ai.isStepCount(3) }
      : major >= 5
        ? { stopWhen: ai.stepCountIs(3) }
        : { maxSteps: 3 }),
    ...telemetry,
  });
}

async function consume(/** @type {AsyncIterable<unknown>} */ stream) {
  for await (const _ of stream) {
    // The spans of a stream end with it.
  }
}

for (const path of instrumentations) {
  const [name = '', type = '', patched] = path.split(':');
  const instrumentation = new (load(name)[type])();
  instrumentation.setTracerProvider(tracing);
  instrumentation.setMeterProvider(load('@opentelemetry/api').metrics.getMeterProvider());
  if (patched !== undefined) {
    instrumentation.manuallyInstrument(load(patched));
  }
}
await programs[/** @type {keyof typeof programs} */ (calls)]();
await tracing.shutdown();
process.exit();
