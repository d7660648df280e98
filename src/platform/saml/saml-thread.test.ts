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
  expect(refused.filter(Boolean)).toHaveLength(11);
  expect(refused.at(-1)).toBe(false);
});
