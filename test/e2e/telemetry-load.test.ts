/**
 * Emitters of OpenTelemetry under load, which send every batch twice, as after a lost response: each span is recorded once, and the sums are
 * those of the emitters.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { rounds } from '../support/rounds.ts';
import { operatorKey, type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const emitters = 4;
const spansOfEmitter = rounds(1_000, 30_000);
/** What the exporter may have in its queue. */
const queueMax = 4_096;
const processes = engine === 'postgres' ? 2 : 1;

let place: Place;
const services: ServiceProcess[] = [];
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  for (let number = 0; number < processes; number += 1) {
    services.push(await startPurser(settingsOf(place)));
  }
});
afterAll(async () => {
  for (const service of services) {
    await service.end('SIGTERM');
  }
  await place.remove();
});

/** Sends each batch to the next process, and then once more to the one after it. */
class TwiceExporter implements SpanExporter {
  readonly #targets: readonly OTLPTraceExporter[];
  #next = 0;
  failures = 0;

  constructor(targets: readonly OTLPTraceExporter[]) {
    this.#targets = targets;
  }

  export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
    let left = 2;
    for (let time = 0; time < 2; time += 1) {
      const target = this.#targets[this.#next % this.#targets.length];
      this.#next += 1;
      target?.export(spans, ({ code }) => {
        this.failures += code === 0 ? 0 : 1;
        left -= 1;
        if (left === 0) {
          done({ code: 0 });
        }
      });
    }
  }

  async shutdown(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.shutdown()));
  }
}

async function emit(
  key: string,
  number: number,
): Promise<{ input: number; output: number; failures: number }> {
  const exporter = new TwiceExporter(
    services.map(
      ({ url }) =>
        new OTLPTraceExporter({
          url: `${url}/otlp/v1/traces`,
          headers: { authorization: `Bearer ${key}` },
          timeoutMillis: 120_000,
        }),
    ),
  );
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `emitter-${number}` }),
    forceFlushTimeoutMillis: 600_000,
    spanProcessors: [
      new BatchSpanProcessor(exporter, { maxQueueSize: queueMax, exportTimeoutMillis: 120_000 }),
    ],
  });
  const tracer = provider.getTracer('load');
  let input = 0;
  let output = 0;
  for (let call = 0; call < spansOfEmitter; call += 1) {
    const span = tracer.startSpan('chat gpt-test');
    span.setAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.usage.input_tokens': call % 1_000,
      'gen_ai.usage.output_tokens': number + 1,
      'gen_ai.input.messages': 'a prompt of a usual length '.repeat(20),
    });
    span.end();
    input += call % 1_000;
    output += number + 1;
    if (call % (queueMax / 2) === queueMax / 2 - 1) {
      await provider.forceFlush();
    }
  }
  await provider.shutdown();
  return { input, output, failures: exporter.failures };
}

test('records every span once, with the sums of the emitters', async () => {
  const [service] = services as [ServiceProcess, ...ServiceProcess[]];
  const price = { input_usd_per_million: '1', output_usd_per_million: '10' };
  await service.request('PUT', '/v1/admin/models/gpt-test', { body: price });
  const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'load' } });
  const { json: minted } = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
    key: operatorKey,
    body: { name: 'load', role: 'admin', scopes: ['runs:write', 'runs:read', 'budgets:read'] },
  });
  const key = minted.secret as string;
  const emitted = await Promise.all(Array.from({ length: emitters }, (_, number) => emit(key, number)));
  const input = emitted.reduce((sum, one) => sum + one.input, 0);
  const output = emitted.reduce((sum, one) => sum + one.output, 0);
  expect(emitted.map(({ failures }) => failures)).toEqual(emitted.map(() => 0));
  await eventually(async () => {
    const { json: usage } = await service.request('GET', `/v1/orgs/${org.id}/usage?group_by=model`, { key });
    expect(usage.data).toMatchObject([
      {
        model: 'gpt-test',
        runs: emitters * spansOfEmitter,
        input_tokens: input,
        output_tokens: output,
        cost_usd: String((input + 10 * output) / 1_000_000),
      },
    ]);
  });
  const { json: books } = await service.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, { key });
  expect(books.drift_usd).toBe('0');
});
