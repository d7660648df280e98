import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { type Receiver, startReceiver } from '../../../../test/support/webhook-receiver.ts';
import { isPublicAddress } from '../../../platform/outbound/addresses.ts';
import { checkedLookup, type ResolvedAddress } from '../../../platform/outbound/checked-lookup.ts';
import { createSender, type Sender, type SenderOptions } from './sender.ts';

/** Total timeout of attempts that must time out. */
const shortMs = 300;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0)) {
    await one.close();
  }
});

/** By default the total timeout is much longer than a response takes on a busy machine. */
const sender = (options: Partial<SenderOptions> = {}): Sender => {
  const made = createSender({ allowPrivateNetworks: true, timeoutMs: 60_000, ...options });
  open.push(made);
  return made;
};
const receiver = async (...args: Parameters<typeof startReceiver>): Promise<Receiver> => {
  const started = await startReceiver(...args);
  open.push(started);
  return started;
};
const send = (with_: Sender, url: string) => with_.send({ url, headers: {}, body: Buffer.from('{}') });

describe('addresses that are not allowed', () => {
  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:7f00:1::',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
    'but %s is allowed',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
});

describe('checks the address when connecting', () => {
  const refused = async (url: string, resolve?: SenderOptions['resolve']) =>
    (await send(sender({ allowPrivateNetworks: false, ...(resolve && { resolve }) }), url)).error;

  test('rejects an address in the URL, in any notation', async () => {
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '017700000001',
      '[::1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::a9fe:a9fe]',
    ]) {
      expect([host, await refused(`http://${host}:1/`)]).toEqual([host, 'address_not_allowed']);
    }
  });

  test('rejects a name that resolves to such an address among others', async () => {
    const there = await receiver();
    const { port } = new URL(there.url);
    const good = { address: '8.8.8.8', family: 4 };
    for (const addresses of [
      [{ address: '127.0.0.1', family: 4 }],
      [good, { address: '127.0.0.1', family: 4 }],
      [good, { address: '::ffff:127.0.0.1', family: 6 }],
      [{ address: '169.254.169.254', family: 4 }],
    ]) {
      expect(await refused(`http://receiver.example:${port}/`, async () => addresses)).toBe(
        'address_not_allowed',
      );
    }
    expect(there.received).toHaveLength(0);
  });

  test('a name that resolves to another address the second time', async () => {
    let asked = 0;
    // Like a DNS rebinding attack: a public address for the check, a private one for the connection.
    const resolve = async (): Promise<ResolvedAddress[]> => {
      asked += 1;
      return [{ address: asked === 1 ? '8.8.8.8' : '127.0.0.1', family: 4 }];
    };
    const lookup = checkedLookup({ resolve, allowPrivateNetworks: false });
    const connectedTo = () =>
      new Promise((told) => lookup('rebind.example', { all: true }, (error, found) => told(error ?? found)));
    // The checked address is used: there is no second lookup.
    expect(await connectedTo()).toEqual([{ address: '8.8.8.8', family: 4 }]);
    expect(asked).toBe(1);
    expect(await connectedTo()).toBeInstanceOf(Error);
    const there = await receiver();
    expect(await refused(there.url.replace('127.0.0.1', 'rebind.example'), resolve)).toBe(
      'address_not_allowed',
    );
    expect(there.received).toHaveLength(0);
  });

  test('reports a name that cannot be resolved', async () => {
    expect(await refused('http://nowhere.example/', async () => [])).toBe('name_not_resolved');
    expect(await refused('http://nowhere.example/', () => Promise.reject(new Error('SERVFAIL')))).toBe(
      'name_not_resolved',
    );
  });
});

/** Starts a server that controls every byte it sends. */
async function rawServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('handles receivers', () => {
  test('a receiver that sends nothing is aborted after the total timeout', async () => {
    const url = await rawServer(() => undefined);
    expect(await send(sender({ timeoutMs: shortMs }), url)).toMatchObject({ status: null, error: 'timeout' });
  });

  test('a receiver that sends headers slowly is aborted after the total timeout', async () => {
    const url = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x-drip: 1\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    // The response never ends, so an idle timeout alone would not abort it.
    const answer = await send(sender({ timeoutMs: shortMs }), url);
    expect(answer).toMatchObject({ status: null, error: 'timeout' });
  });

  test('a receiver that sends its body slowly is aborted after the total timeout, and its status counts', async () => {
    const there = await receiver((response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const statusRead = new Promise<void>((resolve) =>
      subscribe('http.client.response.finish', function onResponse(_message, name) {
        unsubscribe(name, onResponse);
        resolve();
      }),
    );
    const sent = send(sender({ timeoutMs: shortMs }), there.url);
    await statusRead;
    vi.advanceTimersByTime(shortMs);
    expect(await sent).toMatchObject({ status: 200, error: null });
  });

  test('a receiver that resets the connection is handled', async () => {
    const url = await rawServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    expect(await send(sender(), url)).toMatchObject({ status: null, error: 'connection_reset' });
  });

  test('a receiver that upgrades to another protocol is not a success', async () => {
    let closed = false;
    const url = await rawServer((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
      );
      socket.on('close', () => {
        closed = true;
      });
    });
    expect(await send(sender(), url)).toMatchObject({ status: 101, error: null });
    await eventually(() => expect(closed).toBe(true));
  });

  test('a receiver that does not listen is handled', async () => {
    expect(await send(sender(), 'http://127.0.0.1:1/')).toMatchObject({ error: 'connection_refused' });
  });

  test('a receiver that speaks another protocol is handled', async () => {
    const url = await rawServer((socket) => void socket.end('220 smtp.example ESMTP\r\n'));
    expect(await send(sender(), url)).toMatchObject({ error: 'invalid_answer' });
  });

  test('of a receiver that returns 10 MB the first bytes are kept, and the rest is not read', async () => {
    let written = 0;
    const there = await receiver((response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1_024, 'a');
      const more = () => {
        while (written < 10_000_000) {
          written += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    const answer = await send(sender(), there.url);
    expect(answer.status).toBe(200);
    expect(answer.response).toBe('a'.repeat(1_024));
    expect(written).toBeLessThan(10_000_000);
  });

  test('binary data of a receiver is stored without control characters', async () => {
    const there = await receiver((response) => void response.end(Buffer.from([0, 1, 65, 0xff, 66])));
    expect((await send(sender(), there.url)).response).toBe('\ufffd\ufffdA\ufffdB');
  });

  test('a receiver that closes idle connections while they are reused is handled', async () => {
    let connections = 0;
    const url = await rawServer((socket) => {
      connections += 1;
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests > 1) {
          socket.resetAndDestroy();
        } else {
          socket.write('HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n');
        }
      });
    });
    const one = sender();
    expect((await send(one, url)).status).toBe(204);
    expect((await send(one, url)).status).toBe(204);
    expect(connections).toBe(2);
  });
});

test('sends nothing after it was closed, and aborts attempts in flight', async () => {
  let requests = 0;
  const url = await rawServer((socket) => {
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) {
        socket.write('HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n');
      }
    });
  });
  const one = sender();
  await send(one, url);
  // The second request uses an existing connection, which otherwise is a reason to retry.
  const underWay = send(one, url);
  await eventually(() => expect(requests).toBe(2));
  one.close();
  expect((await underWay).error).toBe('connection_reset');
  expect((await send(one, url)).error).toBe('connection_reset');
  expect(requests).toBe(2);
});
