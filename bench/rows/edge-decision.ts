import { againstBareServer } from '../against-bare-server.ts';
import { decision, orgWithEightLimits } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';

export const edgeDecision: PairsRow = {
  kind: 'pairs',
  name: 'edge-decision',
  what: 'POST /v1/edge/decision, embedded engine, 8 limits, allow, every hold synced to disk before its response',
  floor: 'a bare node:http server that parses the same body and answers as many bytes',
  toReach: { 'requests/s': { atLeast: 0.7 }, 'CPU µs/request': { atMost: 1.4 } },
  async prepare() {
    const service = await startService();
    return againstBareServer(service, decision(await orgWithEightLimits(service)));
  },
};
