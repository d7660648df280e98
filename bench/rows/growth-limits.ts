import { defaultConnections } from '../against-bare-server.ts';
import { decision } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';
import { seedBudgets, seededDirectory, seedOrgs } from '../seed.ts';
import { turn } from '../turn.ts';

const size = { full: 10_000, small: 1_000 };

export const growthLimits: PairsRow = {
  kind: 'pairs',
  name: 'growth-limits',
  what: `edge decisions of an org with ${size.full} limits, budgets of as many workflows, of which one applies; embedded engine`,
  floor: 'edge decisions of an org with 1 limit, same service',
  toReach: { 'CPU µs/request': { atMost: 1.2 } },
  shrinks: true,
  async prepare({ small }) {
    const limits = small ? size.small : size.full;
    const { dataDir, seeded } = await seededDirectory(async (db) => {
      const [many, one] = await seedOrgs(db, 2);
      if (many === undefined || one === undefined) {
        throw new Error('two orgs are needed');
      }
      const byWorkflow = `jsonb_build_object('workflow', 'workflow-' || n)`;
      await seedBudgets(db, [many], limits, byWorkflow);
      await seedBudgets(db, [one], 1, byWorkflow);
      return { many, one };
    });
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir } });
    const ask = { connections: defaultConnections };
    const last = decision(seeded.many, { workflow: `workflow-${limits}` });
    const only = decision(seeded.one, { workflow: 'workflow-1' });
    return {
      service: (seconds) => turn([service], { ...ask, request: last, seconds }),
      floor: (seconds) => turn([service], { ...ask, request: only, seconds }),
      close: () => service.stop(),
    };
  },
};
