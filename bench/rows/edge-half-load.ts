import { defaultConnections, floorFor } from '../against-bare-server.ts';
import { decision, orgWithEightLimits } from '../bench-org.ts';
import { type LoadRequest, load, loadOnSchedule, percentile } from '../load.ts';
import type { PairsRow, Sample } from '../measure.ts';
import { type ServerProcess, startService } from '../processes.ts';

/** More connections than are ever busy at half load, so that no request waits for one. */
const connections = 200;
const closedLoopSeconds = 1;

export const edgeHalfLoad: PairsRow = {
  kind: 'pairs',
  name: 'edge-half-load',
  what: `the same decision in an open loop over ${connections} connections, at half the rate that the service has just reached in a closed loop`,
  floor: 'the bare server at the same rate',
  toReach: { 'p99 ms': { atMost: 2 } },
  differences: ['p50 ms', 'p99 ms'],
  async prepare() {
    const service = await startService();
    const request = decision(await orgWithEightLimits(service));
    const floor = await floorFor([service], request);
    let perSecond = 0;
    return {
      async service(seconds) {
        const { port } = service;
        const full = await load({
          port,
          request,
          connections: defaultConnections,
          seconds: closedLoopSeconds,
        });
        perSecond = (full.answers * 1_000) / full.elapsedMs / 2;
        return scheduled(service, request, perSecond, seconds);
      },
      floor: (seconds) => scheduled(floor, request, perSecond, seconds),
      async close() {
        await Promise.all([service.stop(), floor.stop()]);
      },
    };
  },
};

async function scheduled(
  { port }: ServerProcess,
  request: LoadRequest,
  perSecond: number,
  seconds: number,
): Promise<Sample> {
  const { answers, elapsedMs, latenciesMs } = await loadOnSchedule({
    port,
    request,
    perSecond,
    connections,
    seconds,
  });
  return {
    'p50 ms': percentile(latenciesMs, 50),
    'p99 ms': percentile(latenciesMs, 99),
    'requests/s': (answers * 1_000) / elapsedMs,
  };
}
