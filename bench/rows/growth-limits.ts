import { defaultConnections } from '../against-bare-server.ts';
import { decision } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';
import { seedBudgets, seededDirectory, seedOrgs } from '../seed.ts';
import { turn } from '../turn.ts';

const size = { full: 10_000, small: 1_000 };

interface Growth {
  readonly name: string;
  readonly what: string;
  /** The match of budget `n`, as SQL. */
  readonly match: string;
  /** The fields of a decision to which one of so many budgets applies. */
  fieldsOf(limits: number): object;
}

/** Compares decisions of an org with many budgets, of which one applies, with those of an org with that one alone. */
function growthRow({ name, what, match, fieldsOf }: Growth): PairsRow {
  return {
    kind: 'pairs',
    name,
    what: `edge decisions of an org with ${size.full} ${what}, of which one applies; embedded engine`,
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
        await seedBudgets(db, [many], limits, match);
        await seedBudgets(db, [one], 1, match);
        return { many, one };
      });
      const service = await startService({ settings: { SVC_DATA_DIR: dataDir } });
      const ask = { connections: defaultConnections };
      const last = decision(seeded.many, fieldsOf(limits));
      const only = decision(seeded.one, fieldsOf(1));
      return {
        service: (seconds) => turn([service], { ...ask, request: last, seconds }),
        floor: (seconds) => turn([service], { ...ask, request: only, seconds }),
        close: () => service.stop(),
      };
    },
  };
}

export const growthLimits = growthRow({
  name: 'growth-limits',
  what: 'limits, budgets of as many workflows',
  match: `jsonb_build_object('workflow', 'workflow-' || n)`,
  fieldsOf: (limits) => ({ workflow: `workflow-${limits}` }),
});

/** The first budget is that of the key that decides (`keyIdOf`). */
export const growthKeyBudgets = growthRow({
  name: 'growth-key-budgets',
  what: 'budgets of as many keys',
  match: `jsonb_build_object('key_id', CASE n WHEN 1 THEN replace(org_id, 'org_', 'key_') ELSE 'key_other_' || n END)`,
  fieldsOf: () => ({}),
});
