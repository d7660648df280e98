/** Errors at moments at which no statement waits for them must not end the process. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createLog } from '../../log.ts';
import { DatabaseUnavailable } from '../database.ts';
import { openPostgres } from './postgres.ts';

/** Encodes a message of the server: type, length and content. */
function message(type: string, content: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const authenticated = message('R', Buffer.alloc(4));
const ready = message('Z', Buffer.from('I'));
const terminated = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
);

test('a backend that is terminated in the packet that ends the handshake makes the database unavailable', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, terminated])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opening = openPostgres({
    url: `postgres://purser@127.0.0.1:${port}/purser`,
    connections: 1,
    log: createLog('silent'),
  });
  await expect(opening).rejects.toThrow(DatabaseUnavailable);
  for (const socket of sockets) {
    socket.destroy();
  }
  server.close();
});
