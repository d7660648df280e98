/** Decisions of many orgs on PostgreSQL, compared with as many decisions of one org. */
import { decision, orgWithEightLimits } from '../bench-org.ts';
import type { LoadRequest } from '../load.ts';
import type { PairsRow } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { turn } from '../turn.ts';

const connections = 200;
const madeAtOnce = 16;

export const growthOrgsFifty = growthOrgs(50, 0.6);
export const growthOrgsThousand = growthOrgs(1_000, 0.5);

function growthOrgs(count: number, atLeast: number): PairsRow {
  return {
    kind: 'pairs',
    name: `growth-orgs-${count}`,
    what: `edge decisions on PostgreSQL (fsync on), ${count} orgs in turn, 8 limits each, ${connections} connections`,
    floor: 'the same of one org, same service',
    toReach: { 'requests/s': { atLeast } },
    async prepare() {
      const postgres = await startPostgres();
      const service = await startService({
        settings: { SVC_DATABASE_URL: await postgres.database('purser') },
      });
      const requests = await decisionsOf(service, count);
      const ask = (among: readonly LoadRequest[]) => {
        let sent = 0;
        return () => {
          sent += 1;
          return among[sent % among.length] as LoadRequest;
        };
      };
      const only = ask(requests.slice(0, 1));
      const all = ask(requests);
      return {
        service: (seconds) => turn([service], { connections, request: all, seconds }),
        floor: (seconds) => turn([service], { connections, request: only, seconds }),
        async close() {
          await service.stop();
          await postgres.stop();
        },
      };
    },
  };
}

async function decisionsOf(service: ServiceProcess, count: number): Promise<LoadRequest[]> {
  const requests: LoadRequest[] = [];
  while (requests.length < count) {
    const more = Math.min(madeAtOnce, count - requests.length);
    const orgs = await Promise.all(Array.from({ length: more }, () => orgWithEightLimits(service)));
    requests.push(...orgs.map((org) => decision(org)));
  }
  return requests;
}
