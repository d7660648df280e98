/**
 * The gateway: an OpenAI- and Anthropic-compatible reverse proxy. It uses the ledger like any other client: calls are admitted as
 * runs in progress.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { ApiError } from '../contract/api-error.ts';
import { createOutputHistory } from '../growing-holds/output-history.ts';
import { createPaceHistory } from '../growing-holds/pace-history.ts';
import { PacedHolds } from '../growing-holds/paced-holds.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import { createLogError, type Reply, type StreamedReply } from '../platform/http/message/reply.ts';
import type { IdentifyRawDependencies } from '../platform/http/pipeline/identify-raw-caller.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawEndpoint, RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { LookupOptions } from '../platform/outbound/checked-lookup.ts';
import { SlicedWork } from '../platform/sliced-work.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { withRequestLink } from './ask-for-more.ts';
import { createPartialStreams } from './assemble/partial-streams.ts';
import { callHeadersOf } from './attribution-headers.ts';
import { CallMemory } from './body/call-memory.ts';
import { createTokenRatios } from './body/token-ratios.ts';
import type { CallStatus } from './call-status.ts';
import { type ChooseDependencies, chooseAndAdmit } from './choose-and-admit.ts';
import { errorReply, GatewayError } from './errors/gateway-error.ts';
import { createProviderClient } from './forward/provider-client.ts';
import { forwardFree } from './free-call.ts';
import { Drains, type GatewayContext } from './gateway-context.ts';
import { createGatewayMetrics } from './gateway-metrics.ts';
import { createHoldCoverage, type IncreaseCallHold } from './hold-coverage.ts';
import { type HoldingCall, withHoldingCalls } from './holding-calls.ts';
import { admitOnce } from './idempotency/admit-once.ts';
import { callKeyOf } from './idempotency/call-key.ts';
import { identifyCaller } from './identify-caller.ts';
import type { Deployments } from './learned/deployments.ts';
import { type CountsStore, createLearnedCounts } from './learned/learned-counts.ts';
import { forwardCall } from './metered-call.ts';
import { listModels } from './models-list.ts';
import type { PaceEvents } from './pace/pace-events.ts';
import { dropContent, readCall, requireUtf8 } from './parse-call.ts';
import { errorsOf, operationOf, servedPaths } from './paths/index.ts';
import type { GatewayOperation, MeteredOperation } from './paths/operation.ts';
import { createAbandonedHolds } from './settle/abandoned-holds.ts';
import { createSettlements } from './settle/settlements.ts';
import { createStoredResponses } from './stored-responses.ts';
import { Turns } from './turns.ts';
import { createDurationHistory } from './usage/duration-history.ts';

export interface GatewayDependencies
  extends Omit<
      ChooseDependencies,
      'ratios' | 'outputs' | 'paces' | 'partialStreams' | 'pacedHolds' | 'settlements' | 'abandoned'
    >,
    IdentifyRawDependencies {
  readonly increaseHold: IncreaseCallHold;
  /** Counts learned from earlier calls of all processes. */
  readonly learned: CountsStore;
  readonly deployments: Deployments;
  readonly paceEvents: PaceEvents;
  readonly clock: Clock;
  readonly log: Log;
  /** Directory of settlements that wait for the ledger. */
  readonly directory: string;
  /** Time in which settlements are collected for one transaction. */
  readonly collectMs: number;
  /** Time by which the hold of a paced call is ahead of it. */
  readonly holdLeadMs: number;
  /** Time for which a provider may continue a call after this process was killed. */
  readonly goOnMs: number;
  readonly lookup: LookupOptions;
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly callsMax: number;
    readonly drainsMax: number;
  };
  /** The URL of the service, for links in denials. */
  baseUrl(): string;
  /** Called for each call that a check has denied. */
  recordDenial(denied: DeniedCall): void;
}

export interface DeniedCall {
  readonly error: ApiError;
  readonly caller: Caller;
  readonly traceId: string;
  /** The attribution and the model that were read before the denial. */
  readonly body: object;
}

export interface Gateway {
  readonly endpoints: readonly RawEndpoint[];
  readonly jobs: readonly Job[];
  register(registry: Registry): void;
  /** Posts the ended calls of an org that are not posted yet. Returns undefined if there are none. */
  postPending(orgId: string): Promise<unknown> | undefined;
  /** Returns the calls of all orgs that this process is forwarding. */
  callsInProgress(): readonly CallStatus[];
  /** Ends the calls in progress when the process stops: properly in their format, and with a settlement. */
  cut(): Promise<void>;
  /**
   * Waits up to this long for responses that are read after their client has left, then ends and settles the calls that are still
   * in progress. Must be called after the last response, while the database is open.
   */
  finish(waitMs: number): Promise<void>;
}

/** Number of calls that may start or end in one turn of the event loop while others are streaming. They take a few milliseconds. */
const callsPerTurn = 8;

export function createGateway(deps: GatewayDependencies): Gateway {
  const { log, limits } = deps;
  const logError = createLogError(log);
  const learned = createLearnedCounts(deps.learned, log);
  const ratios = createTokenRatios(learned);
  const settlements = createSettlements(deps);
  const storedResponses = createStoredResponses(deps.runs.db, settlements);
  const metrics = createGatewayMetrics();
  const outputs = createOutputHistory(learned);
  const paces = createPaceHistory(learned, () => deps.clock.now().getTime());
  const partialStreams = createPartialStreams();
  const pacedHolds = new PacedHolds({
    leadMs: deps.holdLeadMs,
    goOnMs: deps.goOnMs,
    isFailOpen: deps.failOpen !== undefined,
    nowMs: () => performance.now(),
  });
  const context: GatewayContext = {
    client: createProviderClient(deps.lookup),
    connections: deps.connections,
    settlements,
    ratios,
    outputs,
    durations: createDurationHistory(learned),
    prices: deps.prices,
    deployments: deps.deployments,
    metrics,
    inProgress: new Set(),
    drains: new Drains(limits.drainsMax),
    responseBytesMax: limits.bodyBytesMax,
    coverage: createHoldCoverage(deps.increaseHold),
    increaseHold: deps.increaseHold,
    pacedHolds,
    paceEvents: deps.paceEvents,
    paces,
    partialStreams,
    storedResponses,
    turns: new Turns(callsPerTurn),
    work: new SlicedWork(),
  };
  const abandoned = createAbandonedHolds(deps.runs, deps.clock);
  const choosing = { ...deps, ratios, outputs, paces, partialStreams, pacedHolds, settlements, abandoned };
  const admittingOnce = { ledger: deps.runs.ledger, settlements, failOpen: deps.failOpen };

  async function cut(): Promise<void> {
    context.drains.close();
    await Promise.all([...context.inProgress].map((call) => call.cut()));
  }

  let places = 0;

  async function answer(
    request: RawRequest,
    operation: GatewayOperation | undefined,
  ): Promise<Reply | StreamedReply> {
    if (operation?.kind === 'root') {
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: 'Purser gateway\n',
      };
    }
    if (request.headers.upgrade?.toLowerCase() === 'websocket') {
      // With this status Codex falls back to HTTP immediately. After other statuses it repeats the upgrade for seconds.
      throw new GatewayError(
        426,
        'websocket_not_supported',
        'The gateway serves HTTP requests, not WebSockets.',
      );
    }
    const caller = await identifyCaller(deps, request);
    if (operation === undefined || operation.kind === 'unserved') {
      const unserved = `The gateway does not serve ${request.method} ${pathOf(request.url)}.`;
      throw new GatewayError(
        404,
        'not_found',
        operation === undefined ? unserved : `${unserved} ${operation.reason}`,
      );
    }
    switch (operation.kind) {
      case 'models':
        return listModels({ ...deps, policies: deps.runs.policies }, caller, operation, request.now);
      case 'metered':
        return meteredCall(request, operation, caller);
      default:
        return forwardFree(context, { request, operation, caller, bodyBytesMax: limits.bodyBytesMax });
    }
  }

  async function meteredCall(
    request: RawRequest,
    operation: MeteredOperation,
    caller: Caller,
  ): Promise<Reply | StreamedReply> {
    const release = takePlace();
    const memory = new CallMemory(workMemoryOf(caller.tenantId));
    try {
      // A separate function, so that nothing references the body while the call is in progress.
      return await forwardCall(context, await admitRequest({ request, operation, caller, release, memory }));
    } catch (error) {
      release();
      throw error;
    } finally {
      memory.release();
    }
  }

  async function admitRequest(
    received: Pick<AdmittedRequest, 'request' | 'operation' | 'caller' | 'release' | 'memory'>,
  ): Promise<AdmittedRequest> {
    const startedMs = performance.now();
    const { request, operation, caller, memory } = received;
    const { format } = operation;
    let subject: object = {};
    try {
      const orgId = caller.tenantId;
      const headers = callHeadersOf(request.headers);
      const body = await request.readBody(limits.bodyBytesMax, orgId);
      memory.holdBytes(body.length);
      const turn = metrics.hasStreams() ? context.turns.next() : undefined;
      if (turn !== undefined) {
        await turn;
      }
      requireUtf8(request.headers['content-type']);
      const reading = context.work.run(orgId, readCall(format, body, memory, operation));
      const call = reading instanceof Promise ? await reading : reading;
      subject = { model: call.model, ...headers.attribution };
      // Checked in every format, because providers may know this member in all of them.
      if (call.body.previous_response_id != null) {
        await storedResponses.requireOwnPrevious(caller, call.body);
      }
      const { idempotencyKey } = headers;
      const key =
        idempotencyKey === undefined
          ? undefined
          : callKeyOf(idempotencyKey, { caller, url: request.url, body });
      const admit = () =>
        chooseAndAdmit(choosing, {
          orgId,
          operation,
          call,
          caller,
          now: request.now,
          attribution: headers.attribution,
          maxCostNanos: headers.maxCostNanos,
          betas: String(request.headers[format.request.betas?.header ?? ''] ?? ''),
          onLimit: headers.onLimit,
          key,
        });
      const { plan, admitted, attribution } = await (key === undefined
        ? admit()
        : admitOnce(admittingOnce, orgId, key, admit));
      metrics.addedLatency((performance.now() - startedMs) / 1_000);
      dropContent(call);
      memory.keepBytes();
      return { plan, admitted, attribution, startedMs, ...received };
    } catch (error) {
      if (error instanceof ApiError) {
        deps.recordDenial({ error, caller, traceId: request.traceId, body: subject });
      }
      const denial = withRequestLink(error, caller, deps.baseUrl);
      throw withHoldingCalls(denial, request.now, (counterKey) => holdingIn(caller.tenantId, counterKey));
    }
  }

  function holdingIn(orgId: string, counterKey: string): HoldingCall[] {
    return [...context.inProgress].flatMap((call) => call.holdingIn(orgId, counterKey) ?? []);
  }

  /** Takes a place for a call. Returns a function that frees it and can be called twice. */
  function takePlace(): () => void {
    if (places >= limits.callsMax) {
      throw new GatewayError(503, 'overloaded', 'Too many calls are in progress. Please try again.');
    }
    places += 1;
    let isTaken = true;
    return () => {
      places -= isTaken ? 1 : 0;
      isTaken = false;
    };
  }

  async function handler(request: RawRequest): Promise<Reply | StreamedReply> {
    const operation = operationOf(request.method, request.url);
    let reply: Reply | StreamedReply;
    try {
      reply = await answer(request, operation);
    } catch (error) {
      const shown = error instanceof GatewayError ? error : logError(error, request.traceId);
      reply = errorReply(shown, errorsOf(operation, request.url), request);
    }
    metrics.call(operationName(operation), reply.status);
    return reply;
  }

  const endpoint = (path: string): RawEndpoint => ({
    path,
    handler,
    refused: (error, request) =>
      errorReply(error, errorsOf(operationOf(request.method, request.url), request.url), request),
  });

  return {
    endpoints: servedPaths.map(({ prefix }) => endpoint(prefix)),
    jobs: [settlements.job, abandoned.job, learned.job],
    register: (registry) =>
      metrics.register(registry, {
        inProgress: () => places,
        drains: () => context.drains.size,
        pendingSettlements: () => settlements.pending,
      }),
    postPending: (orgId) => settlements.post(orgId),
    callsInProgress: () => [...context.inProgress].map((call) => call.status()),
    cut,
    async finish(waitMs) {
      const settled = Promise.all([...context.inProgress].map((call) => call.settled()));
      await Promise.race([settled, pause(waitMs, undefined, { ref: false })]);
      await cut();
      await context.client.close();
      await Promise.all([learned.flush(), deps.deployments.flush(), deps.paceEvents.flush()]);
      await settlements.close();
    },
  };
}

function operationName(operation: GatewayOperation | undefined): string {
  if (operation === undefined || operation.kind === 'unserved') {
    return 'unknown';
  }
  return operation.kind === 'metered' ? operation.format.name : operation.kind;
}

function pathOf(url: string): string {
  const [path = ''] = url.split('?', 1);
  return path.slice(0, 200);
}
