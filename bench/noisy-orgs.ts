/**
 * The load of noisy orgs, in a process of its own, so that the latencies of the quiet org are not measured by an event loop that
 * is busy with them.
 */
import { type LoadRequest, load } from './load.ts';

export interface NoisyLoad {
  readonly port: number;
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  readonly seconds: number;
}

export interface NoisyResult {
  readonly answers: number;
  /** 503 responses, which are expected: the queue of a noisy org may be full. */
  readonly rejected: number;
  readonly elapsedMs: number;
  readonly failure?: string;
}

process.on('message', async ({ port, requests, connections, seconds }: NoisyLoad) => {
  let sent = 0;
  const request = () => {
    sent += 1;
    return requests[sent % requests.length] as LoadRequest;
  };
  try {
    const { answers, others, elapsedMs } = await load({ port, request, connections, seconds, alsoFine: 503 });
    const result: NoisyResult = { answers, rejected: others, elapsedMs };
    process.send?.(result);
  } catch (error) {
    process.send?.({ answers: 0, rejected: 0, elapsedMs: 0, failure: String(error) } satisfies NoisyResult);
  }
});
