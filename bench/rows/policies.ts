import { type BenchOrg, orgWithEightLimits, run } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { turn } from '../turn.ts';

const rules = 200;
/** Requests that wait at the same time share a commit, as in `run-single`. */
const connections = 200;

export const policies: PairsRow = {
  kind: 'pairs',
  name: 'policies',
  what: `POST /v1/runs of an org with ${rules} rules, half of them with an expression that is evaluated for every run; embedded engine, 8 limits`,
  floor: 'the same of an org without rules, same service',
  toReach: { 'CPU µs/request': { atMost: 1.5 } },
  async prepare() {
    const service = await startService();
    const governed = await orgWithEightLimits(service);
    const free = await orgWithEightLimits(service);
    await addRules(service, governed);
    const ask = (org: BenchOrg) => (seconds: number) =>
      turn([service], { request: run(org), connections, seconds });
    return { service: ask(governed), floor: ask(free), close: () => service.stop() };
  },
};

/** No rule matches, so that all of them are evaluated: the worst case for rules of this kind. */
async function addRules(service: ServiceProcess, { id, key }: BenchOrg): Promise<void> {
  const expressions = [
    'cost_usd > 100.0 && team != "research"',
    'department == "sales" && (hour < 0 || weekday > 7)',
    'workflow in ["triage", "billing"] && output_tokens > 100000',
    '"region" in tags && tags.region == "eu"',
  ];
  for (let n = 0; n < rules; n += 1) {
    await service.call(
      'POST',
      `/v1/orgs/${id}/policies`,
      {
        effect: n % 3 === 0 ? 'require_approval' : 'block',
        priority: n,
        reason: `rule ${n}`,
        ...(n % 2 === 0
          ? { expression: expressions[(n / 2) % expressions.length] }
          : { models: [`vendor-${n}/*`, `*-preview-${n}`], actions: ['delete_*'] }),
      },
      key,
    );
  }
}
