/** A server on a raw socket that sends bytes that no proper HTTP server sends, and a list of such responses. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface HostileAnswer {
  readonly name: string;
  readonly bytes: string | Buffer;
  /** The connection stays open after the bytes. */
  readonly staysOpen?: boolean;
}

const head = (statusLine: string, ...lines: string[]) => [statusLine, ...lines, '', ''].join('\r\n');
const ok = (...lines: string[]) => head('HTTP/1.1 200 OK', ...lines);
const json = 'content-type: application/json';
const empty = 'content-length: 0';

const statuses = [
  '000',
  '001',
  '099',
  '100',
  '101',
  '102',
  '103',
  '199',
  '200',
  '204',
  '205',
  '206',
  '226',
  '299',
  '300',
  '302',
  '304',
  '307',
  '399',
  '400',
  '407',
  '451',
  '499',
  '500',
  '599',
  '600',
  '666',
  '999',
];

export const hostileAnswers: readonly HostileAnswer[] = [
  ...statuses.flatMap((status) => [
    { name: `status ${status} without a body`, bytes: head(`HTTP/1.1 ${status} Odd`, empty) },
    {
      name: `status ${status} with a body`,
      bytes: `${head(`HTTP/1.1 ${status} Odd`, json, 'content-length: 2')}{}`,
    },
    { name: `status ${status} without a length`, bytes: `${head(`HTTP/1.1 ${status} Odd`, json)}{}` },
  ]),
  { name: 'a status of two digits', bytes: head('HTTP/1.1 20 OK', empty) },
  { name: 'a status of four digits', bytes: head('HTTP/1.1 2000 OK', empty) },
  { name: 'a status of many digits', bytes: head(`HTTP/1.1 ${'9'.repeat(400)} OK`, empty) },
  { name: 'a negative status', bytes: head('HTTP/1.1 -200 OK', empty) },
  { name: 'a status that is not a number', bytes: head('HTTP/1.1 abc OK', empty) },
  { name: 'no reason', bytes: head('HTTP/1.1 200', empty) },
  { name: 'odd bytes in the reason', bytes: Buffer.from(head('HTTP/1.1 200 \x80\xff\x01', empty), 'latin1') },
  { name: 'version 0.9', bytes: head('HTTP/0.9 200 OK', empty) },
  { name: 'version 2', bytes: head('HTTP/2.0 200 OK', empty) },
  { name: 'no HTTP', bytes: 'SSH-2.0-OpenSSH_9.2\r\n' },
  { name: 'a TLS alert', bytes: Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x28]) },
  { name: 'zero bytes', bytes: Buffer.alloc(1_000) },
  { name: 'nothing', bytes: '' },
  { name: 'half a head', bytes: 'HTTP/1.1 200 OK\r\ncontent-le' },
  { name: 'silence', bytes: '', staysOpen: true },
  { name: 'silence after the head', bytes: ok('content-length: 10'), staysOpen: true },
  {
    name: 'another protocol',
    bytes: `${head('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket')}\x81\x01a`,
  },
  {
    name: 'another protocol, and open',
    bytes: head('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: h2c'),
    staysOpen: true,
  },
  { name: 'an upgrade with status 200', bytes: ok('connection: upgrade', 'upgrade: h2c', empty) },
  { name: 'interim answers without an end', bytes: head('HTTP/1.1 103 Early Hints').repeat(5_000) },
  {
    name: 'interim answers without an end, and open',
    bytes: head('HTTP/1.1 102 Processing').repeat(5_000),
    staysOpen: true,
  },
  {
    name: 'many permissions to send',
    bytes: head('HTTP/1.1 100 Continue').repeat(5_000) + ok(json, 'content-length: 2').concat('{}'),
  },
  { name: 'a head of many bytes', bytes: ok(`x-long: ${'a'.repeat(100_000)}`, empty) },
  { name: 'a head of many lines', bytes: ok(...Array.from({ length: 5_000 }, (_, n) => `x-${n}: a`), empty) },
  {
    name: 'odd bytes in values',
    bytes: Buffer.from(
      ok('content-type: \x80\xff', 'retry-after: \xff', 'x-svc-trace-id: \xe9', empty),
      'latin1',
    ),
  },
  { name: 'control bytes in values', bytes: ok('content-type: a\x01b', 'retry-after: \x7f', empty) },
  { name: 'a zero byte in a value', bytes: ok('content-type: a\x00b', empty) },
  { name: 'a bare line feed in a value', bytes: ok('content-type: a\nb: c', empty) },
  { name: 'a bare carriage return in a value', bytes: ok('content-type: a\rb', empty) },
  { name: 'a folded value', bytes: ok('content-type: a\r\n b', empty) },
  { name: 'an empty value', bytes: ok('content-type:', 'retry-after:', 'x-svc-trace-id:', empty) },
  { name: 'a name with a space', bytes: ok('content type: a', empty) },
  { name: 'an empty name', bytes: ok(': a', empty) },
  {
    name: 'names of every object',
    bytes: ok('__proto__: a', 'constructor: b', 'tostring: c', 'x-svc-trace-id: a', empty),
  },
  {
    name: 'the same header many times',
    bytes: ok(...Array.from({ length: 100 }, () => 'content-type: a/b'), empty),
  },
  { name: 'two lengths', bytes: `${ok('content-length: 1', 'content-length: 2')}{}` },
  { name: 'a length and chunks', bytes: `${ok('content-length: 1', 'transfer-encoding: chunked')}0\r\n\r\n` },
  { name: 'a negative length', bytes: `${ok('content-length: -1')}{}` },
  { name: 'a length that is not a number', bytes: `${ok('content-length: 2a')}{}` },
  { name: 'an endless length', bytes: `${ok(`content-length: ${'9'.repeat(30)}`)}{}` },
  { name: 'a length that is too long', bytes: `${ok(json, 'content-length: 100')}{}` },
  { name: 'a length that is too short', bytes: `${ok(json, 'content-length: 1')}{}{}{}` },
  { name: 'chunks that break off', bytes: `${ok('transfer-encoding: chunked')}5\r\nab` },
  { name: 'a chunk without a size', bytes: `${ok('transfer-encoding: chunked')}\r\nab\r\n0\r\n\r\n` },
  { name: 'a chunk of no number', bytes: `${ok('transfer-encoding: chunked')}zz\r\nab\r\n0\r\n\r\n` },
  { name: 'an endless chunk', bytes: `${ok('transfer-encoding: chunked')}${'f'.repeat(40)}\r\nab` },
  {
    name: 'long extensions of chunks',
    bytes: `${ok('transfer-encoding: chunked')}2;${'a'.repeat(50_000)}\r\n{}\r\n0\r\n\r\n`,
  },
  {
    name: 'trailers',
    bytes: `${ok(json, 'transfer-encoding: chunked', 'trailer: a')}2\r\n{}\r\n0\r\na: b\r\n\r\n`,
  },
  {
    name: 'broken trailers',
    bytes: `${ok(json, 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n: \x01b\r\n\r\n`,
  },
  {
    name: 'many trailers',
    bytes: `${ok(json, 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n${'a: b\r\n'.repeat(20_000)}\r\n`,
  },
  { name: 'trailers that break off', bytes: `${ok('transfer-encoding: chunked')}2\r\n{}\r\n0\r\na: b` },
  { name: 'an unknown transfer encoding', bytes: `${ok('transfer-encoding: rot13')}{}` },
  { name: 'gzip that is none', bytes: `${ok(json, 'content-encoding: gzip', 'content-length: 2')}{}` },
  {
    name: 'many encodings',
    bytes: `${ok(json, `content-encoding: ${'gzip, '.repeat(500)}gzip`, 'content-length: 2')}{}`,
  },
  {
    name: 'status 500 in gzip that is none',
    bytes: `${head('HTTP/1.1 500 Odd', 'content-encoding: gzip', 'content-length: 2')}{}`,
  },
  { name: 'an unknown encoding', bytes: `${ok(json, 'content-encoding: zip', 'content-length: 2')}{}` },
  { name: 'an unknown character set', bytes: `${ok(`${json}; charset=utf-99`, 'content-length: 2')}{}` },
  { name: 'no UTF-8', bytes: Buffer.from(`${ok(json, 'content-length: 4')}"\xff\xfe"`, 'latin1') },
  { name: 'no JSON', bytes: `${ok(json, 'content-length: 1')}{` },
  { name: 'nothing for JSON', bytes: ok(json, empty) },
  { name: 'null for JSON', bytes: `${ok(json, 'content-length: 4')}null` },
  { name: 'deep JSON', bytes: ok(json) + '['.repeat(30_000) + ']'.repeat(30_000) },
  { name: 'a body of many bytes', bytes: ok(json) + ' '.repeat(3_000_000) },
  {
    name: 'a redirect to itself',
    bytes: head('HTTP/1.1 302 Found', 'location: /', empty),
  },
  {
    name: 'a redirect to nowhere',
    bytes: head('HTTP/1.1 307 Temporary Redirect', 'location: \x80http://[', empty),
  },
  { name: 'two answers', bytes: `${ok(json, 'content-length: 2')}{}${ok(json, 'content-length: 2')}{}` },
  { name: 'bytes after the answer', bytes: `${ok(json, 'content-length: 2')}{}garbage` },
];

export interface HostileServer {
  readonly port: number;
  readonly url: string;
  /** The response to the next requests. */
  answer: HostileAnswer;
  /** Cuts all connections, so that none is reused for the next response. */
  cut(): void;
  close(): Promise<void>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', () => {
      const { bytes, staysOpen } = hostile.answer;
      socket.write(bytes);
      socket.resume();
      if (staysOpen !== true) {
        socket.end();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hostile: HostileServer = {
    port,
    url: `http://127.0.0.1:${port}`,
    answer: { name: 'nothing', bytes: '' },
    cut() {
      for (const socket of sockets) {
        socket.destroy();
      }
    },
    async close() {
      hostile.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return hostile;
}

export interface UncaughtErrors {
  /** Returns the errors since the last call, after everything that is queued now has run. */
  take(): Promise<unknown[]>;
  stop(): void;
}

/** Collects uncaught errors, which would end a process. */
export function watchUncaughtErrors(): UncaughtErrors {
  const seen: unknown[] = [];
  const note = (error: unknown) => void seen.push(error);
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  return {
    async take() {
      // An unhandled rejection is reported after the microtasks, an error that destroys a socket one turn later.
      for (let turn = 0; turn < 3; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      return seen.splice(0);
    },
    stop() {
      process.off('uncaughtException', note);
      process.off('unhandledRejection', note);
    },
  };
}
