/** Latency of decisions while old runs are deleted. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchOrg, decision } from '../bench-org.ts';
import { loadOnSchedule, percentile } from '../load.ts';
import { median, type SingleRow } from '../measure.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { seededDirectory } from '../seed.ts';
import { fillRuns } from './growth-runs.ts';

const size = { full: 1_000_000, small: 50_000 };
const turns = 5;
const secondsPerTurn = 3;
const perSecond = 1_000;
const connections = 100;
const beginWithinMs = 60_000;
const endWithinMs = 1_800_000;

interface Policy {
  readonly last_run: {
    readonly finished_at: string | null;
    readonly deleted: { readonly runs: number };
  } | null;
}

export const retention: SingleRow = {
  kind: 'single',
  name: 'retention',
  what:
    `p99 of edge decisions, ${perSecond} a second in an open loop, while retention deletes ${size.full} runs of the same org; ` +
    `median of ${turns} turns against the median of ${turns} turns before it began; embedded engine`,
  toReach: { 'p99, times that without': { atMost: 1.5 } },
  shrinks: true,
  async measure({ small, progress }) {
    const runs = small ? size.small : size.full;
    const { dataDir, seeded: org } = await seededDirectory((db) => fillRuns(db, runs, progress));
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir } });
    try {
      const measure = async (): Promise<number> => {
        const p99s: number[] = [];
        for (let turn = 0; turn < turns; turn += 1) {
          p99s.push(await p99Of(service, org));
        }
        return median(p99s);
      };
      await p99Of(service, org);
      const without = await measure();
      const policy = () =>
        service.call<Policy>('GET', `/v1/orgs/${org.id}/retention-policy`, undefined, org.key);
      await service.call('PUT', `/v1/orgs/${org.id}/retention-policy`, { runs_days: 1 }, org.key);
      await until(beginWithinMs, async () => ((await policy()).last_run?.deleted.runs ?? 0) > 0);
      progress('deleting');
      const startedMs = performance.now();
      const before = (await policy()).last_run?.deleted.runs ?? 0;
      const meanwhile = await measure();
      const seconds = (performance.now() - startedMs) / 1_000;
      const { last_run } = await policy();
      const went = last_run?.finished_at === null ? 'all the time' : 'NOT all the time';
      const rate = ((last_run?.deleted.runs ?? 0) - before) / seconds;
      await until(endWithinMs, async () => (await policy()).last_run?.finished_at != null);
      const { balanced } = await service.call<{ balanced: boolean }>(
        'GET',
        `/v1/orgs/${org.id}/ledger/reconciliation`,
        undefined,
        org.key,
      );
      const deleted = (await policy()).last_run?.deleted.runs;
      return {
        figures: {
          'p99, times that without': meanwhile / without,
          'p99 ms without': without,
          'p99 ms meanwhile': meanwhile,
          'runs deleted/s': rate,
        },
        notes: [
          `it was deleting ${went} while it was measured`,
          `${deleted} runs were deleted in the end, and the books are ${balanced ? 'balanced' : 'NOT BALANCED'}`,
        ],
      };
    } finally {
      await service.stop();
    }
  },
};

async function p99Of({ port }: ServiceProcess, org: BenchOrg): Promise<number> {
  const { latenciesMs } = await loadOnSchedule({
    port,
    request: decision(org),
    perSecond,
    connections,
    seconds: secondsPerTurn,
  });
  return percentile(latenciesMs, 99);
}

async function until(withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) {
      throw new Error('retention did not get there in time');
    }
    await pause(500);
  }
}
