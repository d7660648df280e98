/** A receiver of webhooks on a real socket. The test chooses its responses. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into events of every kind.
  readonly event: any;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Returns the ids of the events in order of arrival. */
  ids(): string[];
  close(): Promise<void>;
}

type AnswerTo = (response: ServerResponse, received: Received, socket: Socket) => void;

const accept: AnswerTo = (response) => void response.writeHead(204).end();

export async function startReceiver(answer: AnswerTo = accept): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { headers: request.headers, body, event: JSON.parse(body) };
      received.push(one);
      answer(response, one, request.socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    ids: () => received.map(({ event }) => event.id),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
