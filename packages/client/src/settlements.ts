/**
 * Posts settlements in the background: calls never wait for them. A settlement is in the spool before its call returns, and leaves the
 * spool once the service has accepted it. While the service is unavailable, settlements are tried again.
 */
import { isUnavailable, PurserApiError, PurserError } from './errors.ts';
import type { Decision, DecisionRequest } from './generated/types.ts';
import type { Settlement, Spool } from './spool.ts';
import { backoffMs, type Transport } from './transport.ts';

export type FailedOperation = 'decide' | 'increase' | 'settle' | 'void' | 'spool';

export interface ClientErrorContext {
  readonly operation: FailedOperation;
  /** The run that was not recorded. */
  readonly settlement?: Settlement;
}

export type ErrorHook = (error: unknown, context: ClientErrorContext) => void;

export interface SettlementsOptions {
  readonly transport: Transport;
  readonly spool: Spool | undefined;
  /** Settlements that wait for the service at the same time. Above it the newest one is dropped from memory. */
  readonly pendingMax: number;
  readonly onError: ErrorHook;
}

export interface Settlements {
  /** Resolves once the settlement is in the spool, or cannot be. Never rejects. */
  settle(settlement: Settlement): Promise<void>;
  /** Releases the hold of a call that was not made. */
  void(decisionId: string): void;
  /** Releases the hold of a decision whose answer did not arrive. */
  abandon(request: DecisionRequest, idempotencyKey: string): void;
  /** Resolves once everything is posted, and what earlier processes left behind. */
  flush(): Promise<void>;
  /** Ends the retries. What is in the spool stays there. */
  close(): void;
}

const parallelMax = 16;
/** Decisions that are abandoned at the same time. Holds of further ones expire: a service that is slow already must not drown. */
const abandonedMax = 256;
const retryMsMax = 30_000;

export function createSettlements(options: SettlementsOptions): Settlements {
  const { transport, spool, pendingMax, onError } = options;
  const closed = new AbortController();
  const waiting: (() => void)[] = [];
  const pending = new Set<Promise<void>>();
  let active = 0;
  let abandoned = 0;

  /** Runs at most `parallelMax` tasks at once. */
  async function inTurn(task: () => Promise<void>): Promise<void> {
    if (active >= parallelMax) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    active += 1;
    try {
      await task();
    } finally {
      active -= 1;
      waiting.shift()?.();
    }
  }

  function track(task: Promise<void>): void {
    pending.add(task);
    void task.finally(() => pending.delete(task));
  }

  /** Posts until the service accepts or rejects the settlement. */
  async function post(settlement: Settlement, isInSpool: boolean): Promise<void> {
    for (let retries = 0; ; retries += 1) {
      try {
        await inTurn(() => postOnce(transport, settlement));
        if (isInSpool) {
          await spool?.remove(settlement.external_id).catch(reportSpool);
        }
        return;
      } catch (error) {
        if (!isUnavailable(error) && !(error instanceof PurserApiError && error.isTransient)) {
          onError(error, { operation: 'settle', settlement });
          if (isInSpool && isRejectedForGood(error)) {
            await spool?.reject(settlement.external_id).catch(reportSpool);
          }
          return;
        }
        if (closed.signal.aborted) {
          return;
        }
        await pauseOrClose(backoffMs(retries, retryMsMax), closed.signal);
      }
    }
  }

  const reportSpool = (error: unknown) => onError(error, { operation: 'spool' });

  async function addToSpool(settlement: Settlement): Promise<boolean> {
    try {
      await spool?.add(settlement);
      return spool !== undefined;
    } catch (error) {
      onError(error, { operation: 'spool', settlement });
      return false;
    }
  }

  async function replay(): Promise<void> {
    try {
      for (const settlement of (await spool?.leftBehind(reportSpool)) ?? []) {
        track(post(settlement, true).catch(reportSpool));
      }
    } catch (error) {
      reportSpool(error);
    }
  }
  track(replay());

  return {
    async settle(settlement) {
      const isInSpool = await addToSpool(settlement);
      if (pending.size >= pendingMax) {
        const error = new PurserError(`More than ${pendingMax} settlements wait for Purser.`);
        // Settlements in the spool are posted by the next process.
        onError(error, isInSpool ? { operation: 'settle' } : { operation: 'settle', settlement });
        return;
      }
      track(post(settlement, isInSpool).catch(reportSpool));
    },
    void(decisionId) {
      // The hold expires by itself if it cannot be released.
      const released = inTurn(() => release(transport, decisionId));
      track(released.catch((error) => onError(error, { operation: 'void' })));
    },
    abandon(request, idempotencyKey) {
      if (abandoned < abandonedMax) {
        abandoned += 1;
        const released = releaseLost(transport, request, idempotencyKey);
        // The hold expires by itself if it cannot be released.
        track(released.catch(() => undefined).finally(() => (abandoned -= 1)));
      }
    },
    async flush() {
      // The timers of retries do not keep a process alive. One that waits here must not end.
      const alive = setInterval(() => undefined, retryMsMax);
      try {
        while (pending.size > 0) {
          await Promise.all(pending);
        }
      } finally {
        clearInterval(alive);
      }
    },
    close() {
      closed.abort();
    },
  };
}

/** The next process may have another key: what a wrong one could not post stays in the spool. */
function isRejectedForGood(error: unknown): boolean {
  return error instanceof PurserApiError && ![401, 402, 403, 410].includes(error.status);
}

async function release(transport: Transport, decisionId: string): Promise<void> {
  await transport.send({ method: 'DELETE', path: `/v1/decisions/${encodeURIComponent(decisionId)}` });
}

/** The same key returns the decision that was made, or makes one that is released at once. */
async function releaseLost(
  transport: Transport,
  body: DecisionRequest,
  idempotencyKey: string,
): Promise<void> {
  const decision = await transport.send({ method: 'POST', path: '/v1/edge/decision', body, idempotencyKey });
  await release(transport, (decision as Decision).decision_id);
}

async function postOnce(transport: Transport, settlement: Settlement): Promise<void> {
  try {
    await transport.send({ method: 'POST', path: '/v1/runs', body: settlement });
  } catch (error) {
    // A run without a decision may be denied although its cost has been incurred. It is recorded past the checks if the key may do so.
    if (!isDenial(error) || settlement.decision_id !== undefined) {
      throw error;
    }
    const query = { enforcement: 'record' };
    await transport.send({ method: 'POST', path: '/v1/runs/bulk', query, body: { runs: [settlement] } });
  }
}

/** Limits deny with 402, policies with 403, windows and chains with 429. */
function isDenial(error: unknown): boolean {
  return error instanceof PurserApiError && !error.isTransient && [402, 403, 429].includes(error.status);
}

/** The timer does not keep a process alive. */
function pauseOrClose(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    (timer as unknown as { unref?: () => void }).unref?.();
    signal.addEventListener('abort', end, { once: true });
  });
}
