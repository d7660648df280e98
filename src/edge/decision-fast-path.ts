/**
 * The fast path of the edge decision. It only handles allowed decisions. Everything unusual (other headers, an
 * unknown key, an invalid body, a rate limit, a denial) falls back to the pipeline with its body, as if the fast
 * path did not exist. So the order of checks and all errors are defined in one place, the pipeline.
 *
 * A hold is only taken if the decision is allowed, and the response is sent once the hold is durable.
 */
import { performance } from 'node:perf_hooks';
import { attributed } from '../ledger/attribution.ts';
import type { Held } from '../ledger/holds/hold-request.ts';
import { decisionCounts } from '../ledger/metrics.ts';
import type { FastResponder } from '../platform/http/fast/fast-connection.ts';
import type { FastHandler } from '../platform/http/fast/fast-path.ts';
import type { PlainHead } from '../platform/http/fast/plain-head.ts';
import { type AddressList, clientAddress } from '../platform/http/message/address.ts';
import { parsePlainObject } from '../platform/http/message/json.ts';
import { newTraceId } from '../platform/http/message/trace-id.ts';
import { admitCaller, type Caller, type Credential } from '../platform/http/routes/access.ts';
import type { Route } from '../platform/http/routes/route.ts';
import { compileBody } from '../platform/http/routes/validation.ts';
import type { Log } from '../platform/log.ts';
import type { RouteCounts } from '../platform/observability/request-counts.ts';
import type { Clock } from '../platform/time/clock.ts';
import { type DecisionRequest, decisionRequestOf, verdictText } from './decision.ts';
import type { EdgeDependencies } from './routes.ts';
import type { DecisionBody } from './schema.ts';

export interface DecisionFastPathDependencies extends EdgeDependencies {
  readonly route: Route;
  readonly clock: Clock;
  readonly log: Log;
  readonly counts: RouteCounts;
  readonly trustedProxies: AddressList | undefined;
  readonly bodyLimitBytes: number;
  /** Returns the cached credential of a token; undefined if it must be loaded. */
  peekCredential(token: string): Credential | undefined;
  /** Returns true if the route is deprecated. The pipeline then answers, because it adds the deprecation headers. */
  isDeprecated(): boolean;
}

/** Maximum size of a body on the fast path. The pipeline handles larger ones. */
const fastBodyBytesMax = 16_384;

/** A request head that the fast path can handle, and its token. */
interface FastHead {
  readonly head: PlainHead;
  readonly token: string;
}

export function createDecisionFastPath(deps: DecisionFastPathDependencies): FastHandler<FastHead> {
  const { route, clock, ledger, orgLimits, findPrice, pendingHolds, counts, trustedProxies } = deps;
  const { access, path } = route;
  if (access.kind === 'public' || route.body === undefined) {
    throw new Error('the fast path requires a route with authentication and a body');
  }
  const checkBody = compileBody(route.body);
  const logBatcher = new DecisionLogBatcher(deps.log);
  const bytesMax = Math.min(fastBodyBytesMax, deps.bodyLimitBytes);

  function identify({ token, head }: FastHead, { socket }: FastResponder, now: Date): Caller | undefined {
    const credential = deps.peekCredential(token);
    // The request of a support session must be recorded first.
    if (credential === undefined || credential.support !== undefined || access.kind === 'public') {
      return undefined;
    }
    // The address is only needed if there is an allow list.
    const needsAddress = credential.org?.allowList != null;
    const address = needsAddress ? clientAddress({ socket, headers: head.headers }, trustedProxies) : '';
    try {
      return admitCaller({ credential, access, method: route.method, pathOrgId: undefined, address, now });
    } catch {
      return undefined;
    }
  }

  /** Returns whether the org has policies; undefined if they must be loaded first. */
  function cachedHasPolicies(orgId: string): boolean | undefined {
    const hasPolicies = deps.hasPolicies(orgId);
    if (hasPolicies instanceof Promise) {
      // The pipeline retries and reports the error; an unhandled rejection would end the process.
      hasPolicies.catch(() => undefined);
      return undefined;
    }
    return hasPolicies;
  }

  /** Parses and validates a decision. Returns undefined if the request must fall back to the pipeline. */
  function parseAndValidate(bytes: Buffer, caller: Caller, nowMs: number): DecisionRequest | undefined {
    const limits = orgLimits.peek(caller.tenantId);
    if (limits === undefined || limits.hasRates) {
      return undefined;
    }
    const stated = parsePlainObject(bytes) as DecisionBody;
    if (checkBody(stated).length > 0) {
      return undefined;
    }
    const body = attributed(stated, caller.attribution);
    if (typeof body === 'string') {
      return undefined;
    }
    const price = findPrice(caller.tenantId, body.model, nowMs, body);
    if (price instanceof Promise) {
      // The pipeline retries and reports the error; an unhandled rejection would end the process.
      price.catch(() => undefined);
      return undefined;
    }
    const request = decisionRequestOf(body, { orgId: caller.tenantId, keyId: caller.keyId }, price);
    return 'code' in request ? undefined : request;
  }

  /** Decides synchronously. Returns undefined if the ledger must be called asynchronously, or after an error. */
  function decide({ request }: DecisionRequest): ReturnType<typeof ledger.decide> {
    try {
      return ledger.decide(request);
    } catch {
      return undefined;
    }
  }

  function respond(fastRequest: FastHead, bytes: Buffer, responder: FastResponder): void {
    const startedMs = performance.now();
    const now = clock.now();
    const caller = deps.isDeprecated() ? undefined : identify(fastRequest, responder, now);
    const request = caller && parseAndValidate(bytes, caller, now.getTime());
    const hasPolicies = caller && cachedHasPolicies(caller.tenantId);
    if (caller === undefined || request === undefined || hasPolicies === undefined) {
      responder.fallBackToPipeline();
      return;
    }
    const allow = (held: Held) => {
      const traceId = newTraceId();
      responder.sendOk(
        'content-type: application/json; charset=utf-8\r\ncache-control: no-store\r\n' +
          `x-svc-trace-id: ${traceId}\r\nx-content-type-options: nosniff\r\n`,
        verdictText(request, held, hasPolicies),
      );
      counts.answered('POST', 200, (performance.now() - startedMs) / 1_000);
      decisionCounts.count('edge', 'allow', '');
      logBatcher.add(traceId, held.hold.id, caller);
    };
    const decided = decide(request);
    if (decided === undefined) {
      const hold = ledger.hold(request.request);
      // The pipeline must not request the hold again: it may exist although its result was lost.
      const fallBack = () => responder.fallBackToPipeline((plain) => pendingHolds.set(plain, hold));
      hold.then((result) => (result.kind === 'held' ? allow(result) : fallBack()), fallBack);
    } else if ('held' in decided) {
      decided.durable.then(
        () => allow(decided.held),
        // The hold was not made durable and is released already.
        () => responder.fallBackToPipeline(),
      );
    } else {
      responder.fallBackToPipeline();
    }
  }

  return {
    prepare(head) {
      const token = bearerToken(head.headers.authorization);
      return token !== undefined && head.target === path && isFastRequest(head, bytesMax)
        ? { head, token }
        : undefined;
    },
    take(fastRequest, bytes, responder) {
      try {
        respond(fastRequest, bytes, responder);
      } catch {
        // An exception would end the process here. The pipeline handles the error instead.
        responder.fallBackToPipeline();
      }
    },
  };
}

/** Returns true if the method, the headers and the size of the body allow the fast path. */
function isFastRequest({ method, headers, bodyBytes }: PlainHead, bytesMax: number): boolean {
  return (
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    headers.origin === undefined &&
    headers['idempotency-key'] === undefined &&
    bodyBytes <= bytesMax
  );
}

const scheme = 'Bearer ';

function bearerToken(authorization: string | undefined): string | undefined {
  return authorization?.startsWith(scheme) === true ? authorization.slice(scheme.length) : undefined;
}

interface LoggedDecision {
  readonly tenant: string;
  readonly key: string;
  allows: string;
}

/**
 * Logs the allowed decisions of a key in one turn of the event loop as one line, which contains all trace ids at a
 * fraction of the cost.
 */
class DecisionLogBatcher {
  readonly #log: Log;
  #byKey = new Map<string, LoggedDecision>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(traceId: string, decisionId: string, { tenantId, keyId }: Caller): void {
    const line = this.#byKey.get(keyId);
    if (line !== undefined) {
      line.allows += ` ${traceId} ${decisionId}`;
      return;
    }
    if (this.#byKey.size === 0) {
      setImmediate(() => this.#write());
    }
    this.#byKey.set(keyId, { tenant: tenantId, key: keyId, allows: `${traceId} ${decisionId}` });
  }

  #write(): void {
    const lines = this.#byKey;
    this.#byKey = new Map();
    for (const line of lines.values()) {
      this.#log.info(line, 'edge decisions: alternating trace and decision ids');
    }
  }
}
