/**
 * Verifies SAML responses in `saml-worker.js`, one after the other. A verification that exceeds its timeout ends the
 * thread.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SamlConfig } from '@node-saml/node-saml';
import { apiError } from '../../contract/api-error.ts';
import { FairShare } from '../fair-share.ts';

const startMsMax = 30_000;
const heapMb = 128;
const waitingMax = 32;

export interface VerificationRequest {
  /** The org whose people sign in: orgs share the queue fairly. */
  readonly tenantId: string;
  /** Without functions, since it is sent to another thread. */
  readonly options: SamlConfig;
  /** In base64, as it was posted. */
  readonly response: string;
}

interface VerificationResult {
  readonly signed?: object;
  readonly wrong?: string;
}

export class SamlThread {
  readonly #answerMsMax: number;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #places = new FairShare({ capacity: waitingMax });

  constructor(answerMsMax = 2_000) {
    this.#answerMsMax = answerMsMax;
  }

  /** Returns the document made of the signed bytes; undefined if there is none. Throws if the response is invalid. */
  async verify(request: VerificationRequest): Promise<object | undefined> {
    const { tenantId } = request;
    if (!this.#places.tryTake(tenantId)) {
      throw apiError('service_unavailable', 'Many people are signing in. Try again in a moment.');
    }
    const turn = this.#last.then(() => this.#send(request)).finally(() => this.#places.release(tenantId));
    this.#last = turn.catch(() => undefined);
    const { signed, wrong } = await turn;
    if (wrong !== undefined) {
      throw new Error(wrong);
    }
    return signed;
  }

  async #send(request: VerificationRequest): Promise<VerificationResult> {
    const worker = this.#worker ?? (await this.#start());
    try {
      worker.postMessage(request);
      return (await nextMessage(worker, this.#answerMsMax)) as VerificationResult;
    } catch (error) {
      this.#end(worker);
      throw error;
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(new URL('./saml-worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    // The thread must not keep the process alive.
    worker.unref();
    worker.on('error', () => this.#end(worker));
    await nextMessage(worker, startMsMax);
    this.#worker = worker;
    return worker;
  }

  #end(worker: Worker): void {
    if (this.#worker === worker) {
      this.#worker = undefined;
    }
    void worker.terminate();
  }
}

async function nextMessage(worker: Worker, withinMs: number): Promise<unknown> {
  const [message] = await once(worker, 'message', { signal: AbortSignal.timeout(withinMs) });
  return message;
}
