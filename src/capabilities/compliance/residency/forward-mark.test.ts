/** Captured requests between regions: what an attacker who has read one can do with it. */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, useWorld, type World } from '../../../../test/harness.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { createForwardNonces } from './forward-nonces.ts';
import { sign } from './signatures.ts';

const secret = 'a-secret-that-all-of-the-regions-share';
const settings = (region: string, peers: string) => ({
  SVC_REGION: region,
  SVC_REGION_PEERS: peers,
  SVC_REGION_PEER_SECRET: secret,
});

interface Captured {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const us = useWorld(settings('us', 'eu=http://127.0.0.1:9'));
let eu: World;
let usUrl: string;
/** Between eu and us. Passes the directory on; a forwarded request is captured and not delivered. */
let between: Server;
let captured: Captured | undefined;
/** An org whose home region is us, and which allows one address. */
let org: TestOrg;
const allowed = '203.0.113.7';

beforeAll(async () => {
  ({ url: usUrl } = await us.listen());
  between = createServer(async (request, response) => {
    const body = await bytesOf(request);
    const { method = '', url = '', headers } = request;
    if (url.startsWith('/internal/')) {
      const passed = await fetch(usUrl + url, { headers: headers as Record<string, string> });
      const signed = { 'x-svc-region-directory': passed.headers.get('x-svc-region-directory') ?? '' };
      response.writeHead(passed.status, signed).end(Buffer.from(await passed.arrayBuffer()));
    } else {
      captured = { method, path: url, headers: headers as Record<string, string>, body };
      response.writeHead(503).end();
    }
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  eu = await createWorld(settings('eu', `us=http://127.0.0.1:${(between.address() as AddressInfo).port}`));
  org = await us.createOrg();
  await us.request('PUT', `/v1/admin/orgs/${org.id}/residency`, {
    key: us.operatorKey,
    body: { home_region: 'us', mode: 'forward' },
  });
  await us.request('PUT', `/v1/orgs/${org.id}/ip-allow-list`, {
    key: org.ownerKey,
    body: { cidrs: [allowed], force: true },
  });
  await eu.runJob('sync-directory-us');
});
afterAll(async () => {
  await eu.close();
  between.close();
});
beforeEach(() => {
  captured = undefined;
});

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** Returns a request as eu forwards it, which us has not received. */
async function capture(method: string, path: string, more: object = {}): Promise<Captured> {
  await eu.request(method, path, { key: org.ownerKey, address: allowed, ...more });
  if (captured === undefined) {
    throw new Error('the request was not forwarded');
  }
  return captured;
}

const captureRun = (externalId: string) =>
  capture('POST', '/v1/runs', { body: { model: 'm', cost_usd: '0.1', external_id: externalId } });

/** Sends a captured request to us, from an address that the org does not allow. */
async function send({ method, path, headers, body }: Captured) {
  const { 'transfer-encoding': _, 'content-length': __, connection: ___, ...kept } = headers;
  const length = method === 'GET' && body.length === 0 ? {} : { 'content-length': String(body.length) };
  const sent = httpRequest(usUrl + path, { method, headers: { ...kept, ...length } });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const text = (await bytesOf(response)).toString();
  return { status: response.statusCode, code: JSON.parse(text).error?.code, text };
}

async function externalIds(): Promise<string[]> {
  const rows = await us.db.query<{ external_id: string }>(
    'SELECT external_id FROM run_identities WHERE org_id = $1 ORDER BY external_id',
    [org.id],
  );
  return rows.map(({ external_id }) => external_id);
}

const refused = { status: 503, code: 'service_unavailable' };

describe('a captured request', () => {
  test('a captured request is accepted once, also if it is sent several times at once', async () => {
    const one = await captureRun('at once');
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(one)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(503)]);
    expect(await send(one)).toMatchObject(refused);
    const read = await capture('GET', `/v1/orgs/${org.id}`);
    expect([(await send(read)).status, (await send(read)).status]).toEqual([200, 503]);
  });

  test('a captured request is not accepted with another body, a longer or shorter one, or none', async () => {
    const end = (body: Buffer) => body.subarray(body.length - 32);
    const changes: ((body: Buffer) => Buffer)[] = [
      (body) => Buffer.concat([Buffer.from('{"model":"m","cost_usd":"9"}'), end(body)]),
      (body) => Buffer.from(body.toString('latin1').replace('0.1', '9.1'), 'latin1'),
      (body) => Buffer.concat([Buffer.from(' '), body]),
      (body) => body.subarray(1),
      (body) => body.subarray(0, body.length - 32),
      (body) => body.subarray(0, 31),
      () => Buffer.from('{"model":"m","cost_usd":"9"}'),
    ];
    for (const [index, change] of changes.entries()) {
      const one = await captureRun(`changed ${index}`);
      expect(await send({ ...one, body: change(one.body) }), String(index)).toMatchObject(refused);
    }
    // The mark says that there is a body, so without one it is not valid, and the address is that of the sender.
    const none = await send({ ...(await captureRun('changed')), body: Buffer.alloc(0) });
    expect(none).toMatchObject({ status: 403, code: 'ip_not_allowed' });
    expect((await externalIds()).filter((id) => id.startsWith('changed'))).toEqual([]);
  });

  test('a captured request is not accepted with another method, path, query, key, content type or Idempotency-Key', async () => {
    const other = await us.mintKey(org, 'owner', ['org:read', 'runs:write']);
    const changes: ((one: Captured) => Captured)[] = [
      (one) => ({ ...one, method: 'PATCH', path: `/v1/orgs/${org.id}` }),
      (one) => ({ ...one, path: '/v1/runs/bulk' }),
      (one) => ({ ...one, path: '/v1/runs?a=b' }),
      (one) => ({ ...one, headers: { ...one.headers, authorization: `Bearer ${other.secret}` } }),
      (one) => ({ ...one, headers: { ...one.headers, 'content-type': 'application/x-ndjson' } }),
      (one) => ({ ...one, headers: { ...one.headers, 'content-encoding': 'gzip' } }),
      (one) => ({ ...one, headers: { ...one.headers, 'idempotency-key': 'another' } }),
    ];
    for (const [index, change] of changes.entries()) {
      const answer = await send(change(await captureRun(`moved ${index}`)));
      // Without a valid mark the address is that of the sender, which the org does not allow.
      expect(answer, String(index)).toMatchObject({ status: 403, code: 'ip_not_allowed' });
    }
    expect((await externalIds()).filter((id) => id.startsWith('moved'))).toEqual([]);
  });

  test('a captured request cannot be given a body if it had none', async () => {
    const one = await capture('POST', `/v1/orgs/${org.id}/keys/none/rotate`);
    expect(await send({ ...one, body: Buffer.from('{"overlap_seconds":1}') })).toMatchObject({
      code: 'ip_not_allowed',
    });
  });

  test('a captured request is not accepted after a restart, by another process, or a minute later', async () => {
    const one = await captureRun('restart');
    expect((await send(one)).status).toBe(201);
    // Nothing of the first process but the database.
    const [row] = await us.db.query<{ nonce: string }>('SELECT nonce FROM region_nonces LIMIT 1');
    const elsewhere = createForwardNonces({ db: us.db, clock: us.clock, acceptWithoutDatabase: false });
    expect(await elsewhere.claim(row?.nonce ?? '', us.clock.now().getTime())).toBe(false);
    const late = await captureRun('late');
    us.clock.advanceSeconds(61);
    eu.clock.advanceSeconds(61);
    expect(await send(late)).toMatchObject({ code: 'ip_not_allowed' });
    us.clock.advanceSeconds(120);
    eu.clock.advanceSeconds(120);
    await us.runJob('delete-region-nonces');
    expect(await us.db.query('SELECT nonce FROM region_nonces')).toEqual([]);
  });
});

describe('a request', () => {
  test('a request with a compressed body is delivered, and verified before it is decompressed', async () => {
    const body = gzipSync(JSON.stringify({ model: 'm', cost_usd: '0.1', external_id: 'gzip' }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const one = await capture('POST', '/v1/runs', { raw: body, headers });
    expect((await send(one)).status).toBe(201);
    const again = await capture('POST', '/v1/runs', { raw: body, headers });
    const other = gzipSync(JSON.stringify({ model: 'm', cost_usd: '9' }));
    const end = again.body.subarray(again.body.length - 32);
    expect(await send({ ...again, body: Buffer.concat([other, end]) })).toMatchObject(refused);
  });

  test('a request with the mark of an earlier release, or an invalid mark, is not served', async () => {
    const open = await us.createOrg();
    const path = `/v1/orgs/${open.id}`;
    await us.request('PUT', `/v1/admin/orgs/${open.id}/residency`, {
      key: us.operatorKey,
      body: { home_region: 'us', mode: 'forward' },
    });
    const atMs = us.clock.now().getTime();
    const statement = { from: 'eu', to: 'us', atMs, address: allowed, traceId: 'f'.repeat(32) };
    const earlier = sign({ signing: secret, accepted: undefined }, 'forward', statement, ['GET', path]);
    for (const mark of [earlier, 'e30.00', '']) {
      const answer = await us.request('GET', path, {
        key: open.ownerKey,
        headers: { 'x-svc-region-forward': mark },
      });
      expect([answer.status, answer.json.error.code]).toEqual([503, 'service_unavailable']);
      expect(answer.headers['x-svc-trace-id']).not.toBe(statement.traceId);
    }
    expect((await us.request('GET', path, { key: open.ownerKey })).status).toBe(200);
  });
});

describe('without the database', () => {
  const db = () => ({ ...us.db, query: () => Promise.reject(new DatabaseUnavailable('away')) });

  test('no mark is accepted', async () => {
    const nonces = createForwardNonces({ db: db(), clock: us.clock, acceptWithoutDatabase: false });
    await expect(nonces.claim('a', us.clock.now().getTime())).rejects.toThrow(DatabaseUnavailable);
  });

  test('a process whose edge fails open accepts each mark once', async () => {
    const nonces = createForwardNonces({ db: db(), clock: us.clock, acceptWithoutDatabase: true });
    const claim = () => nonces.claim('a', us.clock.now().getTime());
    expect(await Promise.all([claim(), claim()])).toEqual([true, false]);
    expect(await claim()).toBe(false);
  });
});
