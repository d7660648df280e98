/** Calls of agents that ask for 128,000 tokens and use few, and a provider that hides their output and keeps its own bill. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { normal, type Random } from './series.ts';

export const agentMaxTokens = 128_000;
export const agentInputTokens = 5;
const outputMedian = 900;
/** The 99th percentile is 20,000. */
const outputSigma = 1.333;

export interface AgentOutput {
  readonly tokens: number;
  readonly tokensPerSecond: number;
}

/** Returns the output of one call: lognormal, at a rate between the two. */
export function agentOutput(random: Random, slowest: number, fastest: number): AgentOutput {
  const tokens = Math.round(outputMedian * Math.exp(outputSigma * normal(random)));
  return {
    tokens: Math.max(1, Math.min(agentMaxTokens, tokens)),
    tokensPerSecond: slowest + (fastest - slowest) * random(),
  };
}

/** The body of a call with this name. */
export function agentBody(name: string): string {
  return JSON.stringify({
    model: 'claude-test',
    max_tokens: agentMaxTokens,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 100_000 },
    messages: [{ role: 'user', content: `Work on ${name}.` }],
  });
}

/** What the provider bills for a call, in nanodollars: $1 and $10 per million tokens. */
export function agentCostNanos(outputTokens: number): bigint {
  return BigInt(agentInputTokens) * 1_000n + BigInt(outputTokens) * 10_000n;
}

export interface AgentProviderOptions {
  nowMs(): number;
  /** Returns the output of a call that has begun. */
  outputOf(name: string): AgentOutput;
  /** Time for which the provider generates after it has lost its client. */
  readonly noticeMs: number;
}

interface GeneratingCall extends AgentOutput {
  readonly name: string;
  readonly sentMs: number;
  readonly response: ServerResponse;
}

/** Messages of Anthropic that hide all of their output. Nothing ends by itself: `advance` ends what is due. */
export class HiddenOutputProvider {
  readonly #options: AgentProviderOptions;
  readonly #running = new Map<string, GeneratingCall>();
  readonly #billed = new Map<string, number>();
  readonly #server: Server;

  constructor(options: AgentProviderOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.once('end', () => this.#begin(Buffer.concat(parts).toString(), response));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Names of the calls that are generated now. */
  get running(): ReadonlySet<string> {
    return new Set(this.#running.keys());
  }

  /** Output tokens that were billed, by the name of the call. */
  get billed(): ReadonlyMap<string, number> {
    return this.#billed;
  }

  /** Ends the calls whose output is complete. */
  advance(): void {
    for (const call of this.#running.values()) {
      if (this.#generated(call, 0) === call.tokens) {
        this.#end(call, call.tokens);
        call.response.end(
          event({ type: 'content_block_stop', index: 0 }) +
            event({
              type: 'message_delta',
              delta: { stop_reason: 'end_turn' },
              usage: { output_tokens: call.tokens },
            }) +
            event({ type: 'message_stop' }),
        );
      }
    }
  }

  #begin(body: string, response: ServerResponse): void {
    const name = /Work on ([^.]+)\./.exec(body)?.[1] as string;
    const output = this.#options.outputOf(name);
    const call = { ...output, name, sentMs: this.#options.nowMs(), response };
    this.#running.set(name, call);
    response.once('close', () => this.#end(call, this.#generated(call, this.#options.noticeMs)));
    const usage = { input_tokens: agentInputTokens, output_tokens: 1 };
    const message = { id: `msg_${name}`, type: 'message', role: 'assistant', model: 'claude-test' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event({ type: 'message_start', message: { ...message, content: [], usage } }));
    const block = { type: 'thinking', thinking: '', signature: '' };
    response.write(event({ type: 'content_block_start', index: 0, content_block: block }));
  }

  #generated({ sentMs, tokens, tokensPerSecond }: GeneratingCall, aheadMs: number): number {
    const elapsedMs = this.#options.nowMs() + aheadMs - sentMs;
    return Math.min(tokens, Math.ceil((elapsedMs * tokensPerSecond) / 1_000));
  }

  #end(call: GeneratingCall, tokens: number): void {
    if (this.#running.get(call.name) === call) {
      this.#running.delete(call.name);
      this.#billed.set(call.name, (this.#billed.get(call.name) ?? 0) + tokens);
    }
  }
}

const event = (data: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
