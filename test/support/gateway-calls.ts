/** Random calls through the gateway: what each of them does, what happens to it at the provider, and what its client sees. */
import { setTimeout as pause } from 'node:timers/promises';
import { callHeaders, promptOf } from './gateway-processes.ts';
import { Random } from './ledger-values.ts';
import type { Fault } from './mock-provider.ts';
import type { SpendingOrg } from './money.ts';

type Shape = 'chat' | 'responses' | 'messages' | 'embeddings';

export interface PlannedCall {
  readonly number: number;
  readonly onAbort: 'drain' | 'close';
  readonly shape: Shape;
  readonly isStream: boolean;
  readonly output: number;
  /** The fault of the first attempts. */
  readonly fault: Fault | undefined;
  readonly faultyAttempts: number;
  /** True if the provider closes the connection after it got the request: it may bill an attempt whose usage is not known. */
  readonly isBrokenOff: boolean;
  /** When the client leaves: while the provider receives the request, or after this many chunks. */
  readonly leaves: 'before' | number | undefined;
  /** The status that a client gets that stays. */
  readonly status: number;
}

const attemptsMax = 3;

export function planCalls(seed: number, count: number): PlannedCall[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, index) => planCall(random, 100_000 + index));
}

function planCall(random: Random, number: number): PlannedCall {
  const shape = random.weighted<Shape>([
    [5, 'chat'],
    [3, 'messages'],
    [3, 'responses'],
    [1, 'embeddings'],
  ]);
  const isStream = shape !== 'embeddings' && random.chance(75);
  const kind = random.weighted([
    [10, 'none'],
    [2, 'status'],
    [1, 'rejected'],
    [2, 'reset'],
    [3, 'cut'],
  ] as const);
  const faultyAttempts = kind === 'none' ? 0 : kind === 'cut' ? attemptsMax : 1 + random.int(attemptsMax);
  const failing = random.of([429, 500, 503, 529]);
  const fault: Fault | undefined =
    kind === 'status'
      ? { status: failing, retryAfter: '0' }
      : kind === 'rejected'
        ? { status: 400 }
        : kind === 'reset'
          ? 'reset'
          : kind === 'cut'
            ? { cutAfter: 1 + random.int(isStream ? 30 : 80) }
            : undefined;
  const isExhausted = faultyAttempts === attemptsMax;
  return {
    number,
    onAbort: random.of(['drain', 'close'] as const),
    shape,
    isStream,
    output: random.int(60),
    fault,
    faultyAttempts,
    isBrokenOff: kind === 'cut' || kind === 'reset',
    leaves: random.chance(30) ? (random.chance(30) ? 'before' : random.int(12)) : undefined,
    status: statusOf(kind, failing, isExhausted, isStream),
  };
}

function statusOf(kind: string, failing: number, isExhausted: boolean, isStream: boolean): number {
  switch (kind) {
    case 'status':
      return isExhausted ? failing : 200;
    case 'rejected':
      return 400;
    case 'reset':
      return isExhausted ? 502 : 200;
    case 'cut':
      return isStream ? 200 : 502;
    default:
      return 200;
  }
}

function requestOf({ shape, isStream, number }: PlannedCall): { path: string; body: object } {
  const messages = [{ role: 'user', content: promptOf(number) }];
  switch (shape) {
    case 'chat':
      return {
        path: '/openai/v1/chat/completions',
        body: { model: 'gpt-test', max_tokens: 100, stream: isStream, messages },
      };
    case 'responses':
      return {
        path: '/openai/v1/responses',
        body: { model: 'gpt-test', max_output_tokens: 100, stream: isStream, input: promptOf(number) },
      };
    case 'messages':
      return {
        path: '/anthropic/v1/messages',
        body: { model: 'claude-test', max_tokens: 100, stream: isStream, messages },
      };
    case 'embeddings':
      return { path: '/openai/v1/embeddings', body: { model: 'embed-test', input: promptOf(number) } };
  }
}

export type Outcome =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** The client has left as planned. */
  | { readonly kind: 'left' }
  /** The connection was lost. */
  | { readonly kind: 'lost' };

/** Sends the call to the next service, and to the one after it if a service does not accept connections. */
export async function sendPlanned(
  next: () => Promise<string>,
  org: SpendingOrg,
  plan: PlannedCall,
  abort: AbortController,
): Promise<Outcome> {
  const { path, body } = requestOf(plan);
  for (;;) {
    const url = await next();
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: callHeaders(org, plan.number),
        body: JSON.stringify(body),
        signal: abort.signal,
      });
      const outcome = await read(response, plan, abort);
      // The database did not answer in time, as it may on a busy machine. The provider was not called.
      if (outcome.kind !== 'answered' || !outcome.text.includes('"code":"service_unavailable"')) {
        return outcome;
      }
      await pause(100);
    } catch (error) {
      if (abort.signal.aborted) {
        return { kind: 'left' };
      }
      if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code !== 'ECONNREFUSED') {
        return { kind: 'lost' };
      }
      await pause(10);
    }
  }
}

async function read(response: Response, { leaves }: PlannedCall, abort: AbortController): Promise<Outcome> {
  const decoder = new TextDecoder();
  let text = '';
  let chunks = 0;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    chunks += 1;
    if (typeof leaves === 'number' && chunks > leaves) {
      abort.abort();
      return { kind: 'left' };
    }
  }
  return { kind: 'answered', status: response.status, text: text.slice(0, 300) };
}
