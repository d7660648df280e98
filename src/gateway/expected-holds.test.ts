/**
 * `hold: expected`: many parallel streams of very different lengths under a cap, until nothing more fits. How many of them have to be
 * ended depends on their order; `choices.test.ts` ends one for certain.
 */
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';
import { rounds } from '../../test/support/rounds.ts';
import { sampleWithSeed } from '../../test/support/seeds.ts';
import { formatUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();

const words = [' the', ' river', ' was', ' built', ' by', ' a', ' group', ' of', ' people', '.'];
/** $10 per million output tokens. */
const nanosPerToken = 10_000n;
const capTokens = rounds(120_000, 3_000_000);
const clients = rounds(16, 100);
const outputMax = 8_000;
const chunkTokens = 40;
/**
 * Events that the provider is ahead of its client. What it sends while a hold is increased is charged, so it may not be more than the
 * hold covers ahead.
 */
const aheadMax = 4;
/** The first calls are short, so that later ones are longer than expected. */
const shortCalls = 40;

const shapes = [
  {
    path: '/openai/v1/chat/completions',
    body: { model: 'gpt-test', max_tokens: outputMax },
    content: (text: string) => ({ messages: [{ role: 'user', content: text }] }),
    delta: /"delta":\{"content":"([^"]*)"\}/g,
    truncated: /"finish_reason":"length"\}\]\}\n\ndata: \[DONE\]\n\n$/,
  },
  {
    path: '/openai/v1/responses',
    body: { model: 'gpt-test', max_output_tokens: outputMax },
    content: (text: string) => ({ input: text }),
    delta: /"delta":"([^"]*)"/g,
    truncated: /"incomplete_details":\{"reason":"max_output_tokens"\}.*\n\n$/,
  },
  {
    path: '/anthropic/v1/messages',
    body: { model: 'claude-test', max_tokens: outputMax },
    content: (text: string) => ({ messages: [{ role: 'user', content: text }] }),
    delta: /"text_delta","text":"([^"]*)"/g,
    truncated: /"stop_reason":"max_tokens".*\n\nevent: message_stop\ndata: .*\n\n$/,
  },
] as const;

interface Delivered {
  readonly runId: string;
  readonly tokens: number;
  readonly isTruncated: boolean;
}

interface RunRow {
  readonly id: string;
  readonly output_tokens: bigint;
  readonly marks: readonly string[];
}

test('streams of 1 to 8,000 tokens never exceed the cap, use at least 90 % of it, and are ended properly', async () => {
  const thousandths = sampleWithSeed(8_000, fc.noBias(fc.integer({ min: 0, max: 1_000 })), 1_000);
  const timeouts = { connectMs: 60_000, firstByteMs: 600_000, idleMs: 600_000, totalMs: 600_000 };
  gateway.connections = gateway.connections.map((connection) => ({ ...connection, timeouts }));
  gateway.settings = { ...gateway.settings, hold: 'expected', minOutputTokens: 256 };
  gateway.provider.wordOf = (index) => words[index % words.length] as string;
  gateway.provider.tokensPerChunk = chunkTokens;
  gateway.provider.outputOf = ({ text }) => Number(/write (\d+) tokens/.exec(text)?.[1]);
  /** Events that the client of each call has received. */
  const received = new Map<number, number>();
  // A provider takes time to generate, so that streams overlap.
  gateway.provider.beforeChunk = async (sent, { text }) => {
    const id = Number(/call (\d+)/.exec(text)?.[1]);
    do {
      await setTimeout(1);
    } while (sent - (received.get(id) ?? Number.POSITIVE_INFINITY) >= aheadMax);
  };
  const capNanos = BigInt(capTokens) * nanosPerToken;
  await gateway.cap(formatUsd(capNanos));

  const delivered: Delivered[] = [];
  let streams = 0;
  /** Counts what may make room for another call, or take it. */
  let changes = 0;
  let calls = 0;

  /** Returns false if the call is denied. */
  async function call(): Promise<boolean> {
    const shape = shapes[calls % shapes.length] as (typeof shapes)[number];
    calls += 1;
    const id = calls;
    // As many calls of tens as of thousands of tokens.
    const exponent = (thousandths[calls % thousandths.length] as number) / 1_000;
    const output = Math.round((calls <= shortCalls ? 200 : outputMax) ** exponent);
    received.set(id, 0);
    const response = await fetch(`${gateway.url}${shape.path}`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...shape.body,
        ...shape.content(`Please write ${output} tokens for call ${id}.`),
        stream: true,
      }),
    });
    if (response.status === 402) {
      await response.arrayBuffer();
      return false;
    }
    streams += 1;
    changes += 1;
    const events = [''];
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      events.push(...`${events.pop()}${part}`.split('\n\n'));
      received.set(id, events.length - 1);
    }
    const text = events.join('\n\n');
    received.delete(id);
    streams -= 1;
    changes += 1;
    expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
    const deltas = [...text.matchAll(shape.delta)].map(([, delta = '']) => delta);
    const tokens = deltas.reduce((sum, delta) => sum + (delta.match(/ |\./g)?.length ?? 0), 0);
    const isTruncated = shape.truncated.test(text);
    expect([shape.path, output, isTruncated || tokens]).toEqual([shape.path, output, isTruncated || output]);
    delivered.push({ runId: response.headers.get('x-svc-run-id') ?? '', tokens, isTruncated });
    return true;
  }

  /** Calls keep arriving until nothing more fits: a denied call comes again while streams may free their holds. */
  async function client(): Promise<void> {
    for (;;) {
      const before = changes;
      const isAllowed = await call();
      if (!isAllowed && streams === 0 && changes === before) {
        return;
      }
      if (!isAllowed) {
        await setTimeout(5);
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client));

  expect(await gateway.holds()).toBe(0);
  const runs = await gateway.world.db.query<RunRow>(
    'SELECT id, output_tokens, marks FROM runs WHERE org_id = $1',
    [gateway.org.id],
  );
  const spentNanos = await gateway.spentNanos();
  expect(spentNanos).toBeLessThanOrEqual(capNanos);
  expect(spentNanos).toBeGreaterThanOrEqual((capNanos * 9n) / 10n);

  const byId = new Map(runs.map((run) => [run.id, run]));
  expect(byId.size).toBe(delivered.length);
  for (const { runId, tokens, isTruncated } of delivered) {
    const run = byId.get(runId);
    const has = (mark: string) => run?.marks.includes(mark);
    expect([runId, has('truncated'), has('over_hold')]).toEqual([runId, isTruncated, false]);
    // A whole stream is charged exactly, an ended one at least what was delivered.
    const charged = Number(run?.output_tokens);
    expect(isTruncated ? charged >= tokens : charged === tokens).toBe(true);
  }
});
