/** Receives OpenTelemetry over HTTP: spans and events of calls to models become runs. */
import { Counter, type Registry } from 'prom-client';
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import { createLogError, type Reply, type StreamedReply } from '../../../platform/http/message/reply.ts';
import {
  type IdentifyRawDependencies,
  identifyRawCaller,
  type RawAccess,
} from '../../../platform/http/pipeline/identify-raw-caller.ts';
import type { RawEndpoint, RawHead, RawRequest } from '../../../platform/http/routes/raw-endpoint.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Log } from '../../../platform/log.ts';
import { createBulkThrottle } from '../../spend/runs/index.ts';
import { callOfEvent } from './agent-events.ts';
import { decodeLogsJson, decodeTracesJson } from './decode-json.ts';
import { decodeLogs, decodeTraces } from './decode-protobuf.ts';
import type { ModelCall } from './model-call.ts';
import { type RecordDependencies, type RecordedCalls, recordCalls } from './record-calls.ts';
import { type Encoding, encodingOf, errorReply, OtlpError, successReply } from './reply.ts';
import { callOfSpan, type GatewayAddress } from './spans.ts';
import type { Signal, TelemetryRecord } from './telemetry-record.ts';

export interface TelemetryDependencies extends RecordDependencies, IdentifyRawDependencies {
  readonly log: Log;
  readonly bodyBytesMax: number;
  /** Undefined if the gateway is turned off. */
  gatewayAddress(): GatewayAddress | undefined;
}

export interface Telemetry {
  readonly endpoint: RawEndpoint;
  /** The same for callers who may call models but not report runs. Not served under its own path. */
  readonly callersEndpoint: RawEndpoint;
  register(registry: Registry): void;
}

const path = '/otlp';
const access: RawAccess = {
  access: { kind: 'org', scope: 'runs:write', role: 'member' },
  operation: { id: 'telemetry.record', path },
  keyHeaders: ['x-api-key', 'api-key'],
  invalidKey: 'The key is not valid.',
};
/** Tools report the calls of their member, to whom their attribution is locked. */
const callersAccess: RawAccess = { ...access, access: { ...access.access, scope: 'gateway:call' } };
const signals: readonly Signal[] = ['traces', 'logs', 'metrics'];

/** Requests whose body is being read, decoded or recorded. */
const requestsMax = 64;
const requestsOfOrgMax = 32;
/** Calls that one request may report. Exporters send a few hundred spans at once. */
export const callsMax = 10_000;

export function createTelemetry(deps: TelemetryDependencies): Telemetry {
  const logError = createLogError(deps.log);
  const places = new FairShare({ capacity: requestsMax, perTenantMax: requestsOfOrgMax, shareMax: 1 });
  const throttle = createBulkThrottle(() => decisionCounts.totalOf('edge'));
  const counter = new Counter({
    name: 'svc_telemetry_calls_total',
    help: 'Calls to models that OpenTelemetry requests reported, by result.',
    labelNames: ['result'],
    registers: [],
  });
  for (const result of ['recorded', 'known', 'rejected']) {
    counter.inc({ result }, 0);
  }

  async function answer(request: RawRequest, required: RawAccess): Promise<Reply | StreamedReply> {
    const caller = await identifyRawCaller(deps, request, required);
    const signal = signalOf(request);
    if (signal === undefined) {
      throw new OtlpError(404, 'not_found', `Send POST requests to ${path}/v1/traces or ${path}/v1/logs.`);
    }
    const encoding = encodingOf(request.headers['content-type']);
    if (encoding === undefined) {
      throw new OtlpError(
        415,
        'unsupported_media_type',
        'The content type must be application/x-protobuf or application/json.',
      );
    }
    const orgId = caller.tenantId;
    if (!places.tryTake(orgId)) {
      throw apiErrorWithDetails(
        'rate_limited',
        { retry_after_seconds: 1 },
        'Too many telemetry requests are in progress; see Retry-After.',
      );
    }
    try {
      const body = await request.readBody(deps.bodyBytesMax, orgId);
      if (signal === 'metrics') {
        // Exporters send all signals to one address. Metrics are sums of what spans and events say.
        return successReply(signal, encoding, undefined);
      }
      const { calls, excess } = await callsIn(body, signal, encoding);
      const result =
        calls.length === 0
          ? nothing
          : await throttle.run(() => recordCalls(deps, { caller, now: request.now }, calls));
      return reply(signal, encoding, result, excess);
    } finally {
      places.release(orgId);
    }
  }

  async function callsIn(
    body: Buffer,
    signal: 'traces' | 'logs',
    encoding: Encoding,
  ): Promise<{ readonly calls: readonly ModelCall[]; readonly excess: number }> {
    const gateway = deps.gatewayAddress();
    const yielder = createYielder();
    const calls: ModelCall[] = [];
    let excess = 0;
    const records = decoders[signal][encoding](body)[Symbol.iterator]();
    for (;;) {
      const record = nextOf(records, encoding);
      if (record === undefined) {
        return { calls, excess };
      }
      const call = signal === 'traces' ? callOfSpan(record, gateway) : callOfEvent(record);
      if (call !== undefined && calls.length < callsMax) {
        calls.push(call);
      } else {
        excess += call === undefined ? 0 : 1;
      }
      const pause = yielder.yieldIfDue();
      if (pause !== undefined) {
        await pause;
      }
    }
  }

  function reply(
    signal: Signal,
    encoding: Encoding,
    { recorded, known, rejected, reasons }: RecordedCalls,
    excess: number,
  ): Reply | StreamedReply {
    counter.inc({ result: 'recorded' }, recorded);
    counter.inc({ result: 'known' }, known);
    counter.inc({ result: 'rejected' }, rejected + excess);
    const messages = excess === 0 ? reasons : [...reasons, `At most ${callsMax} calls per request.`];
    return successReply(
      signal,
      encoding,
      rejected + excess === 0 ? undefined : { rejected: rejected + excess, message: messages.join(' ') },
    );
  }

  const endpointFor = (required: RawAccess): RawEndpoint => ({
    path,
    async handler(request) {
      try {
        return await answer(request, required);
      } catch (error) {
        const shown = error instanceof OtlpError ? error : logError(error, request.traceId);
        return errorReply(shown, errorEncodingOf(request));
      }
    },
    refused: (error, request) => errorReply(error, errorEncodingOf(request)),
  });

  return {
    endpoint: endpointFor(access),
    callersEndpoint: endpointFor(callersAccess),
    register: (registry) => registry.registerMetric(counter),
  };
}

const nothing: RecordedCalls = { recorded: 0, known: 0, rejected: 0, reasons: [] };

const decoders = {
  traces: { protobuf: decodeTraces, json: decodeTracesJson },
  logs: { protobuf: decodeLogs, json: decodeLogsJson },
} as const;

function nextOf(records: Iterator<TelemetryRecord>, encoding: Encoding): TelemetryRecord | undefined {
  try {
    const { done, value } = records.next();
    return done ? undefined : value;
  } catch (error) {
    if (encoding === 'json') {
      throw error;
    }
    // The reader throws plain errors for bytes that are not a message.
    throw new OtlpError(400, 'invalid_body', 'The body is not a valid OTLP message in Protobuf.');
  }
}

function signalOf({ method, url }: RawHead): Signal | undefined {
  const [requested] = url.split('?', 1);
  return method === 'POST' ? signals.find((signal) => requested === `${path}/v1/${signal}`) : undefined;
}

/** A request without a content type of OTLP gets its errors in JSON. */
function errorEncodingOf({ headers }: RawHead): Encoding {
  return encodingOf(headers['content-type']) ?? 'json';
}
