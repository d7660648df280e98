import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { limitsOf } from '../../test/support/ledger-values.ts';
import type { HoldResult } from '../ledger/holds/hold-request.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { parsePlainHead } from '../platform/http/fast/plain-head.ts';
import { createLog } from '../platform/log.ts';
import { RouteCounts } from '../platform/observability/request-counts.ts';
import { systemClock } from '../platform/time/clock.ts';
import { createDecisionFastPath, type DecisionFastPathDependencies } from './decision-fast-path.ts';
import { edgeRoutes } from './routes.ts';

const denial = { code: 'spend_cap_exceeded', details: {} };

/** Books that have to be asked and waited for, and whatever goes the common way. */
async function decide(answer: () => Promise<HoldResult>) {
  let asked = 0;
  const parts = {
    ledger: {
      decide: () => undefined,
      hold: () => {
        asked += 1;
        return answer();
      },
    },
    orgLimits: { peek: () => limitsOf([]) },
    findPrice: () => undefined,
    hasPolicies: () => false,
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
    }),
  });
  const body = Buffer.from(JSON.stringify({ model: 'm', estimated_cost_usd: '1' }));
  const lines = ['Host: x', 'Authorization: Bearer x', 'Content-Type: application/json'];
  const head = parsePlainHead(
    ['POST /v1/edge/decision HTTP/1.1', ...lines, `Content-Length: ${body.length}`].join('\r\n'),
  );
  const usual = head && fastPath.prepare(head);
  if (usual === undefined) {
    throw new Error('this head is as usual as it gets');
  }
  return new Promise<{ asked: number; went: string; outcome: Promise<unknown> | undefined }>((resolve) => {
    fastPath.take(usual, body, {
      socket: {} as Socket,
      sendOk: () => resolve({ asked, went: 'fast', outcome: undefined }),
      fallBackToPipeline: (outcome) => resolve({ asked, went: 'common', outcome }),
    });
  });
}

test.each([
  ['denies', async () => ({ kind: 'denied', denial }) as unknown as HoldResult],
  ['fails, possibly after taking the hold', () => Promise.reject(new DatabaseUnavailable('lost'))],
])('a ledger that %s is not called again: the pipeline gets its result', async (_title, answer) => {
  const { asked, went, outcome } = await decide(answer);
  outcome?.catch(() => undefined);
  expect([asked, went]).toEqual([1, 'common']);
  expect(outcome).toBeInstanceOf(Promise);
});
