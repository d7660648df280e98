import type { IncomingMessage, ServerResponse } from 'node:http';
import inject from 'light-my-request';
import { expect, test } from 'vitest';
import { limitsOf } from '../../test/support/ledger-values.ts';
import { systemClock } from '../platform/clock.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { type HeadStart, headStartOf } from '../platform/http/head-start.ts';
import type { HoldResult } from '../platform/ledger/ledger.ts';
import { createLog } from '../platform/log.ts';
import { RouteCounts } from '../platform/request-counts.ts';
import { createFastPath, type FastPathDependencies } from './fast-path.ts';
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
    isGoverned: () => false,
  } as unknown as FastPathDependencies;
  const [route] = edgeRoutes(parts);
  const fastPath = createFastPath({
    ...parts,
    route: route as NonNullable<typeof route>,
    clock: systemClock,
    log: createLog('silent'),
    counts: new RouteCounts(),
    trustedProxies: undefined,
    bodyLimitBytes: 1_000_000,
    peekCredential: () => ({
      keyId: 'key_1',
      role: 'owner',
      scopes: new Set(['edge:decide']),
      notBefore: null,
      expiresAt: null,
      revoked: false,
      endsAt: null,
      org: { id: 'org_1', suspended: false, allowList: null, residency: null },
    }),
  });
  let headStart: HeadStart | undefined;
  const commonWay = async (request: IncomingMessage, response: ServerResponse) => {
    headStart = headStartOf(request);
    await headStart?.outcome?.catch(() => undefined);
    response.end('common');
  };
  const { payload } = await inject(
    (request, response) => void fastPath(request as IncomingMessage, response as ServerResponse, commonWay),
    {
      method: 'POST',
      url: '/v1/edge/decision',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      payload: JSON.stringify({ model: 'm', estimated_cost_usd: '1' }),
    },
  );
  return { asked, payload, outcome: headStart?.outcome };
}

test.each([
  ['refuse', async () => ({ kind: 'denied', denial }) as unknown as HoldResult],
  ['fail, perhaps after the hold is there', () => Promise.reject(new DatabaseUnavailable('lost'))],
])('books that %s are not asked again: the common way gets their answer', async (_title, answer) => {
  const { asked, payload, outcome } = await decide(answer);
  expect([asked, payload]).toEqual([1, 'common']);
  expect(outcome).toBeInstanceOf(Promise);
});
