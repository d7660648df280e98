/**
 * The provider of `agents-on-a-budget`: messages of Anthropic as streams that hide their reasoning. It knows in advance what each call
 * will cost, bills what it has generated when a connection is closed, and runs in the process of the bench, so that its bill can be
 * read at the moment of a denial.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const agentModel = 'claude-opus-4-6';
const usdPerToken = { input: 5e-6, output: 25e-6 };
const charactersPerToken = 4;

/** The output that a call generates if it is not cut. */
export interface PlannedOutput {
  readonly tokens: number;
  readonly tokensPerSecond: number;
}

export interface AgentProvider {
  readonly port: number;
  /** Cost of all calls that have ended. */
  endedUsd(): number;
  /** Cost of the calls in progress if none of them is cut. */
  runningUsd(): number;
  /** Cost of all that was generated until now. */
  billedUsd(): number;
  /** Number of requests for this call. */
  requestsOf(call: string): number;
  running(): number;
  stop(): Promise<void>;
}

interface RunningCall {
  readonly finalUsd: number;
  generatedUsd(): number;
}

/** Returns what one call costs. */
export function costUsd(text: string, outputTokens: number): number {
  return inputTokens(text) * usdPerToken.input + outputTokens * usdPerToken.output;
}

function inputTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

interface Request {
  readonly max_tokens: number;
  readonly messages: readonly { readonly content: string | readonly { readonly text: string }[] }[];
}

/** `callOf` returns the name of a call from its text, by which `outputs` has its output. */
export async function startAgentProvider(
  callOf: (text: string) => string,
  outputs: ReadonlyMap<string, PlannedOutput>,
): Promise<AgentProvider> {
  const running = new Set<RunningCall>();
  const requests = new Map<string, number>();
  let ended = 0;

  function generate({ max_tokens, messages }: Request, response: ServerResponse): void {
    const [content = ''] = messages.map((message) => message.content);
    const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
    const name = callOf(text);
    requests.set(name, (requests.get(name) ?? 0) + 1);
    const { tokens, tokensPerSecond } = outputs.get(name) as PlannedOutput;
    const most = Math.min(tokens, max_tokens);
    const startedMs = performance.now();
    let generated: number | undefined;
    const call = {
      finalUsd: costUsd(text, most),
      generatedUsd: () =>
        costUsd(
          text,
          generated ?? Math.min(most, Math.ceil(((performance.now() - startedMs) * tokensPerSecond) / 1_000)),
        ),
    };
    running.add(call);
    const input = inputTokens(text);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(startOf(input));
    const timer = setTimeout(
      () => {
        generated = most;
        response.end(endOf(most, tokens <= max_tokens));
      },
      (most / tokensPerSecond) * 1_000,
    );
    response.once('close', () => {
      clearTimeout(timer);
      ended += call.generatedUsd();
      running.delete(call);
    });
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.split('?')[0] === '/v1/messages') {
        generate(JSON.parse(Buffer.concat(chunks).toString()), response);
      } else {
        response.writeHead(404).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sum = (cost: (call: RunningCall) => number) =>
    [...running].reduce((total, call) => total + cost(call), 0);
  return {
    port: (server.address() as AddressInfo).port,
    endedUsd: () => ended,
    runningUsd: () => sum(({ finalUsd }) => finalUsd),
    billedUsd: () => ended + sum((call) => call.generatedUsd()),
    requestsOf: (call) => requests.get(call) ?? 0,
    running: () => running.size,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const event = (data: { readonly type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

function startOf(input: number): string {
  const usage = { input_tokens: input, output_tokens: 1 };
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: agentModel };
  const message = { ...about, content: [], stop_reason: null, stop_sequence: null, usage };
  const block = { type: 'thinking', thinking: '', signature: '' };
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
  ];
  return events.map(event).join('');
}

function endOf(output: number, isWhole: boolean): string {
  const text = { type: 'text', text: '' };
  const delta = { stop_reason: isWhole ? 'end_turn' : 'max_tokens', stop_sequence: null };
  const events = [
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: text },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Done.' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ];
  return events.map(event).join('');
}
