/**
 * The bytes of responses through the gateway, by digest: those of the provider, less the usage chunk that the client did not request,
 * however the provider cuts, compresses and separates them.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { formatSamples } from '../../test/support/format-samples.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { sampleWithSeed, seedsOf } from '../../test/support/seeds.ts';
import type { Fields } from '../kernel/providers/fields.ts';
import { allFormats, type FormatName } from '../kernel/providers/formats.ts';

const outputTokens = 5;
const gateway = useGatewayWorld();
let replay: Server;
/** The next response of the provider. */
let next: { readonly chunks: readonly Buffer[]; readonly headers: Record<string, string> };

beforeAll(async () => {
  // Letters of one to four bytes.
  gateway.provider.wordOf = (index) => ['hello ', 'wörld ', '世界 ', '😀 ', '\n'][index % 5] as string;
  gateway.provider.outputOf = () => outputTokens;
  replay = createServer(async (request, response) => {
    request.resume();
    await once(request, 'end');
    response.writeHead(200, next.headers);
    for (const chunk of next.chunks) {
      response.write(chunk);
      await setImmediate();
    }
    response.end();
  });
  replay.listen(0, '127.0.0.1');
  await once(replay, 'listening');
  const url = `http://127.0.0.1:${(replay.address() as AddressInfo).port}`;
  gateway.connections = [
    connectionTo(url),
    connectionTo(url, 'anthropic'),
    connectionTo(url, 'gemini'),
    connectionTo(url, 'bedrock'),
  ];
});
afterAll(() => {
  replay.closeAllConnections();
  replay.close();
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
});

interface Streamed {
  readonly name: string;
  readonly path: string;
  readonly streamPath: string;
  readonly providerPath: string;
  readonly body: Fields;
  readonly tool: Fields | undefined;
  /** True if the gateway requests a usage chunk that it leaves out. */
  readonly dropsUsage: boolean;
}

/** Formats whose streams are server-sent events. */
const texts: readonly Streamed[] = allFormats
  .filter(({ request, response }) => request.output !== undefined && response.framing === 'sse')
  .flatMap(({ name, path: below, request: { requestsUsage } }) => {
    const { path, streamPath = path, providerPaths, body, tool } = formatSamples[name as FormatName];
    const providerPath = providerPaths?.streamed ?? `/v1${below}`;
    const text = { name, path, streamPath, providerPath, body, tool, dropsUsage: requestsUsage };
    const stream_options = { include_usage: true };
    const withUsage = {
      ...text,
      name: `${name} with usage`,
      body: { ...body, stream_options },
      dropsUsage: false,
    };
    return requestsUsage ? [text, withUsage] : [text];
  });
const shapes: readonly Streamed[] = [
  ...texts,
  ...texts.map((text) => ({
    ...text,
    name: `${text.name}, tool`,
    body: { ...text.body, tools: [text.tool] },
  })),
];

/** The events of a response, as the provider sends them. */
async function eventsOf({ providerPath, body, dropsUsage }: Streamed): Promise<string[]> {
  const sent = { ...body, stream: true, ...(dropsUsage && { stream_options: { include_usage: true } }) };
  const response = await fetch(`${gateway.provider.url}${providerPath}`, {
    method: 'POST',
    body: JSON.stringify(sent),
  });
  return (await response.text()).split('\n\n').slice(0, -1);
}

function call({ path, streamPath, body }: Streamed, isStream: boolean): Promise<Response> {
  return fetch(`${gateway.url}${isStream ? streamPath : path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: isStream }),
  });
}

const digestOf = (bytes: Buffer | ArrayBuffer) =>
  createHash('sha256')
    .update(Buffer.from(bytes as ArrayBuffer))
    .digest('hex');

const isUsageChunk = (event: string) => event.includes('"choices":[]');

/** Comments and pings between events, with the line breaks of the provider. */
function written(events: readonly string[], lineBreak: string, hasComments: boolean): Buffer {
  const all = hasComments
    ? events.flatMap((event) => [': keep-alive ✓', event, 'event: ping\ndata: {"type": "ping"}'])
    : events;
  return Buffer.from(all.map((event) => `${event}\n\n`.replaceAll('\n', lineBreak)).join(''));
}

function cutAt(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [...new Set(positions.map((position) => position % bytes.length))].sort((a, b) => a - b);
  return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));
}

const positionsWhere = (bytes: Buffer, matches: (byte: number, at: number) => boolean) =>
  [...bytes.keys()].filter((at) => matches(bytes[at] as number, at));

const cuttings: Readonly<Record<string, (bytes: Buffer) => Buffer[]>> = {
  'all events in one chunk': (bytes) => [bytes],
  'a chunk per byte': (bytes) => cutAt(bytes, [...bytes.keys()]),
  'within characters': (bytes) =>
    cutAt(
      bytes,
      positionsWhere(bytes, (byte) => (byte & 0xc0) === 0x80),
    ),
  'within the names of fields': (bytes) =>
    cutAt(
      bytes,
      positionsWhere(bytes, (_, at) => bytes.subarray(at - 2, at + 3).toString() === 'data:'),
    ),
  'within line breaks': (bytes) =>
    cutAt(
      bytes,
      positionsWhere(bytes, (byte) => byte === 0x0a || byte === 0x0d),
    ),
};

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' };

async function expectSameBytes(shape: Streamed, sent: Buffer, expected: Buffer, what: string): Promise<void> {
  const response = await call(shape, true);
  const received = Buffer.from(await response.arrayBuffer());
  expect([what, digestOf(received)]).toEqual([what, digestOf(expected)]);
  expect(expected.length < sent.length).toBe(shape.dropsUsage);
}

/** Expects that every run is exact: the usage was read, whatever the bytes looked like. */
async function expectExactRuns(): Promise<void> {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  const runs = await gateway.runs();
  expect(new Set(runs.map(({ output_tokens }) => output_tokens))).toEqual(new Set([outputTokens]));
  expect(runs.filter(({ marks, status }) => marks.length > 0 || status !== 'succeeded')).toEqual([]);
}

test.each(shapes)('chunks of every kind: $name', async (shape) => {
  const events = await eventsOf(shape);
  expect(events.some(isUsageChunk)).toBe(shape.path === formatSamples.chat.path);
  const kept = shape.dropsUsage ? events.filter((event) => !isUsageChunk(event)) : events;
  for (const lineBreak of ['\n', '\r\n', '\r']) {
    const sent = written(events, lineBreak, false);
    for (const [what, cut] of Object.entries(cuttings)) {
      next = { headers: eventStream, chunks: cut(sent) };
      await expectSameBytes(
        shape,
        sent,
        written(kept, lineBreak, false),
        `${what}, ${JSON.stringify(lineBreak)}`,
      );
    }
  }
  await expectExactRuns();
});

const encoders = {
  gzip: (bytes: Buffer) => gzipSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
} as const;

const { seeds } = seedsOf('gateway-stream-bytes');

test.each(seeds)('random chunks, comments and encodings (seed %d)', async (seed) => {
  const cases = sampleWithSeed(
    seed,
    fc.record({
      shape: fc.constantFrom(...shapes),
      lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
      hasComments: fc.boolean(),
      encoding: fc.constantFrom(undefined, 'gzip' as const, 'br' as const, 'deflate' as const),
      cuts: fc.array(fc.nat(4_000), { maxLength: 30 }),
    }),
    40,
  );
  for (const { shape, lineBreak, hasComments, encoding, cuts } of cases) {
    const events = await eventsOf(shape);
    const sent = written(events, lineBreak, hasComments);
    // What the gateway leaves out is exactly the bytes of one event.
    const chunk = written(events.filter(isUsageChunk), lineBreak, false);
    const expected = shape.dropsUsage ? without(sent, chunk) : sent;
    const encoded = encoding === undefined ? sent : encoders[encoding](sent);
    next = {
      headers: { ...eventStream, ...(encoding !== undefined && { 'content-encoding': encoding }) },
      chunks: cutAt(encoded, cuts),
    };
    await expectSameBytes(
      shape,
      sent,
      expected,
      JSON.stringify({ name: shape.name, lineBreak, encoding, cuts }),
    );
  }
  await expectExactRuns();
});

function without(bytes: Buffer, part: Buffer): Buffer {
  const at = bytes.indexOf(part);
  expect(at).toBeGreaterThan(0);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + part.length)]);
}

test('a stream of frames has the bytes of the provider, whatever its chunks and its encoding', async () => {
  const { path, streamPath = path, providerPaths, body, tool } = formatSamples.converse;
  for (const more of [{}, { toolConfig: { tools: [tool] } }]) {
    const sample = { ...body, ...more };
    const answer = await fetch(`${gateway.provider.url}${providerPaths?.streamed}`, {
      method: 'POST',
      body: JSON.stringify(sample),
    });
    const sent = Buffer.from(await answer.arrayBuffer());
    for (const encoding of [undefined, 'gzip', 'br', 'deflate'] as const) {
      const encoded = encoding === undefined ? sent : encoders[encoding](sent);
      for (const cuts of [[], [...encoded.keys()], [1, 11, 12, 13, 100, 333]]) {
        next = {
          headers: {
            'content-type': 'application/vnd.amazon.eventstream',
            ...(encoding !== undefined && { 'content-encoding': encoding }),
          },
          chunks: cutAt(encoded, cuts),
        };
        const response = await fetch(`${gateway.url}${streamPath}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: JSON.stringify(sample),
        });
        expect([encoding, digestOf(await response.arrayBuffer())]).toEqual([encoding, digestOf(sent)]);
      }
    }
  }
  await expectExactRuns();
});

test('a plain response has the bytes of the provider, whatever its encoding', async () => {
  const [shape] = texts as [Streamed];
  const text = `{ "choices":[{"message":{"content":"wörld 😀"}}],\n"usage":{"prompt_tokens":3,"completion_tokens":${outputTokens}} }\n`;
  const json = { 'content-type': 'application/json' };
  for (const encoding of [undefined, 'gzip', 'br', 'deflate'] as const) {
    const encoded = encoding === undefined ? Buffer.from(text) : encoders[encoding](Buffer.from(text));
    next = {
      headers: encoding === undefined ? json : { ...json, 'content-encoding': encoding },
      chunks: cutAt(encoded, [1, 20, 50]),
    };
    const response = await call(shape, false);
    expect(digestOf(await response.arrayBuffer())).toBe(digestOf(Buffer.from(text)));
    expect(response.headers.get('content-encoding')).toBeNull();
  }
  await expectExactRuns();
});

test('an encoding that the gateway does not know is passed on with its name', async () => {
  const [shape] = texts as [Streamed];
  const bytes = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00]);
  next = { headers: { 'content-type': 'application/json', 'content-encoding': 'x-zstd-2' }, chunks: [bytes] };
  const response = await call(shape, false);
  expect(response.headers.get('content-encoding')).toBe('x-zstd-2');
  expect(digestOf(await response.arrayBuffer())).toBe(digestOf(bytes));
  expect((await gateway.runs())[0]).toMatchObject({ marks: ['usage_estimated'] });
});
