/**
 * Two regions: two processes, each with its own database, which know each other's orgs through the directory. Requests
 * from eu to us use TLS.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPair } from '../support/certificates.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

const [oldSecret, newSecret] = ['the-old-secret-of-both-regions-0123', 'the-new-secret-of-both-regions-0123'];
const places: Place[] = [];
let folder: string;
let tls: Server;
let eu: ServiceProcess;
let us: ServiceProcess;
let startUs: (secrets: Record<string, string>) => Promise<ServiceProcess>;
/** An org whose home region is us. */
let org: { readonly id: string; readonly key: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'purser-regions-'));
  const certificateFile = join(folder, 'certificate.pem');
  const [euPort, usPort] = [await freePort(), await freePort()];
  const { key, certificate: cert } = newPair();
  await writeFile(certificateFile, cert);
  tls = await startTls({ key, cert }, usPort);
  const usOrigin = `https://localhost:${(tls.address() as AddressInfo).port}`;
  const prepare = async (region: string, port: number) => {
    const place = await makePlace({ migrated: true });
    places.push(place);
    return (secrets: Record<string, string>) =>
      startPurser({
        ...settingsOf(place),
        ...secrets,
        SVC_PORT: String(port),
        SVC_REGION: region,
        SVC_REGION_PEERS: `eu=http://127.0.0.1:${euPort},us=${usOrigin}`,
        NODE_EXTRA_CA_CERTS: certificateFile,
        SVC_BULK_MAX_RUNS: '20000',
        // Tests retry requests with keys that eu does not know yet, so the backoff must not reject them.
        SVC_AUTH_BACKOFF_ATTEMPTS: '1000000',
      });
  };
  const startEu = await prepare('eu', euPort);
  startUs = await prepare('us', usPort);
  [eu, us] = await Promise.all([
    startEu({ SVC_REGION_PEER_SECRET: oldSecret, SVC_REGION_PEER_SECRET_ACCEPTED: newSecret }),
    startUs({ SVC_REGION_PEER_SECRET: oldSecret }),
  ]);
  org = await orgInUs({ home_region: 'us' });
});
afterAll(async () => {
  await endAllProcesses();
  tls?.close();
  await rm(folder, { recursive: true, force: true });
  await Promise.all(places.map((place) => place.remove()));
});

/** Starts a proxy that terminates TLS, as in front of a region in production. */
async function startTls(pair: { key: string; cert: string }, port: number): Promise<Server> {
  const server = createTlsServer(pair, (socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.once('close', () => other.destroy());
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Creates an org in us. Resolves when eu knows the org. */
async function orgInUs(residency: object): Promise<{ id: string; key: string }> {
  const { json } = await us.request('POST', '/v1/admin/orgs', { body: { name: 'An org' } });
  const minted = await us.request('POST', `/v1/admin/orgs/${json.id}/keys`, {
    body: { name: 'k', role: 'owner', scopes: ['org:read', 'org:write', 'runs:read', 'runs:write'] },
  });
  const made = { id: json.id, key: minted.json.secret };
  await us.request('PUT', `/v1/admin/orgs/${json.id}/residency`, { body: residency });
  await eventually(async () => expect((await read(eu, made)).code).not.toBe('unauthorized'));
  return made;
}

/** Creates an org that allows a single address. */
async function orgWithAddress(): Promise<typeof org> {
  const listed = await orgInUs({ home_region: 'us' });
  const put = await us.request('PUT', `/v1/orgs/${listed.id}/ip-allow-list`, {
    key: listed.key,
    body: { cidrs: ['127.0.0.2'], force: true },
  });
  expect(put.status).toBe(200);
  return listed;
}

const read = (service: ServiceProcess, { id, key }: typeof org) =>
  service.request('GET', `/v1/orgs/${id}`, { key });
const run = (service: ServiceProcess, { key }: typeof org, idempotencyKey?: string) =>
  service.request('POST', '/v1/runs', {
    key,
    body: { model: 'm', cost_usd: '0.1' },
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });

describe('forward', () => {
  test('a write in eu is made in us, once, whichever region is asked again', async () => {
    const first = await run(eu, org, 'one');
    expect(first.status).toBe(201);
    const [again, atHome] = [await run(eu, org, 'one'), await run(us, org, 'one')];
    expect([again.text, atHome.text]).toEqual([first.text, first.text]);
    expect([again.replayed, atHome.replayed]).toEqual([true, true]);
    const { json } = await us.request('GET', '/v1/runs', { key: org.key });
    expect(json.data.filter(({ id }: { id: string }) => id === first.json.id)).toHaveLength(1);
  });

  test('a large body goes through, and its answer comes back', async () => {
    const line = JSON.stringify({ model: 'm', cost_usd: '0', metadata: { note: 'x'.repeat(1_400) } });
    const response = await fetch(`${eu.url}/v1/runs/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/x-ndjson' },
      body: Array(15_000).fill(line).join('\n'),
    });
    const { status } = response;
    const text = await response.text();
    expect([status, text.length > 500_000]).toEqual([201, true]);
  });

  test('a request that was sent on already is not sent on again, and a forged mark is rejected at home', async () => {
    const mark = { 'x-svc-region-forward': 'e30.00', authorization: `Bearer ${org.key}` };
    const looped = await fetch(`${eu.url}/v1/orgs/${org.id}`, { headers: mark });
    expect(looped.status).toBe(503);
    expect(await looped.json()).toMatchObject({ error: { code: 'service_unavailable', details: {} } });
    expect((await fetch(`${us.url}/v1/orgs/${org.id}`, { headers: mark })).status).toBe(503);
  });

  test("the home region goes by the client's address, not by eu's", async () => {
    const listed = await orgWithAddress();
    expect(await statusesByAddress(listed)).toEqual([200, 403]);
  });
});

/** Returns the status of a request from the one address that the org allows, and of a request from another address. */
async function statusesByAddress({ id, key }: typeof org) {
  const statusFrom = async (localAddress: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = get(`${eu.url}/v1/orgs/${id}`, { localAddress, headers });
    const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage];
    sent.destroy();
    return statusCode;
  };
  return [await statusFrom('127.0.0.2'), await statusFrom('127.0.0.1')];
}

test('strict: refused in eu, reads and writes, and served at home', async () => {
  const kept = await orgInUs({ home_region: 'us', mode: 'strict' });
  for (const answer of [await read(eu, kept), await run(eu, kept)]) {
    expect(answer).toMatchObject({ status: 403, code: 'residency_violation' });
    expect(answer.json.error.details).toEqual({});
  }
  expect((await read(us, kept)).status).toBe(200);
});

test('while us is away eu answers 503, and goes on when it is back, with the next secret', async () => {
  const before = await run(eu, org, 'across the outage');
  await us.end('SIGKILL');
  for (const answer of [await read(eu, org), await run(eu, org, 'across the outage')]) {
    expect(answer).toMatchObject({ status: 503, code: 'service_unavailable' });
  }
  us = await startUs({ SVC_REGION_PEER_SECRET: newSecret, SVC_REGION_PEER_SECRET_ACCEPTED: oldSecret });
  const after = await run(eu, org, 'across the outage');
  expect([after.status, after.text, after.replayed]).toEqual([201, before.text, true]);
  // The regions trust each other: eu reads the directory of us, and us accepts the client address that eu vouches for.
  expect(await statusesByAddress(await orgWithAddress())).toEqual([200, 403]);
});
