/**
 * `wrap`: an SDK whose calls are admitted and settled, for those who cannot move its base URL to the gateway. It replaces the `fetch` of
 * the SDK, so that every method of the SDK is covered: plain calls, streams, their helpers and tools. Each attempt of the SDK is a call of
 * its own.
 */
import { type CallBounds, type CallOutcome, settledUsage } from '../../../src/kernel/providers/call-end.ts';
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import { otherModel } from '../../../src/kernel/providers/call-usage.ts';
import { fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { receivedOf } from '../../../src/kernel/providers/received-text.ts';
import { retryHeaders, type ShownError, shownError } from '../../../src/kernel/providers/shown-error.ts';
import { bodyToSend, type CallPlan, formatOfRequest, planCall, UnmeteredCallError } from './call-plan.ts';
import { chargedToolsOf } from './charged-tools.ts';
import { PurserApiError } from './errors.ts';
import { utf8Length } from './estimate.ts';
import type { Decision, DecisionRequest } from './generated/types.ts';
import type { MeterOptions } from './meter-options.ts';
import { meteredStream } from './metered-stream.ts';
import type { Settlement } from './spool.ts';

/** Clients of `openai` and `@anthropic-ai/sdk`, also of other versions and providers. */
export interface SdkClient {
  withOptions(options: { fetch: typeof fetch }): unknown;
}

export interface MeterDependencies {
  decide(request: DecisionRequest, signal: AbortSignal | undefined): Promise<Decision | undefined>;
  /** `decision`: the request, with the attribution. */
  settle(settlement: Settlement): Promise<void>;
  void(decisionId: string): void;
  attributed(request: DecisionRequest): DecisionRequest;
}

/** Time to read the rest of a response after its caller has left, and the number of responses that are read so at once. */
const drainMs = 30_000;
const drainsMax = 64;

export function wrapSdk<Client extends object>(
  deps: MeterDependencies,
  client: Client,
  options: MeterOptions,
): Client {
  const sdk = client as Partial<SdkClient> & { readonly fetch?: typeof fetch; readonly baseURL?: string };
  if (typeof sdk.withOptions !== 'function') {
    throw new TypeError('wrap needs a client of the `openai` or `@anthropic-ai/sdk` package.');
  }
  const provider = typeof sdk.fetch === 'function' ? sdk.fetch : fetch;
  return sdk.withOptions({ fetch: meteredFetch(deps, provider, options) }) as Client;
}

export function meteredFetch(
  deps: MeterDependencies,
  provider: typeof fetch,
  options: MeterOptions,
): typeof fetch {
  let drains = 0;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    const format = formatOfRequest(method, url);
    if (format === undefined) {
      return provider(input, init);
    }
    const { hostname } = new URL(url);
    const isOpenAi = isBelow(hostname, 'openai.com');
    let plan: CallPlan;
    let decision: Decision | undefined;
    const signal = init?.signal ?? undefined;
    try {
      plan = planCall(format, await bodyText(input, init), options, isOpenAi);
      decision = await deps.decide(plan.decision, signal);
    } catch (error) {
      return errorResponse(format, error);
    }
    const call = new MeteredCall(deps, plan, decision);
    const connection = new AbortController();
    const mayDrain = () => {
      if (options.onAbort === 'close' || drains >= drainsMax) {
        return false;
      }
      drains += 1;
      const timer = setTimeout(() => connection.abort(), drainMs) as unknown as { unref?: () => void };
      timer.unref?.();
      void call.ended.then(() => {
        drains -= 1;
        clearTimeout(timer as never);
      });
      return true;
    };
    const knowsNewerNames = isOpenAi || isBelow(hostname, 'azure.com');
    const body = bodyToSend(plan, decision?.max_output_tokens ?? plan.maxOutputTokens, knowsNewerNames);
    const sent = forward(call, () =>
      provider(url, { ...requestInit(input, init), body, signal: connection.signal }),
    );
    return untilAborted(
      sent.then((response) =>
        response.body !== null && isEventStream(response)
          ? streamed(call, response, { signal, mayDrain, close: () => connection.abort() })
          : plain(call, response),
      ),
      signal,
      () => mayDrain() || connection.abort(),
    );
  };
}

function isBelow(hostname: string, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

/** A call with its decision, which is settled or voided once. */
class MeteredCall {
  readonly #deps: MeterDependencies;
  readonly plan: CallPlan;
  readonly #decision: Decision | undefined;
  readonly #request: DecisionRequest;
  readonly #startedMs = Date.now();
  #isEnded = false;
  #resolveEnded: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => {
    this.#resolveEnded = resolve;
  });

  constructor(deps: MeterDependencies, plan: CallPlan, decision: Decision | undefined) {
    this.#deps = deps;
    this.plan = plan;
    this.#decision = decision;
    // The attribution is that of the caller: it may have changed once the response ends.
    this.#request = deps.attributed(plan.decision);
  }

  get maxOutputTokens(): number {
    return this.#decision?.max_output_tokens ?? this.plan.maxOutputTokens;
  }

  /** Releases the hold of a call that the provider did not accept. */
  void(): void {
    if (this.#end() && this.#decision !== undefined) {
      this.#deps.void(this.#decision.decision_id);
    }
  }

  async settle(outcome: CallOutcome): Promise<void> {
    if (!this.#end()) {
      return;
    }
    const { format, body, inputTokens } = this.plan;
    const tools = chargedToolsOf(format, body);
    const bounds: CallBounds = {
      inputTokens,
      maxOutputTokens: this.maxOutputTokens,
      chargedTools: (usage) => ({
        serverTools: tools.charged(usage, outcome.toolCalls),
        toolModels: usage.toolModels,
      }),
    };
    const servedModel = otherModel(outcome.servedModel, this.plan.model);
    const { fields, isFree, marks } = settledUsage(outcome, bounds, { attempts: [], isEstimated: false });
    const {
      input_tokens: _input,
      max_output_tokens: _output,
      min_output_tokens: _minimum,
      fit: _fit,
      expires_in_seconds: _expiry,
      ...scope
    } = this.#request;
    await this.#deps.settle({
      ...scope,
      ...fields,
      ...(servedModel !== undefined && { served_model: servedModel }),
      // Zero tokens would be taken for missing usage.
      ...(isFree && { cost_usd: '0' }),
      ...(marks.length > 0 && { metadata: Object.fromEntries(marks.map((mark) => [mark, true])) }),
      external_id: crypto.randomUUID(),
      status: outcome.status,
      latency_ms: Math.max(0, Date.now() - this.#startedMs),
      ...(this.#decision !== undefined && { decision_id: this.#decision.decision_id }),
    });
  }

  #end(): boolean {
    const isFirst = !this.#isEnded;
    this.#isEnded = true;
    this.#resolveEnded();
    return isFirst;
  }
}

/** Sends the request. A request that failed or was rejected costs nothing. */
async function forward(call: MeteredCall, send: () => Promise<Response>): Promise<Response> {
  try {
    const response = await send();
    if (!response.ok) {
      call.void();
    }
    return response;
  } catch (error) {
    // Closed by the caller or by a timeout, and not by the provider: it has the request, and may answer it.
    if (error instanceof Error && error.name === 'AbortError') {
      await call.settle(unanswered('cancelled'));
    } else if (isResponseTimeout(error)) {
      await call.settle(unanswered('failed'));
    } else {
      call.void();
    }
    throw error;
  }
}

/** The `fetch` of Node waits five minutes for a response. */
function isResponseTimeout(error: unknown): boolean {
  const { code, cause } = fieldsOf(error);
  return code === 'UND_ERR_HEADERS_TIMEOUT' || (cause !== undefined && isResponseTimeout(cause));
}

const unanswered = (status: 'cancelled' | 'failed'): CallOutcome => ({
  status,
  usage: undefined,
  isFinal: false,
  outputBound: Number.POSITIVE_INFINITY,
  isAccepted: true,
});

async function plain(call: MeteredCall, response: Response): Promise<Response> {
  if (!response.ok) {
    return response;
  }
  const { format, choices, showsOutput } = call.plan;
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    await call.settle(unanswered('failed'));
    throw error;
  }
  const { usage, isFinal, outputBound, servedModel, toolCalls } = receivedOf(
    format.response,
    text,
    choices,
    utf8Length,
  );
  await call.settle({
    status: 'succeeded',
    usage,
    isFinal,
    toolCalls,
    outputBound: showsOutput ? utf8Length(text) : Number.POSITIVE_INFINITY,
    receivedBytes: outputBound,
    isAccepted: true,
    servedModel,
  });
  return copyOf(response, text);
}

function streamed(
  call: MeteredCall,
  response: Response,
  control: { signal: AbortSignal | undefined; mayDrain(): boolean; close(): void },
): Response {
  const { format, choices, showsOutput, addsUsageChunk } = call.plan;
  const usage = format.response.readStream(utf8Length, choices);
  const stream = meteredStream({
    ...control,
    source: response.body as ReadableStream<Uint8Array>,
    usage,
    dropUsageChunk: addsUsageChunk,
    onEnd: (end) =>
      call.settle({
        status:
          end === 'complete' && !usage.hasFailed ? 'succeeded' : end === 'left' ? 'cancelled' : 'failed',
        usage: usage.usage(),
        isFinal: usage.isFinal,
        serverTools: usage.serverTools,
        toolCalls: usage.toolCalls,
        outputBound: showsOutput && !usage.isReasoningHidden ? usage.outputBound : Number.POSITIVE_INFINITY,
        receivedBytes: usage.outputBound,
        isAccepted: true,
        servedModel: usage.servedModel,
      }),
  });
  return copyOf(response, stream);
}

/** A response with another body. Its address, which a new response lacks, is kept. */
function copyOf(response: Response, body: string | ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}

/** Rejects as soon as the caller aborts, as `fetch` does. The call itself continues. */
function untilAborted<Result>(
  result: Promise<Result>,
  signal: AbortSignal | undefined,
  onAbort: () => void,
): Promise<Result> {
  if (signal === undefined) {
    return result;
  }
  return new Promise((resolve, reject) => {
    const abort = () => {
      onAbort();
      reject(signal.reason);
    };
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** A denial in the format of the provider, so that the SDK raises its own error, with the code and the details of Purser. */
function errorResponse(format: CallFormat, error: unknown): Response {
  const shown = shownOf(error);
  if (shown === undefined) {
    throw error;
  }
  const traceId = error instanceof PurserApiError ? (error.traceId ?? '') : '';
  return new Response(JSON.stringify(format.errors.bodyOf(shown, traceId)), {
    status: shown.status,
    headers: { 'content-type': 'application/json', ...retryHeaders(shown) },
  });
}

function shownOf(error: unknown): ShownError | undefined {
  if (error instanceof PurserApiError) {
    return shownError(error);
  }
  return error instanceof UnmeteredCallError
    ? { status: 400, code: 'invalid_request', message: `Purser: ${error.message}`, details: {} }
    : undefined;
}

async function bodyText(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Promise<string> {
  const body = init?.body;
  if (typeof body === 'string') {
    return body;
  }
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) {
    return new TextDecoder().decode(body);
  }
  if (body == null && input instanceof Request) {
    return input.clone().text();
  }
  throw new UnmeteredCallError('The body of the request cannot be read.');
}

/** The length of the body may have changed. */
function requestInit(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): RequestInit {
  const isRequest = input instanceof Request;
  const headers = new Headers(init?.headers ?? (isRequest ? input.headers : undefined));
  headers.delete('content-length');
  return { ...init, method: 'POST', headers };
}

function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
}
