/** A proxy between a client and the service that can cut all connections, like a killed service, refuse new ones, and lose answers. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  cut(): void;
  /** Cuts all connections, and those to come until `restore`. */
  refuse(): void;
  /** Passes requests on, and cuts each connection when its answer arrives, until `restore`. */
  loseAnswers(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const { port, hostname } = new URL(url);
  const sockets = new Set<Socket>();
  let isRefusing = false;
  let isLosing = false;
  const server = createServer((client) => {
    if (isRefusing) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Errors are expected, because this proxy cuts connections.
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
    upstream.on('data', () => isLosing && client.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  function cut(): void {
    for (const socket of sockets) {
      socket.destroy();
    }
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    refuse() {
      isRefusing = true;
      cut();
    },
    loseAnswers() {
      isLosing = true;
    },
    restore() {
      isRefusing = false;
      isLosing = false;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
