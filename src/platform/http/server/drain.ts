/** Stops a server gracefully: requests in flight are answered, all other connections are closed. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastPath } from '../fast/fast-path.ts';

const sweepEveryMs = 50;

export interface Drainable {
  /** Resolves when the last connection is closed. Destroys connections that are still open after `withinMs`. */
  drain(withinMs: number): Promise<void>;
}

export function drainable(server: Server, fastPath: FastPath | undefined): Drainable {
  // `closeIdleConnections` closes neither connections that never sent a byte nor those detached by CONNECT.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    async drain(withinMs) {
      const closed = once(server, 'close');
      server.close();
      const deadlineMs = Date.now() + withinMs;
      const sweep = setInterval(() => {
        // A keep-alive connection becomes idle once its last response is sent.
        server.closeIdleConnections();
        fastPath?.closeIdle();
        for (const socket of sockets) {
          if (socket.bytesRead === 0 || Date.now() > deadlineMs) {
            socket.destroy();
          }
        }
      }, sweepEveryMs);
      await closed;
      clearInterval(sweep);
    },
  };
}
