import { againstBareServer } from '../against-bare-server.ts';
import { orgWithEightLimits, run } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { startService } from '../processes.ts';

/** Requests that wait at the same time share a commit. */
const connections = 200;
const floor =
  'a bare node:http server that parses the same body and answers as many bytes, as many connections';

function whatOn(engine: string): string {
  return `POST /v1/runs, one run a request, ${engine}, 8 limits, durable before its answer, ${connections} connections`;
}

export const runSingle: PairsRow = {
  kind: 'pairs',
  name: 'run-single',
  what: whatOn('embedded engine'),
  floor,
  toReach: { 'requests/s': { atLeast: 0.4 } },
  async prepare() {
    const service = await startService();
    return againstBareServer(service, run(await orgWithEightLimits(service)), connections);
  },
};

export const runSinglePostgres: PairsRow = {
  kind: 'pairs',
  name: 'run-single-postgres',
  what: whatOn('PostgreSQL on the same cores (fsync on)'),
  floor,
  toReach: { 'requests/s': { atLeast: 0.3 } },
  async prepare() {
    const postgres = await startPostgres();
    const service = await startService({ settings: { SVC_DATABASE_URL: await postgres.database('purser') } });
    const contenders = await againstBareServer(service, run(await orgWithEightLimits(service)), connections);
    return {
      ...contenders,
      async close() {
        await contenders.close();
        await postgres.stop();
      },
    };
  },
};
