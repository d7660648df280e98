/** Ends a server in order: requests in flight get their answer, everything else is closed. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastPath } from '../fast/fast-path.ts';

const sweepEveryMs = 50;

export interface Drainable {
  /** Resolves when the last connection is closed, at the latest after `withinMs`. */
  drain(withinMs: number): Promise<void>;
}

export function drainable(server: Server, fastPath: FastPath | undefined): Drainable {
  // Node counts neither a connection that never sent a byte nor one that was detached by CONNECT.
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
        // A kept-alive connection becomes idle when its last answer is out.
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
