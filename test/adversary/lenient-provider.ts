/** A provider on loopback that serves what it understands of a request, and keeps its own bill in nanodollars. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { InvalidJson, parseTree } from './json-tree.ts';
import type { Personality } from './personalities.ts';
import { type Delivery, isReportable, plainReply, streamedReply } from './replies.ts';
import { type AdversaryShape, isConverse } from './shapes.ts';
import { billOf, outputTokensOf, RejectedCall, type UnderstoodCall, understand } from './understood-call.ts';

const conversePath = /^\/v1\/model\/(.+)\/converse(-stream)?$/;
const geminiPath =
  /^\/v1(?:beta1?)?(?:\/projects\/test-project\/locations\/europe-west1\/publishers\/google)?\/models\/(.+):(\w+)$/;
const geminiShapes: Readonly<Record<string, AdversaryShape>> = {
  generateContent: 'gemini',
  streamGenerateContent: 'gemini',
  embedContent: 'gemini_embeddings',
  batchEmbedContents: 'gemini_embeddings',
  predict: 'vertex_embeddings',
};

/** A request that the provider received. */
export interface BilledRequest {
  readonly body: Buffer;
  readonly understood: UnderstoodCall | undefined;
  /** Why nothing was served or billed. */
  readonly rejection: string | undefined;
  billedNanos: bigint;
  /** True if the response has reported everything that was billed. */
  readonly isReported: boolean;
}

export interface LenientProvider {
  readonly url: string;
  personality: Personality;
  delivery: Delivery;
  readonly requests: BilledRequest[];
  /** Called before a request is served. */
  onRequest: () => Promise<void>;
  close(): Promise<void>;
}

export async function startLenientProvider(personality: Personality): Promise<LenientProvider> {
  const provider: LenientProvider = {
    url: '',
    personality,
    delivery: 'whole',
    requests: [],
    onRequest: async () => undefined,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
  const server: Server = createServer((request, response) => {
    void serve(provider, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(provider, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const shapesOfPaths: Readonly<Record<string, AdversaryShape>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/embeddings': 'embeddings',
  '/v1/messages': 'messages',
};

async function serve(
  provider: LenientProvider,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Requests of a test may be served at the same time, and each keeps the personality that it arrived with.
  const { personality, delivery } = provider;
  const parts: Buffer[] = [];
  for await (const part of message) {
    parts.push(part as Buffer);
  }
  const body = Buffer.concat(parts);
  await provider.onRequest();
  const { pathname } = new URL(message.url ?? '', 'http://provider');
  const [, ofConverse, stream] = conversePath.exec(pathname) ?? [];
  const [, modelInPath = ofConverse, method = ''] = geminiPath.exec(pathname) ?? [];
  const shape = shapesOfPaths[pathname] ?? (ofConverse === undefined ? geminiShapes[method] : 'converse');
  if (shape === undefined) {
    throw new Error(`a request for ${message.url}`);
  }
  let understood: UnderstoodCall;
  try {
    const text = textOf(body, message.headers['content-type'] ?? '', personality);
    understood = understand(
      shape,
      parseTree(text),
      personality,
      String(message.headers['anthropic-beta'] ?? ''),
      modelInPath === undefined
        ? undefined
        : {
            model: decodeURIComponent(modelInPath),
            isStream: stream !== undefined || method.startsWith('stream'),
          },
    );
  } catch (error) {
    if (!(error instanceof RejectedCall) && !(error instanceof InvalidJson)) {
      throw error;
    }
    provider.requests.push({
      body,
      understood: undefined,
      rejection: error.message,
      billedNanos: 0n,
      isReported: true,
    });
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: error.message, type: 'invalid_request_error' } }));
    return;
  }
  const request: BilledRequest = {
    body,
    understood,
    rejection: undefined,
    billedNanos: billOf(understood),
    isReported: delivery === 'whole' && isReportable(shape, understood),
  };
  provider.requests.push(request);
  await (understood.isStream
    ? sendStream(shape, request, understood, delivery, response)
    : sendPlain(shape, understood, delivery, response));
}

async function sendPlain(
  shape: AdversaryShape,
  understood: UnderstoodCall,
  delivery: Delivery,
  response: ServerResponse,
): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(plainReply(shape, understood, delivery !== 'without usage')));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  if (delivery === 'broken') {
    response.write(bytes.subarray(0, 20), () => response.destroy());
  } else {
    response.end(bytes);
  }
}

async function sendStream(
  shape: AdversaryShape,
  request: BilledRequest,
  understood: UnderstoodCall,
  delivery: Delivery,
  response: ServerResponse,
): Promise<void> {
  const pieces = streamedReply(shape, understood, delivery !== 'without usage');
  const contentType = isConverse(shape) ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': contentType });
  const bytesOf = (all: typeof pieces) => Buffer.concat(all.map(({ text }) => Buffer.from(text as string)));
  if (delivery !== 'broken') {
    response.end(bytesOf(pieces));
    return;
  }
  const sent = pieces.slice(0, Math.ceil(pieces.length / 2));
  const generated = sent.reduce((sum, { tokens }) => sum + tokens, 0);
  request.billedNanos = billOf(understood, Math.min(generated, outputTokensOf(understood)));
  response.write(bytesOf(sent));
  // The end of a connection takes back what is still in the process.
  while (response.writableLength > 0 && !response.destroyed) {
    await setImmediate();
  }
  await setImmediate();
  response.destroy();
}

/** Decodes a body. A byte order mark selects the encoding, otherwise the charset for a provider that reads it. */
function textOf(body: Buffer, contentType: string, { usesCharset, dropsInvalidBytes }: Personality): string {
  const charset = usesCharset ? /charset="?([\w-]+)/i.exec(contentType)?.[1]?.toLowerCase() : undefined;
  if (body[0] === 0xff && body[1] === 0xfe) {
    return new TextDecoder('utf-16le').decode(body);
  }
  if (charset !== undefined && charset !== 'utf-8') {
    try {
      return new TextDecoder(charset).decode(body);
    } catch {
      throw new RejectedCall('the charset is not known');
    }
  }
  const text = new TextDecoder('utf-8').decode(body);
  return dropsInvalidBytes ? text.replaceAll('\ufffd', '') : text;
}
