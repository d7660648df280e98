/** The recorded responses of `test/corpus`, and a provider that answers each call with the response that its `user` names. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { awsEvent } from './aws-frames.ts';

const directory = join(import.meta.dirname, '../corpus');

export type CorpusApi = 'chat' | 'responses' | 'messages' | 'embeddings' | 'gemini' | 'converse';

export interface CorpusEntry {
  readonly id: string;
  readonly provider: string;
  readonly api: CorpusApi;
  /** The model that the call names. */
  readonly model: string;
  /** Members of the request that decide about the cost. */
  readonly request?: object;
  readonly response?: object;
  /** Name and data of each event of a stream. The name of a comment is `:`. */
  readonly events?: readonly (readonly [string | null, unknown])[];
  readonly expected: Expected;
}

/** Tokens are by kind; `input` and `output` are totals. */
export interface Expected {
  /** Set if the response reports no whole usage: an upper bound is charged, and `tokens` are the least. */
  readonly is_estimated?: true;
  /** Set if the provider states the cost. */
  readonly is_stated?: true;
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
  readonly units?: Readonly<Record<string, number>>;
  readonly tier?: string;
  readonly region?: string;
  readonly served_model?: string;
  readonly cost_usd: string;
  /** Exact, so that they may have more than nine decimals. */
  readonly parts_usd: Readonly<Record<string, string>>;
}

export type TokenKind =
  | 'input'
  | 'cached_input'
  | 'cache_write'
  | 'cache_write_1h'
  | 'output'
  | 'reasoning'
  | 'audio_input'
  | 'image_input'
  | 'audio_output';

export interface CorpusPrice {
  readonly provider: string;
  readonly rates: Readonly<Partial<Record<TokenKind, string>>>;
  readonly tiers?: Readonly<Record<string, CorpusPrice['rates']>>;
  readonly units?: Readonly<Record<string, string>>;
}

export function readCorpus(): CorpusEntry[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.ndjson'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as CorpusEntry);
}

export function readPrices(): ReadonlyMap<string, CorpusPrice> {
  return new Map(Object.entries(JSON.parse(readFileSync(join(directory, 'prices.json'), 'utf8'))));
}

/** Returns the body of a request for a price. */
export function priceBodyOf({ provider, rates, tiers = {}, units = {} }: CorpusPrice): object {
  const { cache_write_1h, ...flat } = rates;
  const modifiers = Object.entries(tiers).map(([tier, its]) => ({ tier, ...namedRates(its) }));
  const forOneHour =
    cache_write_1h === undefined
      ? []
      : [{ cache_write_ttl: '1h', cache_write_usd_per_million: cache_write_1h }];
  return { provider, ...namedRates(flat), modifiers: [...modifiers, ...forOneHour], units };
}

function namedRates(rates: CorpusPrice['rates']): object {
  return Object.fromEntries(Object.entries(rates).map(([kind, usd]) => [`${kind}_usd_per_million`, usd]));
}

/** Returns the body of the call that an entry answers. `user` names the entry. */
export function requestOf({ id, api, model, request, events }: CorpusEntry): object {
  const isStream = events !== undefined;
  const common = { model, ...(isStream && { stream: true }), ...request };
  switch (api) {
    case 'chat':
      return {
        ...common,
        user: id,
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 1_000,
        ...(isStream && { stream_options: { include_usage: true } }),
      };
    case 'responses':
      return { ...common, user: id, input: 'Hello', max_output_tokens: 1_000 };
    case 'messages':
      return {
        ...common,
        metadata: { user_id: id },
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 1_000,
      };
    case 'embeddings':
      return { ...common, user: id, input: 'Hello' };
    case 'gemini':
      // The path has the model, and whether the answer is streamed.
      return {
        ...request,
        labels: { entry: id },
        contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
        generationConfig: { maxOutputTokens: 1_000 },
      };
    case 'converse':
      return {
        ...request,
        requestMetadata: { entry: id },
        messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
        inferenceConfig: { maxTokens: 1_000 },
      };
  }
}

/** Returns the bytes that the provider sends. */
export function bytesOf({ api, response, events = [] }: Omit<CorpusEntry, 'expected'>): Buffer {
  if (response !== undefined) {
    return Buffer.from(JSON.stringify(response));
  }
  if (api === 'converse') {
    return Buffer.concat(events.map(([name, data]) => awsEvent(String(name), data as object)));
  }
  return Buffer.from(
    events
      .map(([name, data]) => {
        const text = typeof data === 'string' ? data : JSON.stringify(data);
        return name === ':' ? `${text}\n\n` : `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`;
      })
      .join(''),
  );
}

export interface CorpusProvider {
  readonly url: string;
  close(): Promise<void>;
}

export async function startCorpusProvider(entries: readonly CorpusEntry[]): Promise<CorpusProvider> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const server = createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
    const entry = byId.get(idIn(await textOf(request)));
    if (entry === undefined) {
      response.writeHead(404).end();
      return;
    }
    const framed = entry.api === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
    const type = entry.events === undefined ? 'application/json' : framed;
    response.writeHead(200, { 'content-type': type }).end(bytesOf(entry));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of message) {
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}

function idIn(text: string): string {
  const { user, metadata, labels, requestMetadata } = JSON.parse(text) as {
    user?: string;
    metadata?: { user_id?: string };
    labels?: { entry?: string };
    requestMetadata?: { entry?: string };
  };
  return user ?? metadata?.user_id ?? labels?.entry ?? requestMetadata?.entry ?? '';
}
