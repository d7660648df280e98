import { againstBareServer } from '../against-bare-server.ts';
import { orgWithEightLimits } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';

const models = 50;
const suites = 5;

export const routing: PairsRow = {
  kind: 'pairs',
  name: 'routing',
  what: `POST /v1/routing/decisions among ${models} candidates of ${suites} suites, without a hold; embedded engine, 8 limits`,
  floor: 'a bare node:http server that parses the same body and answers the same bytes',
  toReach: {},
  async prepare() {
    const service = await startService();
    const { id, key } = await orgWithEightLimits(service);
    for (let n = 0; n < models; n += 1) {
      await service.call('PUT', `/v1/admin/models/bench-${n}`, {
        input_usd_per_million: String(n + 1),
        output_usd_per_million: String(2 * n + 1),
        context_tokens: 100_000,
        capabilities: ['tools'],
      });
      for (let suite = 0; suite < suites; suite += 1) {
        const result = { suite: `suite-${suite}`, model: `bench-${n}`, score: n / models, samples: 100 };
        await service.call('POST', `/v1/orgs/${id}/evals`, result, key);
      }
    }
    const policy = { candidates: ['bench-*'], suite: 'suite-0', min_score: 0.5, max_age_days: 30 };
    await service.call('PUT', `/v1/orgs/${id}/routing-policy`, { ...policy, objective: 'cost' }, key);
    return againstBareServer(service, {
      method: 'POST',
      path: '/v1/routing/decisions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input_tokens: 1_200, max_output_tokens: 400, capabilities: ['tools'] }),
    });
  },
};
