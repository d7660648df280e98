import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import { type SamlIdp, startSamlIdp } from '../../../../test/support/saml-idp.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '2' });
const org = useOrg(world);
let slug: string;
let url: string;
let idp: SamlIdp;

beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  slug = (await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).json.slug;
  idp = await startSamlIdp(async () => (await fetch(`${url}/saml/${slug}/metadata`)).text());
  const { entityId, ssoUrl, certificate } = idp;
  const put = await world.request('PUT', `/v1/orgs/${org.id}/sso`, {
    key: org.ownerKey,
    body: { idp_entity_id: entityId, idp_sso_url: ssoUrl, idp_certificate: certificate },
  });
  expect(put.status, put.text).toBe(200);
});
afterAll(() => idp.close());

const browser = new Browser();

async function fetchResponse(): Promise<string> {
  const page = await browser.follow(`${url}/saml/${slug}/login`);
  return /value="([^"]+)"/.exec(page.text)?.[1] ?? '';
}

const post = async (SAMLResponse: string) =>
  (await browser.request(`${url}/saml/${slug}/acs`, { form: { SAMLResponse }, withCookies: false })).status;

test('an address that sent many invalid responses is rejected before another one is verified', async () => {
  for (let count = 0; count < 3; count += 1) {
    await fetch(`${url}/v1/orgs/${org.id}`, { headers: { authorization: 'Bearer wrong' } });
  }
  expect(await post(await fetchResponse()), 'wrong keys do not count').toBe(303);
  const waiting = await fetchResponse();
  idp.isStranger = true;
  await post(await fetchResponse());
  await post(await fetchResponse());
  expect(await post(waiting)).toBe(429);
  world.clock.advanceSeconds(60);
  expect(await post(waiting), 'a response that was not verified is not used up').toBe(303);
});
