import { againstBareServer } from '../against-bare-server.ts';
import { orgWithEightLimits, run } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';

/** Requests that wait at the same time share a commit. */
const connections = 200;

export const runSingle: PairsRow = {
  kind: 'pairs',
  name: 'run-single',
  what: `POST /v1/runs, one run a request, embedded engine, 8 limits, durable before its answer, ${connections} connections`,
  floor: 'a bare node:http server that parses the same body and answers as many bytes, as many connections',
  toReach: { 'requests/s': { atLeast: 0.4 } },
  async prepare() {
    const service = await startService();
    return againstBareServer(service, run(await orgWithEightLimits(service)), connections);
  },
};
