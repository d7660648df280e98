/**
 * `wrap`: an SDK whose calls are admitted and settled, for those who cannot move its base URL to the gateway. It replaces the `fetch` of
 * the SDK, so that every method of the SDK is covered: plain calls, streams, their helpers and tools. Each attempt of the SDK is a call of
 * its own.
 */
import type { CallOutcome } from '../../../src/kernel/providers/call-end.ts';
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import { fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { receivedOf } from '../../../src/kernel/providers/received-text.ts';
import { retryHeaders, type ShownError, shownError } from '../../../src/kernel/providers/shown-error.ts';
import type { AssemblyFormat } from '../../../src/kernel/providers/stream-assembly.ts';
import { assembledStream } from './assembled-response.ts';
import { CallHolds } from './call-holds.ts';
import { bodyToSend, type CallPlan, formatOfRequest, planCall, UnmeteredCallError } from './call-plan.ts';
import { PurserApiError } from './errors.ts';
import { utf8Length } from './estimate.ts';
import type { Decision } from './generated/types.ts';
import { ToolWithoutPriceError, unitsWithoutPrice } from './held-tools.ts';
import type { MeterOptions } from './meter-options.ts';
import { type MeterDependencies, MeteredCall } from './metered-call.ts';
import { meteredStream, type StreamEnd } from './metered-stream.ts';

/** Clients of `openai` and `@anthropic-ai/sdk`, also of other versions and providers. */
export interface SdkClient {
  withOptions(options: { fetch: typeof fetch }): unknown;
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
  const holds = new CallHolds(options);
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
      plan = planCall(format, await bodyText(input, init), {
        url,
        options,
        areCatalogNames: isOpenAi,
        holds,
      });
      decision = await decideWithTools(deps, plan, options, signal);
    } catch (error) {
      return errorResponse(format, error);
    }
    const connection = new AbortController();
    let truncate = () => connection.abort();
    const { holdLeadMs } = options;
    const onDenied = () => truncate();
    const chargesContainers = billingHosts.some((host) => isBelow(hostname, host));
    const call = new MeteredCall({ deps, holds, holdLeadMs, plan, decision, chargesContainers, onDenied });
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
    const body = bodyToSend(plan, call.maxOutputTokens, knowsNewerNames);
    const sent = forward(call, () =>
      provider(url, { ...requestInit(input, init), body, signal: connection.signal }),
    );
    return untilAborted(
      sent.then((response) => {
        if (!response.ok || response.body === null || !isEventStream(response)) {
          return plain(call, response);
        }
        const stream = streamed(call, response, { signal, mayDrain, close: () => connection.abort() });
        truncate = stream.truncate;
        return plan.isAssembled ? assembled(call, holds, stream.response) : stream.response;
      }),
      signal,
      () => mayDrain() || connection.abort(),
    );
  };
}

/** A tool whose unit has no price cannot be held: the call is refused, or the units without a price are left out. */
async function decideWithTools(
  deps: MeterDependencies,
  { decision }: CallPlan,
  { unpricedTools }: MeterOptions,
  signal: AbortSignal | undefined,
): Promise<Decision | undefined> {
  try {
    return await deps.decide(decision, signal);
  } catch (error) {
    const unpriced = unitsWithoutPrice(error);
    if (unpriced.length === 0) {
      throw error;
    }
    if (unpricedTools === 'refuse') {
      throw new ToolWithoutPriceError(decision.model, unpriced);
    }
    const { units = {}, ...others } = decision;
    const priced = Object.entries(units).filter(([unit]) => !unpriced.includes(unit));
    return deps.decide(
      priced.length === 0 ? others : { ...others, units: Object.fromEntries(priced) },
      signal,
    );
  }
}

/** Providers that charge for containers, whether or not anything is run in them. */
const billingHosts = ['openai.com', 'azure.com', 'anthropic.com'];

function isBelow(hostname: string, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

/** Sends the request. A request that failed or was rejected costs nothing. */
async function forward(call: MeteredCall, send: () => Promise<Response>): Promise<Response> {
  try {
    call.begin();
    const response = await send();
    if (!response.ok) {
      call.void();
    }
    return response;
  } catch (error) {
    if (call.isDenied) {
      return await denied(call);
    }
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

/** Ends a call for which no more can be held, and whose caller has got nothing. */
async function denied(call: MeteredCall): Promise<Response> {
  await call.settle(unanswered('failed'));
  return shownResponse(call.plan.format, {
    status: 402,
    code: 'hold_denied',
    message: 'Purser: The call was ended, because no limit allows to hold more for it.',
    details: {},
  });
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
    if (call.isDenied) {
      return denied(call);
    }
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
): { readonly response: Response; truncate(): void } {
  const { format, choices, showsOutput, addsUsageChunk, isAssembled } = call.plan;
  const usage = format.response.readStream(utf8Length, choices);
  const open = format.response.openStream({
    choices,
    includesUsage: !addsUsageChunk || isAssembled,
    mayTruncate: call.mayGrow,
  });
  const outcomeOf = (end: StreamEnd, isBehind: boolean): CallOutcome => ({
    status: statusOf(end, usage.hasFailed),
    usage: usage.usage(),
    isFinal: usage.isFinal,
    serverTools: usage.serverTools,
    toolCalls: usage.toolCalls,
    outputBound:
      showsOutput && !usage.isReasoningHidden && !isBehind ? usage.outputBound : Number.POSITIVE_INFINITY,
    receivedBytes: usage.outputBound,
    isAccepted: true,
    isTruncated: end === 'truncated',
    servedModel: usage.servedModel,
  });
  const { body, truncate } = meteredStream({
    ...control,
    source: response.body as ReadableStream<Uint8Array>,
    usage,
    open,
    dropUsageChunk: addsUsageChunk && !isAssembled,
    coverage: call.coverageOf(usage, () => open.isOutputEnded),
    onRead: () => call.noteOutput(usage.outputBound),
    endingOf: (isBehind) => open.truncated(call.chargesOf(outcomeOf('truncated', isBehind)).usage),
    onEnd: (end, { isBehind, hasWaited }) => call.settle(outcomeOf(end, isBehind), hasWaited),
  });
  return { response: copyOf(response, body), truncate };
}

/** Puts the stream of a plain call together. */
async function assembled({ plan }: MeteredCall, holds: CallHolds, response: Response): Promise<Response> {
  const { format } = plan;
  const result = await assembledStream(
    response.body as ReadableStream<Uint8Array>,
    format.response.assembly as AssemblyFormat,
  );
  switch (result.kind) {
    case 'response':
    case 'error': {
      const headers = new Headers(response.headers);
      headers.set('content-type', 'application/json');
      const { url } = response;
      const status = result.kind === 'error' ? result.status : response.status;
      const whole = new Response(JSON.stringify(result.body), { status, headers });
      return Object.defineProperty(whole, 'url', { value: url });
    }
    case 'unknown':
      holds.addPartialStream(plan);
      return shownResponse(format, {
        status: 502,
        code: 'response_not_assembled',
        message: `Purser: The stream has a part that cannot be put together: ${result.part}. The next attempt is not streamed.`,
        details: {},
      });
    case 'unended':
      return shownResponse(format, {
        status: 502,
        code: 'response_interrupted',
        message: 'Purser: The response of the provider broke off.',
        details: {},
      });
  }
}

function statusOf(end: StreamEnd, hasFailed: boolean): CallOutcome['status'] {
  if (end === 'left') {
    return 'cancelled';
  }
  return hasFailed || end === 'broken' ? 'failed' : 'succeeded';
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
  return shownResponse(format, shown, error instanceof PurserApiError ? error.traceId : undefined);
}

function shownResponse(format: CallFormat, shown: ShownError, traceId = ''): Response {
  return new Response(JSON.stringify(format.errors.bodyOf(shown, traceId)), {
    status: shown.status,
    headers: { 'content-type': 'application/json', ...retryHeaders(shown) },
  });
}

function shownOf(error: unknown): ShownError | undefined {
  if (error instanceof PurserApiError) {
    return shownError(error);
  }
  if (error instanceof ToolWithoutPriceError) {
    const { model, units, message } = error;
    return { status: 400, code: 'tool_without_price', message, details: { model, units } };
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
