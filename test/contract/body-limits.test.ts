/** Every route accepts the largest body that its schema allows, and rejects much larger ones. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bodyLimits, type Route } from '../../src/platform/http/routes/route.ts';
import { createWorld, useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';
import { largestBodyBytes } from '../support/largest-body.ts';

/**
 * Routes whose schema allows unrealistic bodies: hundreds of rules with hundreds of patterns of the maximum length
 * each, and more runs of the maximum length than fit into a request.
 */
const boundedByBytes = [
  'configuration.plan',
  'configuration.apply',
  'orgs.configuration.plan',
  'orgs.configuration.apply',
  'policies.evaluate',
  'policies.simulate',
  'runs.create_bulk',
  'statements.create',
];

const withBody = declaredRoutes().filter(({ body }) => body !== undefined);

describe('the limit of a route', () => {
  it.each(
    withBody.filter(({ id }) => !boundedByBytes.includes(id)).map((route) => [route.id, route] as const),
  )('%s: the largest body of its schema fits', (_, route) => {
    expect(largestBodyBytes(route)).toBeLessThanOrEqual(route.bodyLimitBytes);
  });

  it('the limit of a route is larger than the usual one only if the schema needs it', () => {
    const needless = withBody.filter(
      (route) => route.bodyLimitBytes > bodyLimits.usual && largestBodyBytes(route) <= bodyLimits.usual,
    );
    expect(needless.map(({ id }) => id)).toEqual([]);
  });
});

describe('a body over the limit of its route', () => {
  const world = useWorld();
  const org = useOrg(world);

  const send = (route: Route, raw: Buffer, headers: Record<string, string>) => {
    const path = route.path
      .replace('{id}', org.id)
      .replace('{org_id}', org.id)
      .replace(/\{\w+\}/g, 'x');
    const key = path.startsWith('/v1/admin') ? world.operatorKey : org.ownerKey;
    return world.request(route.method, path, {
      key,
      raw: raw as unknown as string,
      headers: { 'content-type': 'application/json', ...headers },
    });
  };
  const limited = withBody.filter(({ bodyLimitBytes }) => Number.isFinite(bodyLimitBytes));

  it.each(limited.map((route) => [route.id, route] as const))('%s: 413', async (_, route) => {
    const body = Buffer.alloc(route.bodyLimitBytes + 1, ' ');
    body.write('{}');
    expect((await send(route, body, {})).json.error.code).toBe('payload_too_large');
    const packed = await send(route, gzipSync(body), { 'content-encoding': 'gzip' });
    expect(packed.json.error.code).toBe('payload_too_large');
  });

  it('SVC_BODY_LIMIT_BYTES applies if it is smaller', async () => {
    const small = await createWorld({ SVC_BODY_LIMIT_BYTES: '2048' });
    const { id, ownerKey: key } = await small.createOrg();
    const raw = JSON.stringify({ name: 'x' }).padEnd(2_049, ' ');
    const headers = { 'content-type': 'application/json' };
    const answer = await small.request('PATCH', `/v1/orgs/${id}`, { key, raw, headers });
    expect(answer.json.error.code).toBe('payload_too_large');
    await small.close();
  });
});
