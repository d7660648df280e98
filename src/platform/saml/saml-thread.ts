/** Asks `saml-worker.js`, one response after the other, each within a time after which the thread is ended. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SamlConfig } from '@node-saml/node-saml';
import { apiError } from '../../contract/api-error.ts';

const startMsMax = 30_000;
const heapMb = 128;
const waitingMax = 32;

export interface VerificationRequest {
  /** Without functions: it goes to another thread. */
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
  #waiting = 0;

  constructor(answerMsMax = 2_000) {
    this.#answerMsMax = answerMsMax;
  }

  /** The document made of the signed bytes; undefined if there is none. Throws whatever is wrong with the response. */
  async verify(question: VerificationRequest): Promise<object | undefined> {
    if (this.#waiting >= waitingMax) {
      throw apiError('service_unavailable', 'Many people are signing in just now. Try again in a moment.');
    }
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#ask(question)).finally(() => (this.#waiting -= 1));
    this.#last = turn.catch(() => undefined);
    const { signed, wrong } = await turn;
    if (wrong !== undefined) {
      throw new Error(wrong);
    }
    return signed;
  }

  async #ask(question: VerificationRequest): Promise<VerificationResult> {
    const worker = this.#worker ?? (await this.#start());
    try {
      worker.postMessage(question);
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
    // It is there for others, and never a reason for the process to stay.
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
