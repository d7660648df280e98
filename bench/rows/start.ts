import { performance } from 'node:perf_hooks';
import { decision, orgWithEightLimits, run } from '../bench-org.ts';
import { load } from '../load.ts';
import { median, type SingleRow } from '../measure.ts';
import { cpuMs, startService, temporaryDirectory } from '../processes.ts';

const starts = 5;

export const start: SingleRow = {
  kind: 'single',
  name: 'start',
  what: `embedded engine on a data directory that was used and left in order: from spawn to the first 200 of /readyz, median of ${starts}`,
  toReach: { seconds: { atMost: 3 } },
  async measure({ progress }) {
    const settings = { SVC_DATA_DIR: temporaryDirectory() };
    const first = await startService({ settings });
    const org = await orgWithEightLimits(first);
    for (const request of [decision(org), run(org)]) {
      await load({ port: first.port, request, connections: 10, seconds: 1 });
    }
    await first.stop();
    const seconds: number[] = [];
    const cpuSeconds: number[] = [];
    for (let n = 1; n <= starts; n += 1) {
      progress(`start ${n} of ${starts}`);
      const startedMs = performance.now();
      const service = await startService({ settings });
      await service.call('GET', '/readyz');
      seconds.push((performance.now() - startedMs) / 1_000);
      cpuSeconds.push(cpuMs(service.pid) / 1_000);
      await service.stop();
    }
    return {
      figures: {
        seconds: median(seconds),
        fastest: Math.min(...seconds),
        slowest: Math.max(...seconds),
        'CPU seconds': median(cpuSeconds),
      },
    };
  },
};
