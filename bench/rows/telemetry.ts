/** Spans of calls in OTLP: against the same number of runs in bulk on the same service, and a minute at a fixed rate. */
import { type BenchOrg, bulk, orgWithEightLimits } from '../bench-org.ts';
import { type LoadRequest, type LoadResult, load, loadOnSchedule, percentile } from '../load.ts';
import type { PairsRow, Sample, SingleRow } from '../measure.ts';
import { startService } from '../processes.ts';

/** The batch of an exporter. */
const spansPerRequest = 512;
const connections = 2;

export const telemetry: PairsRow = {
  kind: 'pairs',
  name: 'telemetry',
  what: `POST /otlp/v1/traces as JSON, ${spansPerRequest} calls a request with prompts of 2 KB, 8 limits, embedded engine`,
  floor: 'POST /v1/runs/bulk with as many runs, same service',
  toReach: { 'runs/s': { atLeast: 0.5 } },
  async prepare() {
    const service = await startService();
    const org = await orgWithEightLimits(service);
    const measured = (request: () => LoadRequest) => async (seconds: number) =>
      rate(await load({ port: service.port, request, connections, seconds }));
    return {
      service: measured(spans(org)),
      floor: measured(bulk(org, spansPerRequest)),
      close: () => service.stop(),
    };
  },
};

const perSecond = 2_000;
const seconds = 60;

export const telemetryMinute: SingleRow = {
  kind: 'single',
  name: 'telemetry-minute',
  what: `${perSecond} such spans a second for ${seconds} s, on a schedule, to a service that has one core`,
  toReach: { 'recorded / sent': { atLeast: 1 }, 'spans/s': { atLeast: perSecond * 0.99 } },
  async measure({ progress }) {
    const service = await startService({ oneCore: true });
    try {
      const org = await orgWithEightLimits(service);
      const minute = { port: service.port, request: spans(org), connections: 8 };
      progress('warming up');
      await load({ ...minute, connections: 1, seconds: 6 });
      const before = await recordedRuns(org);
      progress(`${seconds} s`);
      const { answers, elapsedMs, latenciesMs } = await loadOnSchedule({
        ...minute,
        perSecond: perSecond / spansPerRequest,
        seconds,
      });
      const sent = answers * spansPerRequest;
      return {
        figures: {
          'spans/s': (sent * 1_000) / elapsedMs,
          'recorded / sent': ((await recordedRuns(org)) - before) / sent,
          'p50 ms': percentile(latenciesMs, 50),
          'p99 ms': percentile(latenciesMs, 99),
        },
      };
    } finally {
      await service.stop();
    }

    async function recordedRuns({ id, key }: BenchOrg): Promise<number> {
      const { data } = await service.call<{ data: { runs: number }[] }>(
        'GET',
        `/v1/orgs/${id}/usage?group_by=model`,
        undefined,
        key,
      );
      return data.reduce((sum, { runs }) => sum + runs, 0);
    }
  },
};

let traces = 0;

/** Returns a function that creates requests of the same size, each a new trace. */
function spans({ key }: BenchOrg): () => LoadRequest {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const prompt = 'x'.repeat(2_000);
  return () => {
    traces += 1;
    const traceId = traces.toString(16).padStart(32, '0');
    const nanos = `${BigInt(Date.now()) * 1_000_000n}`;
    const list = Array.from({ length: spansPerRequest }, (_, index) => ({
      traceId,
      spanId: (index + 1).toString(16).padStart(16, '0'),
      name: 'chat gpt-4o',
      startTimeUnixNano: nanos,
      endTimeUnixNano: nanos,
      attributes: [
        { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
        { key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o' } },
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '1200' } },
        { key: 'gen_ai.usage.output_tokens', value: { intValue: '310' } },
        { key: 'gen_ai.input.messages', value: { stringValue: prompt } },
      ],
    }));
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] });
    return { method: 'POST', path: '/otlp/v1/traces', headers, body };
  };
}

function rate({ answers, elapsedMs }: LoadResult): Sample {
  return { 'runs/s': (answers * spansPerRequest * 1_000) / elapsedMs };
}
