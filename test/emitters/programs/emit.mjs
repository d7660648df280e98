/** Makes calls to a provider with the AI SDK. The packages are those of the folder in PACKAGES. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const packages = createRequire(join(process.env.PACKAGES ?? '', 'package.json'));
/** @param {string} name */
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);

const ai = await load('ai');
const { createOpenAI } = await load('@ai-sdk/openai');
const { createAnthropic } = await load('@ai-sdk/anthropic');
const { NodeTracerProvider, SimpleSpanProcessor } = await load('@opentelemetry/sdk-trace-node');
const { OTLPTraceExporter } = await load('@opentelemetry/exporter-trace-otlp-http');
const { z } = await load('zod');

const url = process.env.PROVIDER_URL;
const tracing = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces` }))],
});
tracing.register();

const major = Number(packages('ai/package.json').version.split('.')[0]);
if (major >= 7) {
  const { OpenTelemetry } = await load('@ai-sdk/otel');
  ai.registerTelemetry(new OpenTelemetry());
}
const telemetry = major >= 7 ? {} : { experimental_telemetry: { isEnabled: true } };

const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-recorded', compatibility: 'strict' });
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'sk-recorded' });
const chat = openai.chat('gpt-5-mini');
const claude = anthropic('claude-sonnet-4-5');
const prompt = 'Say hello';

await ai.generateText({ model: chat, prompt, ...telemetry });
await ai.generateText({ model: openai.responses('gpt-5-mini'), prompt, ...telemetry });
await ai.streamText({ model: chat, prompt, ...telemetry }).consumeStream();
await ai.generateText({ model: claude, prompt, ...telemetry });
await ai.streamText({ model: claude, prompt, ...telemetry }).consumeStream();
await ai.embed({ model: openai.textEmbeddingModel('text-embedding-3-small'), value: 'hello', ...telemetry });
const schema = z.object({ city: z.string() });
const weather = ai.tool({
  description: 'The weather of a city.',
  [major >= 5 ? 'inputSchema' : 'parameters']: schema,
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
await tracing.shutdown();
