/** Access to an export stream is checked again while the stream runs, because it can take hours. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { seededBytes, useOrg, useWorld } from '../../../../test/harness.ts';
import { createIds } from '../../../platform/ids.ts';
import { appendAudit } from './audit.ts';

const world = useWorld();
const org = useOrg(world);
let url: string;
let grantId: string;
let token: string;
beforeAll(async () => {
  ({ url } = await world.listen());
  // Fill several pages of the log.
  await world.db.transaction(async (tx) => {
    const drafts = Array.from({ length: 600 }, (_, n) => ({ ...draft, targetId: `bud_${n}` }));
    const ids = createIds(world.clock, seededBytes(3));
    await appendAudit(tx, { ids, heads: world.services.auditHeads }, org.id, drafts);
  });
});

const draft = {
  actorKind: 'key',
  actorId: 'key_1',
  action: 'budgets.change',
  outcome: 'success',
  code: null,
  targetKind: 'budget',
  before: null,
  after: { note: 'x'.repeat(2_000) },
  detail: null,
  address: null,
  traceId: null,
} as const;

const asOperator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin/${path}`, { key: world.operatorKey, ...(body && { body }) });

beforeEach(async () => {
  const grant = await asOperator('POST', 'support/grants', {
    org_id: org.id,
    scope: ['audit:read'],
    reason: 'Ticket 4711',
    expires_at: new Date(world.clock.now().getTime() + 3_600_000).toISOString(),
  });
  grantId = grant.json.id;
  token = (await asOperator('POST', `support/grants/${grantId}/sessions`)).json.token;
});

const windowOf = () => {
  const day = (days: number) => new Date(world.clock.now().getTime() + days * 86_400_000).toISOString();
  return `from=${day(-40)}&to=${day(40)}`;
};

/** Returns the number of lines received if `happens` runs while the second page is read. */
async function linesUntil(headers: Record<string, string>, path: string, happens: () => Promise<unknown>) {
  const { query } = world.db;
  let reads = 0;
  world.db.query = (async (sql: string, params?: readonly unknown[]) => {
    reads += sql.includes('FROM audit_log') && sql.includes('seq > $2') ? 1 : 0;
    if (reads === 2) {
      reads += 1;
      await happens();
    }
    return query.call(world.db, sql, params);
  }) as typeof query;
  try {
    const [response] = (await once(get(`${url}${path}`, { headers }), 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    let text = '';
    const ended = new Promise<string>((resolve) => {
      response.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      response.once('end', () => resolve('whole'));
    });
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    return [await ended, text.trimEnd().split('\n').length];
  } finally {
    world.db.query = query;
  }
}

const ofKey = (key: string, happens: () => Promise<unknown>) =>
  linesUntil(
    { authorization: `Bearer ${key}` },
    `/v1/orgs/${org.id}/audit-log/export?${windowOf()}`,
    happens,
  );
const aSecondLater = async () => world.clock.advanceSeconds(1);
const cutOff = ['ECONNRESET', 250];

test('a stream continues while its caller is authorized', async () => {
  const [end, lines] = await ofKey(token, aSecondLater);
  expect([end, Number(lines) > 600]).toEqual(['whole', true]);
});

test('aborts when the grant of a support session is revoked', async () => {
  expect(
    await ofKey(token, async () => {
      await asOperator('DELETE', `support/grants/${grantId}`);
      await aSecondLater();
    }),
  ).toEqual(cutOff);
});

test('aborts when the grant ends', async () => {
  expect(await ofKey(token, async () => world.clock.advanceSeconds(3_600))).toEqual(cutOff);
});

test('aborts when the org forbids support access', async () => {
  const settings = (allowed: boolean) =>
    world.request('PUT', `/v1/orgs/${org.id}/support-access/settings`, {
      key: org.ownerKey,
      body: { allowed, approval_required: false },
    });
  const seen = await ofKey(token, async () => {
    await settings(false);
    await aSecondLater();
  });
  await settings(true);
  expect(seen).toEqual(cutOff);
});

test('aborts in the console too', async () => {
  const entered = await world.request('POST', '/console/support', {
    raw: new URLSearchParams({ token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const [cookie = ''] = [entered.headers['set-cookie']].flat();
  const path = `/console/audit/export?from=2026-11-01T00:00&to=2026-12-30T00:00&format=ndjson`;
  const seen = await linesUntil({ cookie: String(cookie).split(';')[0] ?? '' }, path, async () => {
    await asOperator('DELETE', `support/grants/${grantId}`);
    await aSecondLater();
  });
  expect(seen).toEqual(cutOff);
});

test('aborts when the key is revoked', async () => {
  const { id, secret } = await world.mintKey(org, 'viewer', ['audit:read']);
  const seen = await ofKey(secret, async () => {
    await world.request('DELETE', `/v1/orgs/${org.id}/keys/${id}`, { key: org.ownerKey });
    await aSecondLater();
  });
  expect(seen).toEqual(cutOff);
});
