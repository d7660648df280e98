import { bulk, orgWithEightLimits } from '../bench-org.ts';
import { type LoadRequest, sendEach } from '../load.ts';
import { median, type SingleRow } from '../measure.ts';
import { forgetPeak, residentBytes, type ServiceProcess, startService } from '../processes.ts';

/** Default maximum number of runs in one request. */
const largest = 10_000;

/** Number of services: the result depends on how much memory happens to be free in the process. */
const services = 5;

export const memoryBulk: SingleRow = {
  kind: 'single',
  name: 'memory-bulk',
  what:
    `how far one bulk request of ${largest} runs raises the peak of the process (VmHWM, from VmRSS after a collection of ` +
    `garbage), in bodies of that request; embedded engine, whose database thread is in it; the median of ${services} ` +
    'services. The second of two such requests finds the memory that the first has left',
  toReach: { 'first, peak in bodies': { atMost: 10 } },
  async measure() {
    const all = [];
    for (let i = 0; i < services; i += 1) {
      all.push(await ofOneService());
    }
    const firsts = all.map(({ first }) => first);
    return {
      figures: {
        'first, peak in bodies': median(firsts),
        'lowest of these': Math.min(...firsts),
        'highest of these': Math.max(...firsts),
        'second, peak in bodies': median(all.map(({ second }) => second)),
        'body MB': median(all.map(({ bodyBytes }) => bodyBytes)) / 1_000_000,
      },
    };
  },
};

async function ofOneService() {
  const service = await startService({ collectable: true });
  try {
    const org = await orgWithEightLimits(service);
    const [few, many] = [bulk(org, 100), bulk(org, largest)];
    // Warm-up, so that one-time loading and compilation is not counted.
    await sendEach({ port: service.port, requests: [few()], connections: 1 });
    const first = await raised(service, many());
    const second = await raised(service, many());
    return {
      first: first.bytes / first.bodyBytes,
      second: second.bytes / second.bodyBytes,
      bodyBytes: first.bodyBytes,
    };
  } finally {
    await service.stop();
  }
}

async function raised(service: ServiceProcess, request: LoadRequest) {
  await service.memory();
  forgetPeak(service.pid);
  const before = residentBytes(service.pid, 'now');
  await sendEach({ port: service.port, requests: [request], connections: 1 });
  return {
    bytes: residentBytes(service.pid, 'peak') - before,
    bodyBytes: Buffer.byteLength(request.body ?? ''),
  };
}
