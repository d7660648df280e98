import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { cefFaults, parseCef } from '../../../../test/support/cef-rules.ts';
import { ocsfFaults } from '../../../../test/support/ocsf-rules.ts';
import { postForm, signIn } from '../../../../test/support/sign-in.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { appendDated } from './audit.ts';
import type { DatedDraft } from './chain.ts';
import { lockChain } from './head-queries.ts';

const entries = 1_200;
const world = useWorld();
const org = useOrg(world);
let url: string;
/** The start of the log. Its entries are a minute apart. */
let begin: Date;
beforeAll(async () => {
  ({ url } = await world.listen());
  begin = world.clock.now();
  const drafts = Array.from({ length: entries - 2 }, (_, n) => draft(n + 3));
  await append(drafts);
});

async function append(drafts: readonly DatedDraft[]): Promise<void> {
  await world.db.transaction(async (tx) =>
    appendDated(tx, world.services.auditHeads, org.id, await lockChain(tx, org.id), drafts),
  );
}

function draft(seq: number): DatedDraft {
  return {
    id: `aud_${String(seq).padStart(26, '0')}`,
    at: minute(seq),
    actorKind: 'key',
    actorId: `key_${seq % 7}`,
    action: 'budgets.change',
    outcome: seq % 5 === 0 ? 'denied' : 'success',
    code: seq % 5 === 0 ? 'forbidden' : null,
    targetKind: 'budget',
    targetId: `bud_${seq}`,
    before: { limit_usd: '1', note: 'x'.repeat(500) },
    after: { limit_usd: String(seq) },
    detail: null,
    address: '203.0.113.7',
    traceId: 'f'.repeat(32),
  };
}

const minute = (n: number) => new Date(begin.getTime() + n * 60_000).toISOString();
const pathOf = (query: string) => `/v1/orgs/${org.id}/audit-log/export?${query}`;
const whole = () => `from=${begin.toISOString()}&to=${minute(10_000)}`;

async function exported(query: string): Promise<string[]> {
  const { status, text } = await world.request('GET', pathOf(query), { key: org.ownerKey });
  expect(status).toBe(200);
  return text === '' ? [] : text.trimEnd().split('\n');
}

const seqs = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).seq);

test('exports exactly the entries of the requested time, oldest first', async () => {
  expect(seqs(await exported(whole()))).toEqual(Array.from({ length: entries }, (_, n) => n + 1));
  expect(seqs(await exported(`from=${minute(100)}&to=${minute(103)}`))).toEqual([100, 101, 102]);
  expect(await exported(`from=${minute(9_000)}&to=${minute(9_001)}`)).toEqual([]);
});

test('resumes after the last line received', async () => {
  expect(seqs(await exported(`${whole()}&cursor=1197`))).toEqual([1_198, 1_199, 1_200]);
  expect(await exported(`${whole()}&cursor=1200`)).toEqual([]);
  expect(seqs(await exported(`from=${minute(5)}&to=${minute(8)}&cursor=3`))).toEqual([5, 6, 7]);
});

test('writes SIEM formats that comply with their published rules', async () => {
  const cef = (await exported(`${whole()}&format=cef`)).map(parseCef);
  expect(cef.flatMap(cefFaults)).toEqual([]);
  expect(cef.map(({ extension }) => Number(extension.get('cn1')))).toEqual(
    Array.from({ length: entries }, (_, n) => n + 1),
  );
  const ocsf = (await exported(`${whole()}&format=ocsf`)).map((line) => JSON.parse(line));
  expect(ocsf.flatMap(ocsfFaults)).toEqual([]);
  expect(ocsf.at(-1).metadata.sequence).toBe(entries);
});

test('writes signing in and out, and failed sign-ins, as authentications', async () => {
  const other = await world.createOrg();
  const { cookie } = await signIn(world, other.ownerKey, other.id);
  await postForm(world, '/console/logout', {}, { cookie });
  const put = (cidrs: string[]) =>
    world.request('PUT', `/v1/orgs/${other.id}/ip-allow-list`, {
      key: other.ownerKey,
      body: { cidrs, force: true },
    });
  await put(['192.0.2.1']);
  expect((await postForm(world, '/console/login', { key: other.ownerKey })).status).toBe(403);
  await world.app.finish();
  await world.request('DELETE', `/v1/admin/orgs/${other.id}/ip-allow-list`, { key: world.operatorKey });
  const path = `/v1/orgs/${other.id}/audit-log/export?${whole()}&format=ocsf`;
  const { text } = await world.request('GET', path, { key: other.ownerKey });
  const events = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events.flatMap(ocsfFaults)).toEqual([]);
  const seen = events.map(({ type_uid, status }) => `${type_uid} ${status}`);
  expect(seen.filter((one) => one.startsWith('3002'))).toEqual([
    '300201 Success',
    '300202 Success',
    '300201 Failure',
  ]);
});

test('includes checkpoints, and one of the last line', async () => {
  const path = `/v1/orgs/${org.id}/audit-log/checkpoints`;
  const made = await world.request('POST', path, { key: org.ownerKey });
  expect(made.json).toMatchObject({ seq: 1_200 });
  const lines = (await exported(`from=${minute(1_198)}&to=${minute(10_000)}&checkpoints=true`)).map((line) =>
    JSON.parse(line),
  );
  expect(lines.map(({ seq, checkpoint }) => seq ?? [checkpoint.seq])).toEqual([
    1_198,
    1_199,
    1_200,
    [1_200],
    [1_200],
  ]);
});

describe('rejects invalid parameters', () => {
  test.each([
    ['', ['from required', 'to required']],
    ['from=2026-01-01T00:00:00Z&to=2027-01-02T00:00:00Z', ['to out_of_range']],
    ['from=2026-01-01T00:00:00Z&to=2026-04-01T00:00:00.001Z', ['to out_of_range']],
    ['from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', ['to out_of_range']],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', ['to out_of_range']],
    ['from=today&to=2026-13-01T00:00:00Z', ['from invalid_format', 'to invalid_format']],
    ['from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&format=xml', ['format invalid_value']],
    ['from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&cursor=-1', ['cursor out_of_range']],
    ['from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&cursor=abc', ['cursor invalid_type']],
    [
      'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&format=cef&checkpoints=true',
      ['checkpoints invalid_value'],
    ],
  ])('%s', async (query, faults) => {
    const { status, json } = await world.request('GET', pathOf(query), { key: org.ownerKey });
    expect(status).toBe(422);
    expect(
      json.error.details.fields.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`),
    ).toEqual(faults);
  });

  test('accepts ninety days', async () => {
    expect(await exported('from=2026-01-01T00:00:00Z&to=2026-04-01T00:00:00Z')).toEqual([]);
  });
});

describe('on a socket', () => {
  const open = async (query: string, method = 'GET'): Promise<IncomingMessage> => {
    const request = get(`${url}${pathOf(query)}`, {
      method,
      headers: { authorization: `Bearer ${org.ownerKey}` },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  };

  test('HEAD returns the content type and no body', async () => {
    const response = await open(`${whole()}&format=cef`, 'HEAD');
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ]);
    response.resume();
    await once(response, 'end');
  });

  test('a failure in the middle closes the connection after whole lines', async () => {
    const { query } = world.db;
    let reads = 0;
    world.db.query = ((sql: string, params?: readonly unknown[]) => {
      if (sql.includes('FROM audit_log') && sql.includes('seq > $2')) {
        reads += 1;
        if (reads === 3) {
          return Promise.reject(new DatabaseUnavailable('the database is away'));
        }
      }
      return query.call(world.db, sql, params);
    }) as typeof query;
    try {
      const response = await open(whole());
      expect(response.statusCode).toBe(200);
      let text = '';
      const failed = once(response, 'error').catch((error) => [error]);
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      const [error] = await failed;
      expect(error.code).toBe('ECONNRESET');
      expect(seqs(text.trimEnd().split('\n'))).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
      expect(text).not.toContain('error');
    } finally {
      world.db.query = query;
    }
  });

  test('a failure at the start is returned as an error', async () => {
    const { query } = world.db;
    world.db.query = (() => Promise.reject(new DatabaseUnavailable('away'))) as typeof query;
    try {
      const { json } = await world.request('GET', pathOf(whole()), { key: org.ownerKey });
      expect(json.error.code).toBe('service_unavailable');
    } finally {
      world.db.query = query;
    }
  });

  test('reads no more than the receiver consumes', async () => {
    const { query } = world.db;
    let reads = 0;
    world.db.query = ((sql: string, params?: readonly unknown[]) => {
      reads += sql.includes('seq > $2') ? 1 : 0;
      return query.call(world.db, sql, params);
    }) as typeof query;
    try {
      await append(
        Array.from({ length: 3_000 }, (_, n) => ({
          ...draft(entries + 1 + n),
          after: { text: 'y'.repeat(5_000) },
        })),
      );
      const response = await open(whole());
      response.pause();
      // Once the buffers in between are full, the service reads no more of this export but still serves other requests.
      let before = -1;
      while (before !== reads) {
        before = reads;
        for (let request = 0; request < 20; request += 1) {
          await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
        }
      }
      expect(reads).toBeLessThan(14);
      response.destroy();
    } finally {
      world.db.query = query;
    }
  });
});
