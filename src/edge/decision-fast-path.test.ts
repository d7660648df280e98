import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { limitsOf } from '../../test/support/ledger-values.ts';
import type { Attribution } from '../contract/attribution.ts';
import type { HoldRequest, HoldResult } from '../ledger/holds/hold-request.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { parsePlainHead } from '../platform/http/fast/plain-head.ts';
import type { HttpRequest } from '../platform/http/message/http-request.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { HandlerContext, Route } from '../platform/http/routes/route.ts';
import { createLog } from '../platform/log.ts';
import { RouteCounts } from '../platform/observability/request-counts.ts';
import { systemClock } from '../platform/time/clock.ts';
import { createDecisionFastPath, type DecisionFastPathDependencies } from './decision-fast-path.ts';
import { edgeRoutes } from './routes.ts';

const denial = { code: 'spend_cap_exceeded', details: {} };

/** Sends one decision to a fast path whose ledger returns `result` and cannot decide at once. */
async function decide(result: () => Promise<HoldResult>, attribution?: Attribution) {
  const requested: HoldRequest[] = [];
  const parts = {
    ledger: {
      decide: () => undefined,
      hold: (request: HoldRequest) => {
        requested.push(request);
        return result();
      },
    },
    orgLimits: { peek: () => limitsOf([]) },
    findPrice: () => undefined,
    hasPolicies: () => false,
    limitEvents: { limitDenied: () => undefined },
    pendingHolds: new WeakMap(),
  } as unknown as DecisionFastPathDependencies;
  const [route] = edgeRoutes(parts);
  const fastPath = createDecisionFastPath({
    ...parts,
    route: route as NonNullable<typeof route>,
    clock: systemClock,
    log: createLog('silent'),
    counts: new RouteCounts(),
    trustedProxies: undefined,
    bodyLimitBytes: 1_000_000,
    isDeprecated: () => false,
    peekCredential: () => ({
      keyId: 'key_1',
      role: 'owner',
      scopes: new Set(['edge:decide']),
      notBefore: null,
      expiresAt: null,
      revoked: false,
      endsAt: null,
      org: { id: 'org_1', name: 'One', timezone: 'UTC', suspended: false, allowList: null, residency: null },
      attribution,
    }),
  });
  const body = Buffer.from(JSON.stringify({ model: 'm', estimated_cost_usd: '1', team: 'ads' }));
  const lines = ['Host: x', 'Authorization: Bearer x', 'Content-Type: application/json'];
  const head = parsePlainHead(
    ['POST /v1/edge/decision HTTP/1.1', ...lines, `Content-Length: ${body.length}`].join('\r\n'),
  );
  const usual = head && fastPath.prepare(head);
  if (usual === undefined) {
    throw new Error('the fast path does not accept this head');
  }
  const requestIdentity = await new Promise<HttpRequest>((resolve, reject) => {
    fastPath.take(usual, body, {
      socket: {} as Socket,
      sendOk: () => reject(new Error('the fast path must not answer')),
      fallBackToPipeline(beforehand) {
        const request = {} as HttpRequest;
        beforehand?.(request);
        resolve(request);
      },
    });
  });
  // Calls the handler as the pipeline does after the fallback, with the request that it received.
  const caller = { tenantId: 'org_1', keyId: 'key_1', attribution } as Caller;
  const context = { body: JSON.parse(body.toString()), caller, now: systemClock.now(), requestIdentity };
  const { run } = route as NonNullable<typeof route>;
  const answer = (run as Extract<Route['run'], { kind: 'decision' }>).handler(
    context as unknown as HandlerContext,
    undefined,
  );
  return { error: await answer.catch((error: unknown) => error), requested };
}

test.each([
  [
    'is denied',
    async () => ({ kind: 'denied', denial }) as unknown as HoldResult,
    { code: 'spend_cap_exceeded' },
  ],
  [
    'fails, perhaps after it was stored',
    () => Promise.reject(new DatabaseUnavailable('lost')),
    expect.any(DatabaseUnavailable),
  ],
])(
  'a hold that %s on the fast path is not requested again by the pipeline',
  async (_title, result, expected) => {
    const { error, requested } = await decide(result);
    expect(requested).toHaveLength(1);
    expect(error).toMatchObject(expected);
  },
);

const denied = async () => ({ kind: 'denied', denial }) as unknown as HoldResult;

test('a hold on the fast path has the values of the key', async () => {
  const values = { team: 'search', customer_id: 'acme', tags: { env: 'live' } };
  const { requested } = await decide(denied, { values, locked: ['customer_id'] });
  expect(requested).toMatchObject([{ scope: { ...values, team: 'ads' } }]);
});

test('the fast path leaves a request that contradicts a lock to the pipeline, which forbids it', async () => {
  const { error, requested } = await decide(denied, { values: { team: 'search' }, locked: ['team'] });
  expect(requested).toEqual([]);
  expect(error).toMatchObject({ code: 'forbidden', details: { field: 'team' } });
});
