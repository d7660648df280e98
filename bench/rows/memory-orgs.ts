import { setTimeout as pause } from 'node:timers/promises';
import { decision } from '../bench-org.ts';
import { sendEach } from '../load.ts';
import type { SingleRow } from '../measure.ts';
import { residentBytes, type ServiceProcess, startService } from '../processes.ts';
import { seedBudgets, seededDirectory, seedOrgs } from '../seed.ts';

const size = { full: 10_000, small: 500 };
const limitsPerOrg = 10;
const connections = 50;
const megabyte = 1_000_000;
/** Longer than V8 needs to return the memory of the start. */
const restMs = 45_000;

export const memoryOrgs: SingleRow = {
  kind: 'single',
  name: 'memory-orgs',
  what:
    `memory after ${size.full} orgs with ${limitsPerOrg} limits each, all of which apply, have asked for one decision ` +
    'each, less that of the same service before. Resident: VmRSS of the process with its database thread, after a ' +
    'collection of garbage; heap: of the main thread alone; idle: of another process, ' +
    `${restMs / 1_000} s after its start, without requests`,
  toReach: { 'resident MB more': { atMost: 150 }, 'resident MB idle': { atMost: 250 } },
  shrinks: true,
  async measure({ small, progress }) {
    const count = small ? size.small : size.full;
    progress(`writing ${count} orgs`);
    const { dataDir, seeded: orgs } = await seededDirectory(async (db) => {
      const made = await seedOrgs(db, count);
      await seedBudgets(db, made, limitsPerOrg, `'{}'::jsonb`);
      return made;
    });
    const idle = await withService(dataDir, async (service) => {
      progress('resting');
      await pause(restMs);
      return measured(service);
    });
    // Another process: what the rest returns to the system would be missing from the growth.
    return withService(dataDir, async (service) => {
      const before = await measured(service);
      progress('deciding');
      await sendEach({ port: service.port, requests: orgs.map((org) => decision(org)), connections });
      const after = await measured(service);
      return {
        figures: {
          'resident MB more': (after.resident - before.resident) / megabyte,
          'heap MB more': (after.heap - before.heap) / megabyte,
          'resident MB idle': idle.resident / megabyte,
        },
      };
    });
  },
};

async function withService<Result>(
  dataDir: string,
  work: (service: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  const service = await startService({ settings: { SVC_DATA_DIR: dataDir }, collectable: true });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

async function measured(service: ServiceProcess) {
  const { heapUsed } = await service.memory();
  return { heap: heapUsed, resident: residentBytes(service.pid, 'now') };
}
