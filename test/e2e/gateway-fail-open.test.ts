/**
 * Calls through the gateway while a real PostgreSQL server is stopped: with `SVC_EDGE_FAIL_MODE=open` they are allowed, and each is
 * posted once, whatever happens to the process that forwarded it.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  billedByCall,
  callHeaders,
  createGatewayProcesses,
  type GatewayProcesses,
  postedByCall,
  promptOf,
} from '../support/gateway-processes.ts';
import { type SpendingOrg, spending } from '../support/money.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { scratch } from '../support/scratch.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { engine, makePlace } from '../support/test-database.ts';

describe.runIf(engine === 'postgres')('while PostgreSQL is away', () => {
  let cluster: Cluster;
  let world: GatewayProcesses;
  afterEach(async () => {
    await world?.remove();
    await cluster?.remove();
  });

  async function begin(mode: 'open' | 'closed'): Promise<SpendingOrg> {
    cluster = await startCluster(findPostgres() ?? '', scratch);
    const { dataDir, remove } = await makePlace({ migrated: true });
    const place = { dataDir, remove, databaseUrl: cluster.url };
    world = await createGatewayProcesses(1, { SVC_EDGE_FAIL_MODE: mode, SVC_DRAIN_SECONDS: '1' }, place);
    const org = await world.createOrg();
    expect((await send(org, 100, false)).status).toBe(200);
    return org;
  }

  function send(org: SpendingOrg, number: number, stream: boolean): Promise<Response> {
    return fetch(`${(world.services[0] as ServiceProcess).url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: callHeaders(org, number),
      body: JSON.stringify({
        model: 'gpt-test',
        stream,
        max_tokens: 100,
        messages: [{ role: 'user', content: promptOf(number) }],
      }),
    });
  }

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'calls of a process that ends with %s are posted by the next one, exactly and as degraded',
    async (signal) => {
      const org = await begin('open');
      const first = world.services[0] as ServiceProcess;
      await cluster.stop();
      const numbers = Array.from({ length: 20 }, (_, index) => 200 + index);
      const texts = await Promise.all(
        numbers.map(async (number) => {
          const response = await send(org, number, number % 2 === 0);
          return [response.status, await response.text()] as const;
        }),
      );
      expect(texts.filter(([status]) => status !== 200)).toEqual([]);
      await first.end(signal);
      await cluster.start();

      world.services = [await world.start()];
      const next = world.services[0] as ServiceProcess;
      const billed = billedByCall(world.provider.bill);
      await eventually(async () => {
        const posted = await postedByCall(next, org);
        for (const number of numbers) {
          expect([number, posted.get(number)]).toEqual([
            number,
            { status: 'succeeded', costNanos: billed.get(number), marks: ['degraded'] },
          ]);
        }
      });
      await eventually(async () => expect(await spending(next, org).holds()).toEqual([]));
      await spending(next, org).balanced();
    },
  );

  test('closed: calls are 503 in the format of the provider, and pass again once the server is back', async () => {
    const org = await begin('closed');
    await cluster.stop();
    const denied = await send(org, 200, true);
    expect([denied.status, (await denied.json()).error.code]).toEqual([503, 'service_unavailable']);
    expect(world.provider.requests).toHaveLength(1);
    await cluster.start();
    await eventually(async () => expect((await send(org, 201, false)).status).toBe(200));
  });
});
