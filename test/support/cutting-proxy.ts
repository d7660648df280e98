/** Stands between a browser and the service, and can cut all connections at once, as a service that is killed would. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  cut(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const { port, hostname } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Cutting is what it is for.
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
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
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
