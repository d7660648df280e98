import { defaultConnections } from '../against-bare-server.ts';
import { bulk, decision, orgWithEightLimits } from '../bench-org.ts';
import { load } from '../load.ts';
import { median, type PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';
import { turn } from '../turn.ts';

const runsPerRequest = 1_000;

export const bulkBesideEdge: PairsRow = {
  kind: 'pairs',
  name: 'bulk-beside-edge',
  what: `edge decisions while the same org sends bulk requests of ${runsPerRequest} runs, one after the other; embedded engine, 8 limits`,
  floor: 'edge decisions of the same service without that',
  toReach: { 'requests/s': { atLeast: 0.8 } },
  async prepare() {
    const service = await startService();
    const org = await orgWithEightLimits(service);
    const ask = { request: decision(org), connections: defaultConnections };
    const request = bulk(org, runsPerRequest);
    const ingested: number[] = [];
    return {
      async service(seconds) {
        const [sample, { answers, elapsedMs }] = await Promise.all([
          turn([service], { ...ask, seconds }),
          load({ port: service.port, request, connections: 1, seconds }),
        ]);
        ingested.push((answers * runsPerRequest * 1_000) / elapsedMs);
        return sample;
      },
      floor: (seconds) => turn([service], { ...ask, seconds }),
      notes: async () => [`beside the decisions ${Math.round(median(ingested))} runs/s were ingested`],
      close: () => service.stop(),
    };
  },
};
