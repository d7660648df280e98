/** Verifies SAML responses in `saml-worker.js`, one at a time. Orgs take turns. A verification that exceeds its timeout ends the thread. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SamlConfig } from '@node-saml/node-saml';
import { apiError } from '../../contract/api-error.ts';
import { FairQueue } from '../fair-queue.ts';
import { OverCapacity } from '../service-unavailable.ts';

const heapMb = 128;
/** `waitMsMax` is about the time that a full queue takes if every verification times out. */
const bounds = { concurrency: 1, waitingMax: 32, waitMsMax: 60_000 };

export interface SamlVerificationRequest {
  /** The org of the people who sign in. Orgs share the queue and take turns. */
  readonly tenantId: string;
  /** Must not contain functions, because it is sent to another thread. */
  readonly options: SamlConfig;
  /** The response in base64, as it was posted. */
  readonly response: string;
}

interface VerificationResult {
  readonly signed?: object;
  readonly wrong?: string;
}

export class SamlThread {
  readonly #answerMsMax: number;
  readonly #startMsMax: number;
  #worker: Worker | undefined;
  readonly #queue = new FairQueue({ resource: 'the verification of SAML responses', ...bounds });

  constructor(answerMsMax = 2_000, startMsMax = 30_000) {
    this.#answerMsMax = answerMsMax;
    this.#startMsMax = startMsMax;
  }

  /** Returns the document that the signed bytes contain; undefined if there is none. Throws if the response is invalid. */
  async verify(request: SamlVerificationRequest): Promise<object | undefined> {
    const { signed, wrong } = await this.#inTurn(request);
    if (wrong !== undefined) {
      throw new Error(wrong);
    }
    return signed;
  }

  async #inTurn(request: SamlVerificationRequest): Promise<VerificationResult> {
    try {
      return await this.#queue.run(request.tenantId, () => this.#send(request));
    } catch (error) {
      throw error instanceof OverCapacity
        ? apiError('service_unavailable', 'Many people are signing in. Try again in a moment.')
        : error;
    }
  }

  async #send(request: SamlVerificationRequest): Promise<VerificationResult> {
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
    try {
      await nextMessage(worker, this.#startMsMax);
    } catch (error) {
      this.#end(worker);
      throw error;
    }
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
