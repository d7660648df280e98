/** Processes that are killed between a call and its settlement: every run is recorded after the next start, and none twice. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildModules } from '../../packages/client/build.mjs';
import { createPurser } from '../../packages/client/src/node.ts';
import { endAllProcesses, spawnNode } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { useGatewayWorld } from '../support/gateway-world.ts';
import { rounds } from '../support/rounds.ts';

const gateway = useGatewayWorld();
let directory: string;
let proxy: Server;
let key: string;
/** What becomes of settlements: they do not arrive, their answers do not, or both do. */
let mode: 'lost' | 'unanswered' | 'answered' = 'answered';
/** Settlements that the proxy has received, and those that it has answered or forwarded. */
let settlements = 0;

beforeAll(async () => {
  ({ secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']));
  directory = mkdtempSync(join(tmpdir(), 'purser-client-'));
  await buildModules(join(directory, 'client'));
  proxy = createServer((request, response) => void relay(request, response));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await endAllProcesses();
  proxy.closeAllConnections();
  proxy.close();
  rmSync(directory, { recursive: true, force: true });
});

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) {
    parts.push(part as Buffer);
  }
  const isSettlement = request.url === '/v1/runs';
  if (isSettlement && mode === 'lost') {
    settlements += 1;
    return;
  }
  const { authorization = '', 'idempotency-key': idempotencyKey = '' } = request.headers;
  const answer = await fetch(`${gateway.url}${request.url}`, {
    method: request.method ?? '',
    headers: {
      authorization,
      'content-type': 'application/json',
      ...(idempotencyKey !== '' && { 'idempotency-key': String(idempotencyKey) }),
    },
    ...(parts.length > 0 && { body: Buffer.concat(parts) }),
  });
  const text = await answer.text();
  settlements += isSettlement ? 1 : 0;
  if (!(isSettlement && mode === 'unanswered')) {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
  }
}

const modes = ['lost', 'unanswered', 'answered'] as const;
const times = rounds(3, 100);

test(`kill -9 between call and settlement, ${times} times: every run is recorded, none twice`, async () => {
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const spool = join(directory, 'spool');
  for (let round = 0; round < times; round += 1) {
    mode = modes[round % modes.length] as (typeof modes)[number];
    const before = settlements;
    const child = spawnNode(['test/support/spool-client.mjs'], {
      CLIENT: join(directory, 'client/node.js'),
      PROVIDER_URL: gateway.provider.url,
      PURSER_URL: url,
      PURSER_KEY: key,
      PURSER_SPOOL: spool,
      ROUND: String(round),
    });
    await eventually(async () => expect(child.stdout(), child.stderr()).toContain('answered'));
    if (mode !== 'answered') {
      // The settlement is on its way, and has arrived or not.
      await eventually(async () => expect(settlements).toBeGreaterThan(before));
    }
    await child.end('SIGKILL');
    proxy.closeAllConnections();
    // The call has returned, so its settlement is on disk or posted.
    if (mode === 'lost') {
      expect(readdirSync(spool).filter((name) => name.endsWith('.json')).length).toBeGreaterThan(0);
    }
  }
  mode = 'answered';
  const purser = createPurser({ url, key, spool, requestTimeoutMs: 600_000 });
  await purser.flush();
  expect(readdirSync(spool).filter((name) => !name.endsWith('.tmp'))).toEqual([]);
  const runs = await gateway.runs();
  const recorded = runs.map(({ tags }) => Number((tags as { round: string }).round));
  expect(recorded.toSorted((a, b) => a - b)).toEqual(Array.from({ length: times }, (_, round) => round));
  expect(gateway.provider.bill).toHaveLength(times);
  expect(await gateway.holds()).toBe(0);
});
