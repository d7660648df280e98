import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { ValidateInResponseTo } from '@node-saml/node-saml';
import { expect, test } from 'vitest';
import { SamlThread } from './saml-thread.ts';

const options = {
  issuer: 'a',
  audience: 'a',
  callbackUrl: 'https://a.example/acs',
  entryPoint: 'https://idp.example',
  idpCert: 'AAAA',
  validateInResponseTo: ValidateInResponseTo.never,
};
const response = (inside: string) =>
  Buffer.from(
    `<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" ID="a">${inside}</p:Response>`,
  ).toString('base64');

const tenantId = 'org_1';

test('aborts a response that keeps the parser busy, and verifies the next one', async () => {
  const thread = new SamlThread(1_000);
  const busy = thread.verify({ tenantId, options, response: response('<b/>'.repeat(60_000)) });
  const next = thread.verify({ tenantId, options, response: response('') });
  const ends = await Promise.allSettled([busy, next]);
  const reasons = ends.map((end) => (end.status === 'rejected' ? String(end.reason) : 'believed'));
  expect(reasons[0]).toMatch(/abort/i);
  expect(reasons[1]).toMatch(/signature/i);
});

test('rejects requests beyond the bound of the queue, and leaves places for other orgs', async () => {
  const thread = new SamlThread();
  const verify = (of: string) => thread.verify({ tenantId: of, options, response: response('') });
  const ends = await Promise.allSettled([
    ...Array.from({ length: 40 }, () => verify(tenantId)),
    verify('org_2'),
  ]);
  const refused = ends.map((end) => end.status === 'rejected' && /Many people/.test(String(end.reason)));
  expect(refused.filter(Boolean)).toHaveLength(10);
  expect(refused.at(-1)).toBe(false);
});

test('verifies the response of another org before the waiting ones of a busy org', async () => {
  const thread = new SamlThread(60_000);
  const order: string[] = [];
  const verify = (of: string) =>
    thread.verify({ tenantId: of, options, response: response('') }).catch(() => order.push(of));
  await Promise.all([...Array.from({ length: 10 }, () => verify('busy')), verify('quiet')]);
  expect(order).toHaveLength(11);
  expect(order.indexOf('quiet')).toBe(1);
});

test('gives an org a place although four other orgs fill the queue', async () => {
  const thread = new SamlThread(60_000);
  const verify = (of: string) => thread.verify({ tenantId: of, options, response: response('') });
  const orgs = [...Array.from({ length: 40 }, () => 'busy_1'), 'busy_2', 'busy_3', 'busy_4'];
  const busy = Promise.allSettled(orgs.map(verify));
  await expect(verify('quiet')).rejects.toThrow(/signature/i);
  await busy;
});

test('ends a thread that does not start in time', async () => {
  const created = once(process, 'worker');
  const verified = new SamlThread(60_000, 1).verify({ tenantId, options, response: response('') });
  const [worker] = (await created) as [Worker];
  const ended = once(worker, 'exit');
  await expect(verified).rejects.toThrow(/abort/i);
  await ended;
});
