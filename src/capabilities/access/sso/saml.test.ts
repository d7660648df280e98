import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { Browser, type BrowserAnswer } from '../../../../test/support/cookie-browser.ts';
import { type SamlIdp, sha1, startSamlIdp } from '../../../../test/support/saml-idp.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
const org = useOrg(world);
let slug: string;
let url: string;
let idp: SamlIdp;
const metadata = async () => (await fetch(`${url}/saml/${slug}/metadata`)).text();

beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  slug = (await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).json.slug;
  idp = await startSamlIdp(metadata);
  const put = await world.request('PUT', `/v1/orgs/${org.id}/sso`, {
    key: org.ownerKey,
    body: {
      idp_entity_id: idp.entityId,
      idp_sso_url: idp.ssoUrl,
      // The certificate as metadata contains it: without PEM header, footer and line breaks.
      idp_certificate: idp.certificate.replaceAll(/-----[^-]+-----|\s/g, ''),
      role_mapping: [{ group: 'board', role: 'owner' }],
    },
  });
  expect(put.status, put.text).toBe(200);
  expect(put.json).toMatchObject({ kind: 'saml', acs_url: `${url}/saml/${slug}/acs`, client_id: null });
});
afterAll(() => idp.close());
afterEach(() => {
  Object.assign(idp, { says: {}, rewrite: undefined, tamper: undefined, signs: true, isStranger: false });
  idp.signatureAlgorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
});

interface Posted {
  readonly browser: Browser;
  readonly action: string;
  readonly response: string;
}

/** Starts a sign-in. Returns the SAML response that the identity provider makes the browser post. */
async function fetchResponse(browser = new Browser(), query = ''): Promise<Posted> {
  const page = await browser.follow(`${url}/saml/${slug}/login${query}`);
  expect(page.status, page.text).toBe(200);
  const response = /value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  return { browser, action: `${url}/saml/${slug}/acs`, response };
}

/**
 * Posts the SAML response like a page of another site, so without cookies. The redirect is a navigation, so with
 * cookies.
 */
async function post({ browser, action, response }: Posted): Promise<BrowserAnswer> {
  const answer = await browser.request(action, { form: { SAMLResponse: response }, withCookies: false });
  const next = answer.headers.get('location');
  return next === null ? answer : browser.request(new URL(next, action).href);
}

const isIn = (browser: Browser) => browser.cookies(url).includes('purser_session=');

async function attempt(): Promise<BrowserAnswer> {
  const posted = await fetchResponse();
  const answer = await post(posted);
  expect(isIn(posted.browser)).toBe(answer.status === 303);
  if (answer.status !== 303) {
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  return answer;
}

const change = (text: string, from: string | RegExp, to: string) => {
  const changed = text.replace(from, to);
  expect(changed, 'the forgery found what it changes').not.toBe(text);
  return changed;
};

test('a response may be larger than other forms, up to a limit', async () => {
  const { browser, action } = await fetchResponse();
  const posted = async (bytes: number) => {
    const form = { SAMLResponse: 'A'.repeat(bytes - 'SAMLResponse='.length) };
    return (await browser.request(action, { form, withCookies: false })).status;
  };
  expect(await posted(131_072)).toBe(400);
  expect(await posted(131_073)).toBe(413);
});

describe('signing in', () => {
  test('makes a member of whom the assertion is about, with the role of the group', async () => {
    idp.says = { nameId: 'grace', email: 'Grace@Example.com', groups: ['board'] };
    const { browser, ...posted } = await fetchResponse(new Browser(), '?return_to=/console/keys');
    const answer = await post({ browser, ...posted });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/keys']);
    const { json } = await world.request('GET', `/v1/orgs/${org.id}/sessions`, {
      headers: { cookie: browser.cookies(url) },
    });
    expect(json.data[0]).toMatchObject({ method: 'saml', role: 'owner', current: true });
    const { json: member } = await world.request(
      'GET',
      `/v1/orgs/${org.id}/members/${json.data[0].member_id}`,
      { key: org.ownerKey },
    );
    expect(member).toMatchObject({ subject: 'grace', issuer: idp.entityId, email: 'grace@example.com' });
  });

  test('signing in with SAML ends the session that the browser had before', async () => {
    const { browser, ...posted } = await fetchResponse();
    expect((await post({ browser, ...posted })).status).toBe(303);
    const cookie = browser.cookies(url);
    expect((await post(await fetchResponse(browser))).status).toBe(303);
    const read = (header: string) =>
      world.request('GET', `/v1/orgs/${org.id}`, { headers: { cookie: header } });
    expect((await read(cookie)).json.error.code).toBe('session_revoked');
    expect((await read(browser.cookies(url))).status).toBe(200);
  });

  test('two tabs of a browser can sign in at the same time', async () => {
    const browser = new Browser();
    const tabs = [await fetchResponse(browser), await fetchResponse(browser)];
    for (const tab of tabs) {
      expect((await post(tab)).status).toBe(303);
    }
  });

  test('the way for the other protocol leads to this one', async () => {
    const answer = await new Browser().request(`${url}/sso/${slug}/login?return_to=/console/runs`);
    expect(answer.headers.get('location')).toBe(`${url}/saml/${slug}/login?return_to=%2Fconsole%2Fruns`);
  });

  test('never leads anywhere but to the console', async () => {
    const answer = await post(await fetchResponse(new Browser(), '?return_to=https://evil.example/console'));
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console']);
  });

  test('metadata says what an identity provider needs, for any name', async () => {
    const text = await metadata();
    expect(text).toContain(`entityID="${url}/saml/${slug}/metadata"`);
    expect(text).toContain('WantAssertionsSigned="true"');
    const other = await fetch(`${url}/saml/no-such-org/metadata`);
    expect([other.status, other.headers.get('content-type')]).toEqual([
      200,
      'application/samlmetadata+xml; charset=utf-8',
    ]);
  });
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
const year275760: Partial<SamlIdp['says']> = {
  notOnOrAfter: '+275760-09-13T00:00:00.000Z',
  confirmedUntil: '+275760-09-13T00:00:00.000Z',
};

describe('names and groups are compared exactly', () => {
  const subjects = async () => {
    const { json } = await world.request('GET', `/v1/orgs/${org.id}/members?limit=200`, {
      key: org.ownerKey,
    });
    return json.data.map(({ subject }: { subject: string }) => subject);
  };

  test.each([' root', 'root ', '\nroot\n', '&#32;&#32;root', 'root&#x9;'])('%j is not root', async (name) => {
    idp.says = { nameId: 'root', email: '' };
    expect((await attempt()).status).toBe(303);
    const before = await subjects();
    idp.rewrite = (xml) => change(xml, '>root<', `>${name}<`);
    expect((await attempt()).status).toBe(303);
    expect(await subjects()).toHaveLength(before.length + 1);
    expect((await attempt()).status).toBe(303);
    expect(await subjects()).toHaveLength(before.length + 1);
  });

  test('a name with an element inside is none, whatever is around it', async () => {
    idp.rewrite = (xml) => change(xml, '>ada<', '>a<saml:b/>da<');
    expect((await attempt()).status).toBe(403);
  });

  test.each(['board ', ' board', '\n  board\n', 'board&#32;', 'bo<saml:b/>ard'])(
    '%j is not the group board',
    async (group) => {
      idp.says = { nameId: 'not of the board', email: '', groups: ['board'] };
      idp.rewrite = (xml) => change(xml, '>board<', `>${group}<`);
      const posted = await fetchResponse();
      expect((await post(posted)).status).toBe(303);
      const { json } = await world.request('GET', `/v1/orgs/${org.id}/sessions`, {
        headers: { cookie: posted.browser.cookies(url) },
      });
      expect(json.data.find(({ current }: { current: boolean }) => current).role).toBe('viewer');
    },
  );
});

test('an assertion that expired within the tolerance for clocks is believed', async () => {
  idp.says = { confirmedUntil: ago(20), notOnOrAfter: ago(20) };
  expect((await attempt()).status).toBe(303);
});

test('a response without a destination is believed, and one without a status is not', async () => {
  idp.tamper = (xml) => change(xml, / Destination="[^"]*"/, '');
  expect((await attempt()).status).toBe(303);
  idp.tamper = (xml) => change(xml, /<samlp:Status>.*<\/samlp:Status>/, '');
  expect((await attempt()).status).toBe(403);
});

describe('the end of the session at the identity provider', () => {
  const statusAfter = async (browser: Browser, seconds: number) => {
    world.clock.advanceSeconds(seconds);
    const headers = { cookie: browser.cookies(url) };
    return (await world.request('GET', `/v1/orgs/${org.id}`, { headers })).status;
  };

  test('a logout at the identity provider ends the session here too, 60 seconds later at most', async () => {
    idp.says = { sessionNotOnOrAfter: ago(-600) };
    const posted = await fetchResponse();
    expect((await post(posted)).status).toBe(303);
    expect(await statusAfter(posted.browser, 300)).toBe(200);
    expect(await statusAfter(posted.browser, 361)).toBe(401);
  });

  test('a logout at the identity provider counts also if the person is asked before the session changes', async () => {
    const browser = new Browser();
    const other = await world.createOrg();
    await browser.request(`${url}/console/login`, { form: { key: other.ownerKey } });
    idp.says = { sessionNotOnOrAfter: ago(-600) };
    const page = await post(await fetchResponse(browser));
    const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    expect((await browser.request(`${url}/sso/callback`, { form: { ticket } })).status).toBe(303);
    expect(await statusAfter(browser, 300)).toBe(200);
    expect(await statusAfter(browser, 361)).toBe(401);
  });

  test('the earliest of several statements counts', async () => {
    idp.says = { sessionNotOnOrAfter: ago(-600) };
    idp.rewrite = (xml) => {
      const [statement = ''] = /<saml:AuthnStatement.*<\/saml:AuthnStatement>/.exec(xml) ?? [];
      return change(xml, statement, statement + statement.replace('OrAfter="20', 'OrAfter="21'));
    };
    const posted = await fetchResponse();
    expect((await post(posted)).status).toBe(303);
    expect(await statusAfter(posted.browser, 661)).toBe(401);
  });

  test('need not be stated', async () => {
    idp.rewrite = (xml) => change(xml, / SessionNotOnOrAfter="[^"]*"/, '');
    expect((await attempt()).status).toBe(303);
  });
});

test('somebody who is in none of the groups any more loses open sessions and tickets', async () => {
  const put = async (default_role: string | null) =>
    expect(
      (
        await world.request('PUT', `/v1/orgs/${org.id}/sso`, {
          key: org.ownerKey,
          body: {
            idp_entity_id: idp.entityId,
            idp_sso_url: idp.ssoUrl,
            idp_certificate: idp.certificate,
            role_mapping: [{ group: 'board', role: 'owner' }],
            default_role,
          },
        })
      ).status,
    ).toBe(200);
  await put(null);
  idp.says = { nameId: 'ousted', email: '', groups: ['board'] };
  const first = await fetchResponse();
  expect((await post(first)).status).toBe(303);
  const waiting = await fetchResponse();
  const ticket = await waiting.browser.request(waiting.action, {
    form: { SAMLResponse: waiting.response },
    withCookies: false,
  });
  idp.says = { nameId: 'ousted', email: '', groups: ['others'] };
  expect((await attempt()).status).toBe(403);
  const { status, json } = await world.request('GET', `/v1/orgs/${org.id}/sessions`, {
    headers: { cookie: first.browser.cookies(url) },
  });
  expect([status, json.error?.code]).toEqual([401, 'session_revoked']);
  const late = await waiting.browser.request(new URL(ticket.headers.get('location') ?? '', url).href);
  expect(late.status).toBe(403);
  await put('viewer');
});

describe('what is not believed', () => {
  test.each<[string, Partial<SamlIdp['says']>]>([
    ['another audience', { audience: 'https://elsewhere.example/metadata' }],
    ['another recipient', { recipient: 'https://elsewhere.example/acs' }],
    ['another issuer', { issuer: 'https://evil.example/metadata' }],
    ['expired', { notOnOrAfter: new Date(Date.now() - 3_600_000) }],
    ['not valid yet', { notBefore: new Date(Date.now() + 3_600_000) }],
    ['unsolicited: a request that was never sent', { inResponseTo: '_never' }],
    ['unsolicited: no request at all', { inResponseTo: '' }],
    [
      'a name that changes each time',
      { nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' },
    ],
    ['no name', { nameId: '' }],
    ['a name of spaces', { nameId: ' ' }],
    ['a confirmation that has expired', { confirmedUntil: ago(120) }],
    ['a confirmation until no time', { confirmedUntil: 'tomorrow' }],
    ['a confirmation until the year 275760', { confirmedUntil: '+275760-09-13T00:00:00.000Z' }],
    ['conditions until the year 275760', { notOnOrAfter: '+275760-09-13T00:00:00.000Z' }],
    ['everything until the year 275760', year275760],
    ['a session until the year 275760', { sessionNotOnOrAfter: '+275760-09-13T00:00:00.000Z' }],
    ['a session that has ended', { sessionNotOnOrAfter: ago(120) }],
    ['issued in the year 275760', { issueInstant: '+275760-09-13T00:00:00.000Z' }],
    ['a status that is no success', { status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }],
    ['a status that begins like success', { status: 'urn:oasis:names:tc:SAML:2.0:status:SuccessNot' }],
    ['an empty status', { status: '' }],
    ['another destination', { destination: 'https://elsewhere.example/acs' }],
    ['an empty destination', { destination: '' }],
  ])('%s', async (_, says) => {
    idp.says = { nameId: 'somebody', email: '', ...says };
    expect((await attempt()).status).toBe(403);
  });

  test('no signature, that of a stranger, and one with SHA-1', async () => {
    idp.tamper = (xml) => change(xml, /<(\w+:)?Signature[\s\S]*<\/(\w+:)?Signature>/, '');
    expect((await attempt()).status).toBe(403);
    idp.tamper = undefined;
    idp.isStranger = true;
    expect((await attempt()).status).toBe(403);
    idp.isStranger = false;
    idp.signatureAlgorithm = sha1;
    for (const tamper of [
      undefined,
      (xml: string) => change(xml, `"${sha1}"`, `'${sha1}'`),
      (xml: string) => change(xml, 'rsa-sha1"', 'rsa-sha&#49;"'),
    ]) {
      idp.tamper = tamper;
      expect((await attempt()).status).toBe(400);
    }
  });

  test('a name, a group or a time that was changed after it was signed', async () => {
    for (const [from, to] of [
      ['>ada<', '>grace<'],
      ['>ada@example.com<', '>grace@example.com<'],
      [/NotOnOrAfter="20/g, 'NotOnOrAfter="21'],
    ] as const) {
      idp.tamper = (xml) => change(xml, from, to);
      expect((await attempt()).status, String(from)).toBe(403);
    }
  });

  /** A forged assertion beside the signed one, at the places where vulnerable implementations read it. */
  test('a signed assertion that is wrapped', async () => {
    const forged = (assertion: string) =>
      change(assertion, '>ada<', '>grace<')
        .replace(/<(\w+:)?Signature[\s\S]*<\/(\w+:)?Signature>/, '')
        .replace(/ ID="[^"]+"/, ' ID="_forged"');
    const wrappings: ((xml: string, assertion: string) => string)[] = [
      (xml, assertion) => xml.replace(assertion, forged(assertion) + assertion),
      (xml, assertion) => xml.replace(assertion, assertion + forged(assertion)),
      (xml, assertion) =>
        xml.replace(
          assertion,
          forged(assertion).replace('</saml:Assertion>', `${assertion}</saml:Assertion>`),
        ),
      (xml, assertion) =>
        xml.replace(assertion, `<samlp:Extensions>${assertion}</samlp:Extensions>${forged(assertion)}`),
      (xml, assertion) =>
        xml.replace(
          assertion,
          forged(assertion).replace(
            '<saml:Subject>',
            `<ds:Object xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${assertion}</ds:Object><saml:Subject>`,
          ),
        ),
      (xml, assertion) =>
        change(xml, '<samlp:Status>', `<samlp:Extensions>${xml}</samlp:Extensions><samlp:Status>`).replace(
          new RegExp(`${'</samlp:Status>'}[\\s\\S]*$`),
          `</samlp:Status>${forged(assertion)}</samlp:Response>`,
        ),
    ];
    for (const [index, wrap] of wrappings.entries()) {
      idp.tamper = (xml) => wrap(xml, /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? '');
      expect((await attempt()).status, `wrapping ${index}`).toBe(400);
    }
  });

  test('comments, document types, entities and instructions', async () => {
    idp.says = { nameId: 'ada.evil', email: 'ada@example.com.evil.example' };
    for (const tamper of [
      (xml: string) => change(xml, 'ada.evil', 'ada<!---->.evil'),
      (xml: string) => change(xml, 'example.com.evil', 'example.com<!-- a -->.evil'),
      (xml: string) => `<!DOCTYPE samlp:Response [<!ENTITY a "b">]>${xml}`,
      (xml: string) => `<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:1/">${xml}`,
      (xml: string) => change(xml, 'ada.evil', 'ada<?a?>.evil'),
      (xml: string) => change(xml, 'ada.evil', '<![CDATA[ada.evil]]>'),
    ]) {
      idp.tamper = tamper;
      expect((await attempt()).status).toBe(400);
    }
  });

  test('what is no response at all', async () => {
    const action = `${url}/saml/${slug}/acs`;
    for (const response of ['', 'nonsense', Buffer.from('<a/>').toString('base64'), 'A'.repeat(100_000)]) {
      expect((await post({ browser: new Browser(), action, response })).status).toBe(400);
    }
    expect((await post({ browser: new Browser(), action, response: 'A'.repeat(2_000_000) })).status).toBe(
      413,
    );
  });

  test('more parts than an assertion has are not parsed', async () => {
    const attributes = Array.from({ length: 2_000 }, (_, n) => ` a${n}=""`).join('');
    for (const inside of ['<b/>'.repeat(1_000), `<b${attributes}/>`, 'a'.repeat(65_536), '&a;']) {
      idp.tamper = (xml) => change(xml, '</saml:Assertion>', `${inside}</saml:Assertion>`);
      expect((await attempt()).status, inside.slice(0, 10)).toBe(400);
    }
  });

  test('a sign-in is good for one response, so that nobody can have many verified', async () => {
    const posted = await fetchResponse();
    const text = Buffer.from(posted.response, 'base64').toString();
    const forged = Buffer.from(change(text, '>ada<', '>grace<')).toString('base64');
    expect((await post({ ...posted, response: forged })).status).toBe(403);
    expect((await post(posted)).status).toBe(403);
    const twoRequests = await fetchResponse();
    const other = Buffer.from(twoRequests.response, 'base64').toString();
    const response = Buffer.from(change(other, 'InResponseTo="_', 'InResponseTo="_a')).toString('base64');
    expect((await post({ ...twoRequests, response })).status).toBe(403);
  });

  test('a response that is sent twice', async () => {
    const posted = await fetchResponse();
    expect((await post(posted)).status).toBe(303);
    expect((await post(posted)).status).toBe(403);
    idp.says = { assertionId: '_same' };
    expect((await attempt()).status, 'the first with this id').toBe(303);
    expect((await attempt()).status, 'another response with an id that was used').toBe(403);
  });

  test('a response that somebody else is made to send, and one that comes too late', async () => {
    const posted = await fetchResponse();
    const victim = new Browser();
    expect((await post({ ...posted, browser: victim })).status).toBe(403);
    expect(isIn(victim)).toBe(false);
    const late = await fetchResponse();
    world.clock.advanceSeconds(600);
    expect((await post(late)).status).toBe(403);
  });

  test('a response for another org', async () => {
    const other = await world.createOrg();
    const { json } = await world.request('GET', `/v1/orgs/${other.id}`, { key: other.ownerKey });
    await world.request('PUT', `/v1/orgs/${other.id}/sso`, {
      key: other.ownerKey,
      body: {
        idp_entity_id: idp.entityId,
        idp_sso_url: idp.ssoUrl,
        idp_certificate: idp.certificate,
      },
    });
    const posted = await fetchResponse();
    expect((await post({ ...posted, action: `${url}/saml/${json.slug}/acs` })).status).toBe(403);
    expect((await post(posted)).status, 'where it belongs').toBe(303);
  });
});

test('one address begins only so many sign-ins a minute', async () => {
  const begin = async () => (await world.request('GET', `/saml/${slug}/login`)).status;
  world.clock.advanceSeconds(60);
  const statuses = await Promise.all(Array.from({ length: 310 }, begin));
  expect(statuses.filter((status) => status === 303)).toHaveLength(300);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  world.clock.advanceSeconds(60);
  expect(await begin()).toBe(303);
});

test('who is signed in to another org is asked first', async () => {
  const other = await world.createOrg();
  const browser = new Browser();
  await browser.request(`${url}/console/login`, { form: { key: other.ownerKey } });
  const page = await post(await fetchResponse(browser));
  expect([page.status, page.headers.get('set-cookie')]).toEqual([200, null]);
  const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const entered = await browser.request(`${url}/sso/callback`, { form: { ticket } });
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/console']);
});
