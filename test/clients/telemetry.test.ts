/** Real emitters of OpenTelemetry: Claude Code, Codex and the Python SDK. What they report is what the provider has billed. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ClientWorld, createClientWorld, type Program } from './client-world.ts';
import { claudeCode, codex, pythonTelemetry } from './installed-clients.ts';

const [claudePath, codexPath, python] = await Promise.all([claudeCode(), codex(), pythonTelemetry()]);

let world: ClientWorld;
let key: string;
beforeAll(async () => {
  world = await createClientWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  world.reset();
  const { world: api } = world.gateway;
  const org = await api.createOrg();
  key = (await api.mintKey(org, 'member', ['gateway:call', 'runs:write', 'runs:read'])).secret;
});

async function runs() {
  const { json } = await world.gateway.world.request('GET', '/v1/runs?limit=200', { key });
  return json.data as { input_tokens: number; output_tokens: number; metadata: object; chain_id: string }[];
}

/** Without the list of models, which Codex reads from the provider. */
const billed = () =>
  world.gateway.provider.bill
    .filter(({ inputTokens }) => inputTokens > 0)
    .map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]);
const recorded = async () =>
  (await runs()).map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]);
const exports = () => world.requests.filter(({ url }) => url === '/otlp/v1/logs').map(({ status }) => status);

interface Agent {
  readonly name: string;
  readonly path: string | undefined;
  /** `base` is the URL of the provider, or of the gateway. */
  start(base: { readonly anthropic: string; readonly openai: string }, apiKey: string): Omit<Program, 'path'>;
}

const agents: readonly Agent[] = [
  {
    name: 'Claude Code',
    path: claudePath,
    start: ({ anthropic }, apiKey) => ({
      args: ['-p', 'Say hello', '--model', 'claude-test'],
      env: {
        ANTHROPIC_BASE_URL: anthropic,
        ANTHROPIC_AUTH_TOKEN: apiKey,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_ENABLE_TELEMETRY: '1',
        OTEL_LOGS_EXPORTER: 'otlp',
        OTEL_METRICS_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_ENDPOINT: `${world.url}/otlp`,
        OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${key}`,
        OTEL_LOGS_EXPORT_INTERVAL: '200',
      },
    }),
  },
  {
    name: 'Codex',
    path: codexPath,
    start: ({ openai }, apiKey) => ({
      args: ['exec', '--skip-git-repo-check', '--model', 'gpt-test', 'Say hello'],
      env: { PROVIDER_KEY: apiKey },
      async prepare(home) {
        await mkdir(join(home, '.codex'));
        await writeFile(
          join(home, '.codex/config.toml'),
          `model_provider = "test"
web_search = "disabled"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
[model_providers.test]
name = "Test"
base_url = "${openai}"
env_key = "PROVIDER_KEY"
wire_api = "responses"
[otel]
exporter = { otlp-http = { endpoint = "${world.url}/otlp/v1/logs", protocol = "binary", headers = { "Authorization" = "Bearer ${key}" } } }
`,
        );
      },
    }),
  },
];

describe.each(agents)('$name', ({ path, start }) => {
  test.skipIf(path === undefined)('reports the calls that the provider has billed', async () => {
    const { provider } = world.gateway;
    const started = start({ anthropic: provider.url, openai: `${provider.url}/v1` }, 'sk-own');
    await world.run({ path: path as string, ...started });
    expect(billed().length).toBeGreaterThan(0);
    await eventually(async () => expect((await recorded()).sort()).toEqual(billed().sort()));
    expect(new Set(exports())).toEqual(new Set([200]));
  });

  test.skipIf(path === undefined)('is recorded once if its calls go through the gateway', async () => {
    const { url } = world;
    const started = start({ anthropic: `${url}/anthropic`, openai: `${url}/openai/v1` }, key);
    await world.run({ path: path as string, ...started });
    expect(billed().length).toBeGreaterThan(0);
    expect(exports().length).toBeGreaterThan(0);
    await eventually(async () => expect((await recorded()).sort()).toEqual(billed().sort()));
    expect((await runs()).filter(({ metadata }) => 'telemetry' in metadata)).toEqual([]);
  });
});

test.skipIf(python === undefined)('the Python SDK reports every span once', async () => {
  const script = `
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("test")
for call in range(100):
    with tracer.start_as_current_span("chat gpt-test") as span:
        span.set_attributes({
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-test",
            "gen_ai.usage.input_tokens": call,
            "gen_ai.usage.output_tokens": 1,
        })
provider.shutdown()
`;
  await promisify(execFile)(python as string, ['-c', script], {
    env: {
      ...world.environment,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${world.url}/otlp`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${key}`,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    },
  });
  const counts = (await recorded()).map(([input]) => input as number).sort((one, other) => one - other);
  expect(counts).toEqual([...Array(100).keys()]);
});
