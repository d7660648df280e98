/**
 * The fast path of the edge decision: nothing but what a decision needs when all goes well. It answers allows and
 * nothing else. Whatever is unusual (another header, an unknown key, a body that does not validate, a rate policy, a
 * refusal) goes the common way of every request, with its body kept, as if it had never been here. So the order of
 * checks and every error has one home, the pipeline.
 *
 * A hold is taken only when an allow follows from it, and the allow is told only once the hold is durable.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Clock } from '../platform/clock.ts';
import { admitCaller, type Caller, type Credential } from '../platform/http/access.ts';
import { type AddressList, clientAddress } from '../platform/http/address.ts';
import { onBroken } from '../platform/http/body.ts';
import { giveHeadStart } from '../platform/http/head-start.ts';
import { parsePlainObject } from '../platform/http/json.ts';
import type { RequestHandler } from '../platform/http/pipeline.ts';
import { forwardHeader } from '../platform/http/regions.ts';
import type { Route } from '../platform/http/route.ts';
import { newTraceId } from '../platform/http/trace-id.ts';
import { compileBody } from '../platform/http/validation.ts';
import type { Held, HoldResult } from '../platform/ledger/ledger.ts';
import { decisionCounts } from '../platform/ledger/metrics.ts';
import type { Log } from '../platform/log.ts';
import type { RouteCounts } from '../platform/request-counts.ts';
import { type Question, questionOf, verdictText } from './decision.ts';
import type { EdgeDependencies } from './routes.ts';
import type { AskDecision } from './schema.ts';

export interface FastPathDependencies extends EdgeDependencies {
  readonly route: Route;
  readonly clock: Clock;
  readonly log: Log;
  readonly counts: RouteCounts;
  readonly trustedProxies: AddressList | undefined;
  readonly bodyLimitBytes: number;
  /** What is remembered of a token; undefined when it has to be looked up. */
  peekCredential(token: string): Credential | undefined;
}

/** Bodies beyond it are no usual decisions. */
const usualBytesMax = 16_384;

/** True when the request is taken care of. */
export type FastPath = (
  request: IncomingMessage,
  response: ServerResponse,
  commonWay: RequestHandler,
) => boolean;

export function createFastPath(deps: FastPathDependencies): FastPath {
  const { route, clock, ledger, orgLimits, findPrice, counts, trustedProxies } = deps;
  const { access, path } = route;
  if (access.kind === 'public' || route.body === undefined) {
    throw new Error('the fast path is for a route with a key and a body');
  }
  const checkBody = compileBody(route.body);
  const told = new ToldAllows(deps.log);
  const bytesMax = Math.min(usualBytesMax, deps.bodyLimitBytes);

  function identify(request: IncomingMessage, now: Date): Caller | undefined {
    const token = bearerToken(request);
    const credential = token === undefined ? undefined : deps.peekCredential(token);
    if (credential === undefined || access.kind === 'public') {
      return undefined;
    }
    try {
      const address = clientAddress(request, trustedProxies);
      return admitCaller({ credential, access, method: route.method, pathOrgId: undefined, address, now });
    } catch {
      return undefined;
    }
  }

  /** Undefined: it has to be read first, which is not the usual case. */
  function knownGoverned(orgId: string): boolean | undefined {
    const isGoverned = deps.isGoverned(orgId);
    if (isGoverned instanceof Promise) {
      // The common way asks again and hears what is wrong; unheard here it would end the process.
      isGoverned.catch(() => undefined);
      return undefined;
    }
    return isGoverned;
  }

  /** Undefined: not the usual question. */
  function understand(bytes: Buffer, caller: Caller, nowMs: number): Question | undefined {
    const limits = orgLimits.peek(caller.tenantId);
    if (limits === undefined || limits.hasRates) {
      return undefined;
    }
    const body = parsePlainObject(bytes) as AskDecision;
    if (checkBody(body).length > 0) {
      return undefined;
    }
    const price = findPrice(caller.tenantId, body.model, nowMs);
    if (price instanceof Promise) {
      // The common way asks again and hears what is wrong; unheard here it would end the process.
      price.catch(() => undefined);
      return undefined;
    }
    const question = questionOf(body, { orgId: caller.tenantId, keyId: caller.keyId }, price);
    return 'code' in question ? undefined : question;
  }

  /** Undefined: ask the books, and wait. */
  function decide({ request }: Question): ReturnType<typeof ledger.decide> {
    try {
      return ledger.decide(request);
    } catch {
      return undefined;
    }
  }

  return (request, response, commonWay) => {
    if (request.url !== path || request.method !== 'POST' || !isUsual(request, bytesMax)) {
      return false;
    }
    const startedMs = performance.now();
    const now = clock.now();
    const caller = identify(request, now);
    if (caller === undefined) {
      return false;
    }

    let bytes: Buffer | undefined;
    let handled = false;
    /** What was asked of the books is not asked again: the answer may be lost, and the hold there. */
    const fallBack = (outcome?: Promise<HoldResult>) => {
      handled = true;
      giveHeadStart(request, { body: bytes ?? Buffer.alloc(0), outcome });
      void commonWay(request, response);
    };
    const allow = (question: Question, held: Held, isGoverned: boolean) => {
      const traceId = newTraceId();
      const body = verdictText(question, held, isGoverned);
      response.writeHead(200, [
        'content-type',
        'application/json; charset=utf-8',
        'cache-control',
        'no-store',
        'x-svc-trace-id',
        traceId,
        'x-content-type-options',
        'nosniff',
        'content-length',
        String(body.length),
      ]);
      // Nothing in a verdict is beyond ASCII, and as such it is written without being looked at.
      response.end(body, 'latin1');
      counts.answered('POST', 200, (performance.now() - startedMs) / 1_000);
      decisionCounts.count('edge', 'allow', '');
      told.add(traceId, held.hold.id, caller);
    };

    request.on('data', (chunk: Buffer) => {
      bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk]);
    });
    const answer = () => {
      const question = bytes === undefined ? undefined : understand(bytes, caller, now.getTime());
      const isGoverned = knownGoverned(caller.tenantId);
      if (question === undefined || isGoverned === undefined) {
        fallBack();
        return;
      }
      const decided = decide(question);
      if (decided === undefined) {
        const asked = ledger.hold(question.request);
        asked.then(
          (result) => (result.kind === 'held' ? allow(question, result, isGoverned) : fallBack(asked)),
          () => fallBack(asked),
        );
      } else if ('held' in decided) {
        decided.durable.then(
          () => allow(question, decided.held, isGoverned),
          // The hold is given back already.
          () => fallBack(),
        );
      } else {
        fallBack();
      }
    };
    request.on('end', () => {
      if (handled) {
        return;
      }
      try {
        answer();
      } catch {
        // Here it would end the process; there it is answered.
        fallBack();
      }
    });
    onBroken(request, () => fallBack());
    return true;
  };
}

const jsonType = 'application/json';

/** No header that anyone but the common way knows how to treat. */
function isUsual({ headers, rawHeaders }: IncomingMessage, bytesMax: number): boolean {
  if (
    headers['content-type'] !== jsonType ||
    headers.host === undefined ||
    headers.expect !== undefined ||
    headers.origin !== undefined ||
    headers['content-encoding'] !== undefined ||
    headers['idempotency-key'] !== undefined ||
    headers[forwardHeader] !== undefined ||
    !(Number(headers['content-length']) <= bytesMax)
  ) {
    return false;
  }
  return countOf(rawHeaders, 'host') === 1;
}

/** Node keeps one of two `Host` lines; the common way refuses that. */
function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string;
    if (raw.length === name.length && raw.toLowerCase() === name) {
      count += 1;
    }
  }
  return count;
}

const scheme = 'Bearer ';

function bearerToken({ headers }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  return authorization?.startsWith(scheme) === true ? authorization.slice(scheme.length) : undefined;
}

interface Told {
  readonly tenant: string;
  readonly key: string;
  allows: string;
}

/** A key's allows of one turn of the event loop share a line in the log: each trace id is in it, at a fraction of the cost. */
class ToldAllows {
  readonly #log: Log;
  #byKey = new Map<string, Told>();

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
