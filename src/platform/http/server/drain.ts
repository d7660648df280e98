/** Stops a server gracefully: requests in flight are answered, and all other connections are closed. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastPath } from '../fast/fast-path.ts';

const sweepEveryMs = 50;
/** Time after the deadline in which streamed responses are ended properly. */
const endStreamsMs = 5_000;

export interface Drainable {
  /** Resolves when the last connection is closed. After `withinMs`, calls `endStreams` and then destroys the remaining connections. */
  drain(withinMs: number, endStreams?: () => Promise<void>): Promise<void>;
}

export function drainable(server: Server, fastPath: FastPath | undefined): Drainable {
  // Tracked here, because `closeIdleConnections` closes neither connections without any received byte nor those detached by
  // CONNECT.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    async drain(withinMs, endStreams) {
      const closed = once(server, 'close');
      server.close();
      let isOverdue = false;
      const deadline = setTimeout(async () => {
        if (endStreams !== undefined) {
          await Promise.race([endStreams().catch(() => undefined), pause(endStreamsMs)]);
          // Waits until the connections of the ended responses are idle.
          await pause(2 * sweepEveryMs);
        }
        isOverdue = true;
      }, withinMs);
      const sweep = setInterval(() => {
        // A keep-alive connection becomes idle once its last response is sent.
        server.closeIdleConnections();
        fastPath?.closeIdle();
        for (const socket of sockets) {
          if (socket.bytesRead === 0 || isOverdue) {
            socket.destroy();
          }
        }
      }, sweepEveryMs);
      await closed;
      clearTimeout(deadline);
      clearInterval(sweep);
    },
  };
}
