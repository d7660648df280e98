/** Webhook peers, each in its own process: a receiver that counts, and the floor, which only posts. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';

export type Asked =
  | { readonly kind: 'receive' }
  | { readonly kind: 'count' }
  | {
      readonly kind: 'post';
      readonly port: number;
      readonly body: string;
      readonly connections: number;
      readonly seconds: number;
    };

export interface Count {
  readonly received: number;
  /** Number of distinct deliveries. */
  readonly distinct: number;
}

export interface Posted {
  readonly posts: number;
  readonly elapsedMs: number;
}

let received = 0;
const distinct = new Set<string>();
const idLength = 30;

/** Records the path and the event's id, which is first in the body. */
async function receive(): Promise<AddressInfo> {
  const server = createServer((message, response) => {
    let beginning: Buffer | undefined;
    message.on('data', (chunk: Buffer) => {
      beginning ??= chunk;
    });
    message.on('end', () => {
      received += 1;
      distinct.add(`${message.url} ${beginning?.subarray(7, 7 + idLength).toString('latin1')}`);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address() as AddressInfo;
}

async function post({ port, body, connections, seconds }: Extract<Asked, { kind: 'post' }>): Promise<Posted> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const bytes = Buffer.from(body);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ port, agent, method: 'POST', path: '/floor', headers }, (answer) => {
        answer.on('end', resolve).resume();
      });
      sent.on('error', reject).end(bytes);
    });
  let posts = 0;
  const startedMs = performance.now();
  const deadlineMs = startedMs + seconds * 1_000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < deadlineMs) {
        await one();
        posts += 1;
      }
    }),
  );
  agent.destroy();
  return { posts, elapsedMs: performance.now() - startedMs };
}

async function answer(asked: Asked): Promise<object> {
  switch (asked.kind) {
    case 'receive':
      return receive();
    case 'count':
      return { received, distinct: distinct.size } satisfies Count;
    case 'post':
      return post(asked);
  }
}

process.on('message', (asked: Asked) => void answer(asked).then((told) => process.send?.(told)));
process.once('disconnect', () => process.exit());
