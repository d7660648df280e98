/** Edge decisions on PostgreSQL, which shares the cores with the service and the load. */
import { againstBareServer } from '../against-bare-server.ts';
import { decision, orgWithEightLimits } from '../bench-org.ts';
import type { PairsRow } from '../measure.ts';
import { query, startPostgres } from '../postgres.ts';
import { startService } from '../processes.ts';

/** Decisions of an org that wait at the same time share a transaction. */
const connections = 200;

export const edgePostgres = onPostgres('edge-postgres', 1, 'one process');
export const edgePostgresTwo = onPostgres(
  'edge-postgres-two',
  2,
  'two processes with the load split between them',
);

function onPostgres(name: string, processes: number, shown: string): PairsRow {
  return {
    kind: 'pairs',
    name,
    what: `POST /v1/edge/decision on PostgreSQL (fsync on), one hot org, 8 limits, ${connections} connections, ${shown}`,
    floor: 'a bare node:http server, one process, as many connections',
    toReach: { 'requests/s': { atLeast: 0.45 } },
    async prepare() {
      const postgres = await startPostgres();
      const url = await postgres.database('purser');
      const services = [];
      for (let started = 0; started < processes; started += 1) {
        services.push(await startService({ settings: { SVC_DATABASE_URL: url } }));
      }
      const [first] = services;
      if (first === undefined) {
        throw new Error('there has to be a process');
      }
      const contenders = await againstBareServer(
        services,
        decision(await orgWithEightLimits(first)),
        connections,
      );
      return {
        ...contenders,
        notes: async () => [await exactness(url)],
        async close() {
          await contenders.close();
          await postgres.stop();
        },
      };
    },
  };
}

/** Nothing was settled, so each counter must equal the sum of the open holds. */
async function exactness(url: string): Promise<string> {
  const [row] = await query<{ counters: string; holds: string; wrong: string }>(
    url,
    `WITH taken AS (
       SELECT body -> 'shares' ->> i AS key,
              sum((body -> 'amounts' ->> array_position(ARRAY['usd', 'tokens', 'requests'], body -> 'shares' ->> i + 1) - 1)::int8) AS amount
         FROM (SELECT record::jsonb AS body FROM holds) AS open CROSS JOIN generate_series(0, jsonb_array_length(body -> 'shares') - 1, 2) AS i GROUP BY 1
     )
     SELECT count(*) AS counters, (SELECT count(*) FROM holds) AS holds,
            count(*) FILTER (WHERE settled + held IS DISTINCT FROM amount) AS wrong
       FROM counters FULL JOIN taken USING (key)`,
  );
  const verdict =
    row?.wrong === '0' && row.counters !== '0' ? 'exact' : `NOT EXACT: ${row?.wrong} differ from their holds`;
  return `settled + held of ${row?.counters} counters against the sum over ${row?.holds} holds: ${verdict}`;
}
