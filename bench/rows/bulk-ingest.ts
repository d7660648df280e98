/** Bulk ingest on both engines, against the same transaction without the service. */
import { bulk, orgWithEightLimits } from '../bench-org.ts';
import type { Asked, Told } from '../bulk-floor.ts';
import { load } from '../load.ts';
import type { PairsRow, Sample } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { startHelper, startService, temporaryDirectory } from '../processes.ts';

const runsPerRequest = 1_000;
/** Two connections, so that the service can read a request while the database writes the previous one. */
const connections = 2;

export const bulkEmbedded = bulkOn('bulk-embedded', 'embedded engine', async () => ({
  serviceSettings: {},
  floorUrl: undefined,
  stop: async () => undefined,
}));

export const bulkPostgres = bulkOn('bulk-postgres', 'PostgreSQL (fsync on)', async () => {
  const postgres = await startPostgres();
  return {
    serviceSettings: { SVC_DATABASE_URL: await postgres.database('purser') },
    floorUrl: await postgres.database('bare'),
    stop: () => postgres.stop(),
  };
});

interface Engine {
  readonly serviceSettings: Readonly<Record<string, string>>;
  readonly floorUrl: string | undefined;
  stop(): Promise<void>;
}

function bulkOn(name: string, shown: string, startEngine: () => Promise<Engine>): PairsRow {
  return {
    kind: 'pairs',
    name,
    what: `POST /v1/runs/bulk, ${runsPerRequest} runs a request, ${connections} connections, 8 limits, ${shown}`,
    floor: `the statements of one such batch in one transaction on the same engine, without the service`,
    toReach: { 'runs/s': { atLeast: 0.8 } },
    async prepare() {
      const engine = await startEngine();
      const service = await startService({ settings: engine.serviceSettings });
      const request = bulk(await orgWithEightLimits(service), runsPerRequest);
      const floor = startHelper('./bulk-floor.ts');
      const place = {
        dataDir: temporaryDirectory(),
        ...(engine.floorUrl !== undefined && { databaseUrl: engine.floorUrl }),
      };
      await floor.ask({ kind: 'open', place, runsPerBatch: runsPerRequest } satisfies Asked);
      return {
        async service(seconds) {
          const { answers, elapsedMs } = await load({ port: service.port, request, connections, seconds });
          return rate({ runs: answers * runsPerRequest, elapsedMs });
        },
        floor: async (seconds) => rate(await floor.ask<Told>({ kind: 'turn', seconds } satisfies Asked)),
        async close() {
          await Promise.all([service.stop(), floor.stop()]);
          await engine.stop();
        },
      };
    },
  };
}

function rate({ runs, elapsedMs }: Told): Sample {
  return { 'runs/s': (runs * 1_000) / elapsedMs };
}
