/** Two regions, each a service with its own database, on real sockets. */
import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, useWorld, type World } from '../../../../test/harness.ts';
import { checkAnswer } from '../../../../test/support/contract-check.ts';
import { useFixture } from '../../../../test/support/fixtures.ts';
import { exchange } from '../../../../test/support/raw-socket.ts';
import { type PeerSecrets, sign, signatureGoodForMs, verify } from './signatures.ts';

const secret = 'a secret that all of the regions share'.replaceAll(' ', '-');
const only = (signing: string): PeerSecrets => ({ signing, accepted: undefined });
const settings = (region: string, peers: string) => ({
  SVC_REGION: region,
  SVC_REGION_PEERS: peers,
  SVC_REGION_PEER_SECRET: secret,
  SVC_BODY_LIMIT_BYTES: '100000',
  SVC_AUTH_BACKOFF_ATTEMPTS: '1000',
});

// Nothing listens on port 9, so forwarding from us to eu fails.
const us = useWorld(settings('us', 'eu=http://127.0.0.1:9'));
const eu = useFixture(async () =>
  createWorld(settings('eu', `us=${(await us.listen()).url},ap=http://127.0.0.1:9`)),
);
/** An org whose home region is us. */
let org: TestOrg;
beforeAll(async () => {
  org = await orgAtHome('us');
  await readDirectory();
});

async function orgAtHome(region: string, mode = 'forward'): Promise<TestOrg> {
  const made = await us.createOrg();
  await putResidency(us, made, { home_region: region, mode });
  return made;
}

const putResidency = (world: World, { id }: TestOrg, body: object) =>
  world.request('PUT', `/v1/admin/orgs/${id}/residency`, { key: world.operatorKey, body });

/** Runs the directory job of eu at once. Otherwise its lease is available again only after a while. */
async function readDirectory(): Promise<void> {
  await eu.db.query(`UPDATE directory_peers SET attempted_at = 'epoch'`, []);
  await eu.runJob('sync-directory-us');
}

const read = (world: World, { id, ownerKey }: TestOrg, more: object = {}) =>
  world.request('GET', `/v1/orgs/${id}`, { key: ownerKey, ...more });

const run = (world: World, { ownerKey }: TestOrg, more: object = {}) =>
  world.request('POST', '/v1/runs', { key: ownerKey, body: { model: 'm', cost_usd: '0.1' }, ...more });

const codeOf = ({ json }: { json: { error?: { code: string } } }) => json.error?.code;

describe('forwarding', () => {
  test('returns responses of the home region to reads, writes and decisions byte for byte', async () => {
    expect((await read(eu, org)).text).toBe((await read(us, org)).text);
    const written = await run(eu, org);
    expect(written.status).toBe(201);
    const path = `/v1/runs/${written.json.id}`;
    expect((await us.request('GET', path, { key: org.ownerKey })).json).toEqual(written.json);
    const decision = await eu.request('POST', '/v1/edge/decision', {
      key: org.ownerKey,
      body: { model: 'm', estimated_cost_usd: '0.1' },
    });
    expect(decision.json.decision).toBe('allow');
    const head = (world: World) => world.request('HEAD', path, { key: org.ownerKey });
    expect((await head(eu)).headers['content-length']).toBe((await head(us)).headers['content-length']);
  });

  test('uses one trace id in the response and in the logs of both regions', async () => {
    const { headers } = await read(eu, org);
    const lines = (world: World) =>
      world.logLines
        .filter((line) => line.includes(String(headers['x-svc-trace-id'])))
        .map((line) => JSON.parse(line));
    expect(lines(eu)).toEqual([expect.objectContaining({ status: 200, servedBy: 'us' })]);
    expect(lines(us)).toEqual([expect.objectContaining({ status: 200, sentBy: 'eu' })]);
  });

  test('an Idempotency-Key has one effect, whichever region receives it', async () => {
    const key = { headers: { 'idempotency-key': 'across' } };
    const first = await run(eu, org, key);
    const second = await run(eu, org, key);
    const third = await run(us, org, key);
    expect([second.text, third.text]).toEqual([first.text, first.text]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(codeOf(await run(eu, org, { ...key, body: { model: 'other', cost_usd: '0.1' } }))).toBe(
      'idempotency_key_conflict',
    );
  });

  test('passes on errors of the home region with their headers', async () => {
    expect(codeOf(await run(eu, org, { body: { model: 7 } }))).toBe('validation_failed');
    expect(codeOf(await run(eu, org, { raw: '{', headers: { 'content-type': 'application/json' } }))).toBe(
      'validation_failed',
    );
    expect(codeOf(await run(eu, org, { body: { model: 'm', metadata: { a: 'x'.repeat(200_000) } } }))).toBe(
      'payload_too_large',
    );
    const { secret: weak } = await us.mintKey(org, 'viewer', []);
    await readDirectory();
    expect((await read(eu, { ...org, ownerKey: weak })).json.error).toMatchObject({
      code: 'missing_scope',
      details: { required: 'org:read' },
    });
  });

  test('adds deprecation headers once, in the home region', async () => {
    const path = '/v1/forecast?deployment=d&teams=1';
    const countOf = async (world: World) =>
      Number(
        /^svc_deprecated_route_calls_total\{route="\/v1\/forecast"\} (\d+)/m.exec(
          (await world.request('GET', '/metrics')).text,
        )?.[1],
      );
    const before = [await countOf(eu), await countOf(us)];
    const here = await eu.request('GET', path, { key: org.ownerKey });
    expect(here.status).toBe(200);
    expect(here.headers.sunset).toBe('Wed, 31 Dec 2036 23:59:59 GMT');
    expect([await countOf(eu), await countOf(us)]).toEqual([before[0], Number(before[1]) + 1]);
  });

  test('does not forward requests under /v1/admin', async () => {
    const path = `/v1/admin/orgs/${org.id}/webhook-secret`;
    expect((await us.request('GET', path, { key: org.ownerKey })).status).toBe(200);
    expect(codeOf(await eu.request('GET', path, { key: org.ownerKey }))).toBe('residency_violation');
    expect((await eu.request('GET', `/v1/admin/orgs/${org.id}`, { key: eu.operatorKey })).status).toBe(404);
  });

  test('returns 503 if the region is unreachable or not configured', async () => {
    for (const region of ['ap', 'nowhere']) {
      const far = await eu.createOrg();
      await putResidency(eu, far, { home_region: region });
      expect(codeOf(await read(eu, far))).toBe('service_unavailable');
      expect(codeOf(await run(eu, far, { body: { model: 'm', metadata: { a: 'x'.repeat(90_000) } } }))).toBe(
        'service_unavailable',
      );
    }
  });

  test('regions that disagree do not forward a request in a loop', async () => {
    const torn = await orgAtHome('us');
    await readDirectory();
    // us now considers eu the home region; eu has not received this change yet.
    await putResidency(us, torn, { home_region: 'eu' });
    const answer = await read(eu, torn);
    expect([answer.status, codeOf(answer)]).toEqual([503, 'service_unavailable']);
    expect(answer.json.error.message).toMatch(/disagree/);
  });

  test("the home region knows the client's address, which cannot be forged", async () => {
    const listed = await orgAtHome('us');
    await us.request('PUT', `/v1/orgs/${listed.id}/ip-allow-list`, {
      key: listed.ownerKey,
      body: { cidrs: ['203.0.113.7'], force: true },
    });
    await readDirectory();
    expect((await read(eu, listed, { address: '203.0.113.7' })).status).toBe(200);
    expect(codeOf(await read(eu, listed, { address: '203.0.113.8' }))).toBe('ip_not_allowed');
    const forwardedFor = { 'x-forwarded-for': '203.0.113.7' };
    expect(codeOf(await read(eu, listed, { headers: forwardedFor }))).toBe('ip_not_allowed');

    const statement = {
      from: 'eu',
      to: 'us',
      atMs: us.clock.now().getTime(),
      address: '203.0.113.7',
      traceId: 'f'.repeat(32),
    };
    const forged = sign(only('another secret'), 'forward', statement, []);
    const answer = await read(us, listed, { headers: { 'x-svc-region-forward': forged } });
    expect(codeOf(answer)).toBe('ip_not_allowed');
    expect(answer.headers['x-svc-trace-id']).not.toBe(statement.traceId);
  });

  test('passes on a duplicate header, which the home region rejects', async () => {
    const { url } = await eu.listen();
    const sent = httpRequest(`${url}/v1/runs`, {
      method: 'POST',
      headers: [
        ...['authorization', `Bearer ${org.ownerKey}`, 'content-type', 'application/json', 'host', 'eu'],
        ...['idempotency-key', 'a', 'Idempotency-Key', 'b'],
      ],
    });
    sent.end(JSON.stringify({ model: 'm', cost_usd: '0.1' }));
    expect((await answerOf(sent)).json.error.details.fields).toMatchObject([{ field: 'Idempotency-Key' }]);
  });

  test('passes on `100 Continue` of the home region', async () => {
    const { url } = await eu.listen();
    const open = (length: number) =>
      httpRequest(`${url}/v1/runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${org.ownerKey}`,
          'content-type': 'application/json',
          'content-length': length,
          expect: '100-continue',
        },
      });
    const body = JSON.stringify({ model: 'm', cost_usd: '0.1' });
    const welcome = open(body.length);
    welcome.once('continue', () => welcome.end(body));
    welcome.flushHeaders();
    expect((await answerOf(welcome)).status).toBe(201);

    const tooLarge = open(1_000_000);
    let invited = false;
    tooLarge.once('continue', () => {
      invited = true;
    });
    tooLarge.flushHeaders();
    const { status } = await answerOf(tooLarge);
    tooLarge.destroy();
    expect([status, invited]).toEqual([413, false]);
  });

  test('rejects an unreadable body here, also before the request is forwarded', async () => {
    const { port } = await eu.listen();
    const head = [
      'POST /v1/runs HTTP/1.1\r\nhost: eu',
      `authorization: Bearer ${org.ownerKey}`,
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    ].join('\r\n');
    const codesOf = async (body: string) =>
      (await exchange(port, head, body)).map(({ status, text }) => [status, JSON.parse(text).error.code]);
    expect(await codesOf('zz\r\n')).toEqual([[400, 'bad_request']]);
    expect(await codesOf('2\r\n{"\r\n')).toEqual([[422, 'validation_failed']]);
  });

  test('passes on a response that arrives while the client is still sending', async () => {
    const { url } = await eu.listen();
    const sent = httpRequest(`${url}/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.ownerKey}`, 'content-type': 'application/json' },
    });
    sent.write(`{"model":"${'x'.repeat(150_000)}`);
    expect((await answerOf(sent)).status).toBe(413);
    sent.end('"}');
  });
});

async function answerOf(sent: ReturnType<typeof httpRequest>) {
  return new Promise<{ status: number; json: { error: { details: { fields: { field: string }[] } } } }>(
    (resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', async (response) => {
        let text = '';
        for await (const chunk of response.setEncoding('utf8')) {
          text += chunk;
        }
        const answer = { status: response.statusCode ?? 0, headers: response.headers, text };
        checkAnswer(answer, undefined);
        resolve({ status: answer.status, json: JSON.parse(text) });
      });
    },
  );
}

describe('strict', () => {
  test('a request for a strict org is rejected elsewhere, by a region that knows the org from the directory', async () => {
    const kept = await orgAtHome('us', 'strict');
    await readDirectory();
    expect((await read(us, kept)).status).toBe(200);
    for (const answer of [await read(eu, kept), await run(eu, kept)]) {
      expect([answer.status, codeOf(answer), answer.json.error.details]).toEqual([
        403,
        'residency_violation',
        {},
      ]);
    }
  });

  test('a request for a strict org is rejected at home too, if a region that has not received the mode forwards it', async () => {
    const changed = await orgAtHome('us');
    await readDirectory();
    expect((await read(eu, changed)).status).toBe(200);
    await putResidency(us, changed, { home_region: 'us', mode: 'strict' });
    const answer = await read(eu, changed);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'residency_violation']);
    expect((await read(us, changed)).status).toBe(200);
    await us.app.finish();
    const log = await us.request('GET', `/v1/orgs/${changed.id}/audit-log?outcome=denied`, {
      key: changed.ownerKey,
    });
    expect(log.json.data).toMatchObject([{ action: 'org.read', code: 'residency_violation' }]);
  });

  test('a request for a strict org is rejected at home even if the signature of that region is invalid', async () => {
    const kept = await orgAtHome('us', 'strict');
    const atMs = us.clock.now().getTime() - 2 * signatureGoodForMs;
    const statement = { from: 'eu', to: 'us', atMs, address: '127.0.0.1', traceId: 'f'.repeat(32) };
    for (const mark of [sign(only(secret), 'forward', statement, []), 'e30.00']) {
      const headers = { 'x-svc-region-forward': mark };
      expect(codeOf(await read(us, kept, { headers }))).toBe('residency_violation');
      const decision = { key: kept.ownerKey, headers, body: { model: 'm', estimated_cost_usd: '0.1' } };
      expect(codeOf(await us.request('POST', '/v1/edge/decision', decision))).toBe('residency_violation');
    }
  });
});

describe('the directory', () => {
  const known = async (orgId: string) =>
    eu.db.query('SELECT mode, suspended FROM directory_orgs WHERE org_id = $1', [orgId]);

  test('returns 401 for an unknown key, and for a key that was not received yet', async () => {
    const fresh = await orgAtHome('us');
    expect(codeOf(await read(eu, fresh))).toBe('unauthorized');
    await readDirectory();
    expect((await read(eu, fresh)).status).toBe(200);
  });

  test('a revoked key is rejected immediately, whether eu has received the revocation or not', async () => {
    const key = await us.mintKey(org, 'viewer', ['org:read']);
    await readDirectory();
    const holder = { ...org, ownerKey: key.secret };
    expect((await read(eu, holder)).status).toBe(200);
    await us.request('DELETE', `/v1/orgs/${org.id}/keys/${key.id}`, { key: org.ownerKey });
    expect(codeOf(await read(eu, holder))).toBe('gone');
    await readDirectory();
    expect(codeOf(await read(eu, holder))).toBe('gone');
  });

  test('contains no orgs without a home region, and drops orgs that leave', async () => {
    const without = await us.createOrg();
    const leaving = await orgAtHome('us');
    await readDirectory();
    expect(await known(without.id)).toEqual([]);
    expect(await known(leaving.id)).toEqual([{ mode: 'forward', suspended: false }]);
    await putResidency(us, leaving, { home_region: null });
    await readDirectory();
    expect(await known(leaving.id)).toEqual([]);
  });

  test('a full read repairs missing, extra and changed data', async () => {
    const missed = await orgAtHome('us');
    await readDirectory();
    await eu.db.query('DELETE FROM directory_orgs WHERE org_id = $1', [missed.id]);
    await eu.db.query(
      `INSERT INTO directory_orgs VALUES ('org_ghost', 'us', 'forward', false, now()), ('org_of_ap', 'ap', 'forward', false, now())`,
      [],
    );
    await eu.db.query(`UPDATE directory_peers SET through = 'infinity'`, []);
    await readDirectory();
    expect(await known(missed.id)).toEqual([]);
    await eu.db.query(`UPDATE directory_peers SET whole_at = 'epoch'`, []);
    await readDirectory();
    expect(await known(missed.id)).toHaveLength(1);
    expect(await known('org_ghost')).toEqual([]);
    expect(await known('org_of_ap')).toHaveLength(1);
  });

  test('reads all pages, of changes and of the whole directory', async () => {
    await us.db.query(
      `INSERT INTO orgs (id, name, slug, timezone, home_region, status, created_at, updated_at, directory_changed_at)
       SELECT 'org_many_' || lpad(n::text, 4, '0'), 'a', 'many-' || n, 'UTC', 'us', 'active', now(), now(), now()
         FROM generate_series(1, 450) AS n`,
      [],
    );
    const count = async () =>
      (
        await eu.db.query<{ n: bigint }>(
          `SELECT count(*) AS n FROM directory_orgs WHERE org_id LIKE 'org_many_%'`,
          [],
        )
      )[0]?.n;
    await readDirectory();
    expect(await count()).toBe(450n);
    await eu.db.query('DELETE FROM directory_orgs', []);
    await eu.db.query(`UPDATE directory_peers SET whole_at = 'epoch'`, []);
    await readDirectory();
    expect(await count()).toBe(450n);
    expect((await read(eu, org)).status).toBe(200);
  });

  test('requires valid signatures of requests and responses', async () => {
    const path = '/internal/directory?after=';
    const ask = (purpose: string, by = secret) => {
      const statement = { from: 'eu', to: 'us', atMs: us.clock.now().getTime() };
      return us.request('GET', path, {
        headers: { 'x-svc-region-directory': sign(only(by), purpose, statement, [path]) },
      });
    };
    expect((await us.request('GET', path)).status).toBe(404);
    expect((await ask('ask for the directory', 'another')).status).toBe(404);
    expect((await ask('forward')).status).toBe(404);
    const told = await ask('ask for the directory');
    expect(told.status).toBe(200);
    expect(told.json.entries.length).toBeGreaterThan(0);
    expect(told.text).not.toContain(org.ownerKey);
  });
});

test('a signature is valid for one purpose, one region, one content and one minute', () => {
  const statement = { from: 'eu', to: 'us', atMs: 1_000_000 };
  const signed = sign(only(secret), 'a', statement, ['x', 'y']);
  const at = { region: 'us', nowMs: 1_000_000 };
  expect(verify(only(secret), 'a', signed, ['x', 'y'], at)).toEqual(statement);
  expect(
    verify(only(secret), 'a', signed, ['x', 'y'], { ...at, nowMs: 1_000_000 + signatureGoodForMs }),
  ).toEqual(statement);
  const refused = [
    verify(only('other'), 'a', signed, ['x', 'y'], at),
    verify(only(secret), 'b', signed, ['x', 'y'], at),
    verify(only(secret), 'a', signed, ['x,y'], at),
    verify(only(secret), 'a', signed, ['x', 'z'], at),
    verify(only(secret), 'a', signed, ['x', 'y'], { ...at, region: 'ap' }),
    verify(only(secret), 'a', signed, ['x', 'y'], { ...at, nowMs: 1_000_001 + signatureGoodForMs }),
    verify(only(secret), 'a', signed, ['x', 'y'], { ...at, nowMs: 999_999 - signatureGoodForMs }),
    verify(only(secret), 'a', `${signed.slice(0, -1)}é`, ['x', 'y'], at),
    verify(only(secret), 'a', 'nonsense', ['x', 'y'], at),
    verify(
      only(secret),
      'a',
      sign(only(secret), 'a', { ...statement, from: 'us' }, ['x', 'y']),
      ['x', 'y'],
      at,
    ),
  ];
  expect(refused).toEqual(refused.map(() => undefined));
});

test('accepts two secrets during a rotation, and signs with the configured one', () => {
  const statement = { from: 'eu', to: 'us', atMs: 1_000_000 };
  const at = { region: 'us', nowMs: 1_000_000 };
  const rounds: PeerSecrets[] = [
    { signing: 'old', accepted: undefined },
    { signing: 'old', accepted: 'new' },
    { signing: 'new', accepted: 'old' },
    { signing: 'new', accepted: undefined },
  ];
  const isAccepted = (by: PeerSecrets, from: PeerSecrets) =>
    verify(by, 'a', sign(from, 'a', statement, []), [], at) !== undefined;
  // During a rotation two regions are at most one round apart, in either direction.
  for (const [index, round] of rounds.entries()) {
    const next = rounds[index + 1] ?? round;
    expect([isAccepted(round, next), isAccepted(next, round), isAccepted(round, round)]).toEqual([
      true,
      true,
      true,
    ]);
  }
  expect(isAccepted(rounds[0] as PeerSecrets, rounds[2] as PeerSecrets)).toBe(false);
  expect(isAccepted(rounds[3] as PeerSecrets, rounds[1] as PeerSecrets)).toBe(false);
});
