/**
 * The fast path of the edge decision: nothing but what a decision needs when all goes well. It answers allows and
 * nothing else. Whatever is unusual (another header, an unknown key, a body that does not validate, a rate policy, a
 * refusal) goes the common way of every request, with its body kept, as if it had never been here. So the order of
 * checks and every error has one home, the pipeline.
 *
 * A hold is taken only when an allow follows from it, and the allow is told only once the hold is durable.
 */
import { performance } from 'node:perf_hooks';
import type { Held } from '../ledger/holds/hold-request.ts';
import { decisionCounts } from '../ledger/metrics.ts';
import type { FastResponder } from '../platform/http/fast/fast-connection.ts';
import type { FastHandler } from '../platform/http/fast/fast-path.ts';
import type { PlainHead } from '../platform/http/fast/plain-head.ts';
import { type AddressList, clientAddress } from '../platform/http/message/address.ts';
import { parsePlainObject } from '../platform/http/message/json.ts';
import { newTraceId } from '../platform/http/message/trace-id.ts';
import { forwardHeader } from '../platform/http/pipeline/regions.ts';
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
  /** What is remembered of a token; undefined when it has to be looked up. */
  peekCredential(token: string): Credential | undefined;
  /** What a deprecated route has to tell is told by the common way. */
  isDeprecated(): boolean;
}

/** Bodies beyond it are no usual decisions. */
const usualBytesMax = 16_384;

/** A head that a usual decision has, and the token in it. */
interface UsualHead {
  readonly head: PlainHead;
  readonly token: string;
}

export function createDecisionFastPath(deps: DecisionFastPathDependencies): FastHandler<UsualHead> {
  const { route, clock, ledger, orgLimits, findPrice, counts, trustedProxies } = deps;
  const { access, path } = route;
  if (access.kind === 'public' || route.body === undefined) {
    throw new Error('the fast path is for a route with a key and a body');
  }
  const checkBody = compileBody(route.body);
  const told = new DecisionLogBatcher(deps.log);
  const bytesMax = Math.min(usualBytesMax, deps.bodyLimitBytes);

  function identify({ token, head }: UsualHead, { socket }: FastResponder, now: Date): Caller | undefined {
    const credential = deps.peekCredential(token);
    // What a support session asks has to be put on record first.
    if (credential === undefined || credential.support !== undefined || access.kind === 'public') {
      return undefined;
    }
    // Where any address may call, it is not worth asking for.
    const isAddressAsked = credential.org?.allowList != null;
    const address = isAddressAsked ? clientAddress({ socket, headers: head.headers }, trustedProxies) : '';
    try {
      return admitCaller({ credential, access, method: route.method, pathOrgId: undefined, address, now });
    } catch {
      return undefined;
    }
  }

  /** Undefined: it has to be read first, which is not the usual case. */
  function knownGoverned(orgId: string): boolean | undefined {
    const hasPolicies = deps.hasPolicies(orgId);
    if (hasPolicies instanceof Promise) {
      // The common way asks again and hears what is wrong; unheard here it would end the process.
      hasPolicies.catch(() => undefined);
      return undefined;
    }
    return hasPolicies;
  }

  /** Undefined: not the usual question. */
  function understand(bytes: Buffer, caller: Caller, nowMs: number): DecisionRequest | undefined {
    const limits = orgLimits.peek(caller.tenantId);
    if (limits === undefined || limits.hasRates) {
      return undefined;
    }
    const body = parsePlainObject(bytes) as DecisionBody;
    if (checkBody(body).length > 0) {
      return undefined;
    }
    const price = findPrice(caller.tenantId, body.model, nowMs);
    if (price instanceof Promise) {
      // The common way asks again and hears what is wrong; unheard here it would end the process.
      price.catch(() => undefined);
      return undefined;
    }
    const request = decisionRequestOf(body, { orgId: caller.tenantId, keyId: caller.keyId }, price);
    return 'code' in request ? undefined : request;
  }

  /** Undefined: ask the books, and wait. */
  function decide({ request }: DecisionRequest): ReturnType<typeof ledger.decide> {
    try {
      return ledger.decide(request);
    } catch {
      return undefined;
    }
  }

  function answer(usual: UsualHead, bytes: Buffer, responder: FastResponder): void {
    const startedMs = performance.now();
    const now = clock.now();
    const caller = deps.isDeprecated() ? undefined : identify(usual, responder, now);
    const request = caller && understand(bytes, caller, now.getTime());
    const hasPolicies = caller && knownGoverned(caller.tenantId);
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
      told.add(traceId, held.hold.id, caller);
    };
    const decided = decide(request);
    if (decided === undefined) {
      const asked = ledger.hold(request.request);
      asked.then(
        // What was asked of the books is not asked again: the answer may be lost, and the hold there.
        (result) => (result.kind === 'held' ? allow(result) : responder.fallBackToPipeline(asked)),
        () => responder.fallBackToPipeline(asked),
      );
    } else if ('held' in decided) {
      decided.durable.then(
        () => allow(decided.held),
        // The hold is given back already.
        () => responder.fallBackToPipeline(),
      );
    } else {
      responder.fallBackToPipeline();
    }
  }

  return {
    prepare(head) {
      const token = bearerToken(head.headers.authorization);
      return token !== undefined && head.target === path && isUsual(head, bytesMax)
        ? { head, token }
        : undefined;
    },
    take(usual, bytes, responder) {
      try {
        answer(usual, bytes, responder);
      } catch {
        // Here it would end the process; there it is answered.
        responder.fallBackToPipeline();
      }
    },
  };
}

/** No header that anyone but the common way knows how to treat. */
function isUsual({ method, headers, bodyBytes }: PlainHead, bytesMax: number): boolean {
  return (
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    headers.origin === undefined &&
    headers['idempotency-key'] === undefined &&
    headers[forwardHeader] === undefined &&
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

/** A key's allows of one turn of the event loop share a line in the log: each trace id is in it, at a fraction of the cost. */
class DecisionLogBatcher {
  readonly #log: Log;
  #byKey = new Map<string, LoggedDecision>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(traceId: string, decisionId: string, { tenantId, keyId }: Caller): void {
    const told = this.#byKey.get(keyId);
    if (told !== undefined) {
      told.allows += ` ${traceId} ${decisionId}`;
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
      this.#log.info(line, 'edge decisions: trace id and decision in turn');
    }
  }
}
