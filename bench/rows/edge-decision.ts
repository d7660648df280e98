import { againstBareServer } from '../against-bare-server.ts';
import { benchOrg, eightLimits } from '../bench-org.ts';
import type { Row } from '../measure.ts';
import { startService } from '../processes.ts';

export const edgeDecision: Row = {
  name: 'edge-decision',
  what: 'POST /v1/edge/decision, embedded engine, 8 limits, allow, every hold durable before its answer',
  floor: 'a bare node:http server that parses the same body and answers as many bytes',
  async prepare() {
    const service = await startService();
    const org = await benchOrg(service);
    await eightLimits(service, org);
    return againstBareServer(service, org.decision());
  },
};
