/** A real SAML identity provider, made with samlify, on a real socket. A test can make its assertions invalid. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as samlify from 'samlify';
import { newPair } from './certificates.ts';

samlify.setSchemaValidator({ validate: async () => 'the service provider checks' });

/** The values of an assertion. */
export interface Asserted {
  nameId: string;
  nameIdFormat: string;
  issuer: string;
  audience: string;
  recipient: string;
  inResponseTo: string;
  notBefore: Date;
  notOnOrAfter: Date | string;
  assertionId: string;
  email: string;
  groups: readonly string[];
  destination: string;
  status: string;
  issueInstant: string;
  sessionNotOnOrAfter: string;
  /** Expiry of the subject confirmation; `notOnOrAfter` is the expiry of the conditions. */
  confirmedUntil: string;
}

export interface SamlIdp {
  readonly entityId: string;
  readonly ssoUrl: string;
  readonly certificate: string;
  /** Values of the next assertions that differ from the correct ones. */
  says: Partial<Asserted>;
  /** Changes the next responses before they are signed. */
  rewrite: ((xml: string) => string) | undefined;
  /** Changes the next responses after they were signed. */
  tamper: ((xml: string) => string) | undefined;
  /** True if assertions are signed. */
  signs: boolean;
  signatureAlgorithm: string;
  /** Signs with the key of a stranger instead of the provider's own key. */
  isStranger: boolean;
  close(): Promise<void>;
}

const sha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
export const sha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1';

/** `metadata` returns the metadata of the service provider. It is called at each sign-in. */
export async function startSamlIdp(metadata: () => Promise<string>): Promise<SamlIdp> {
  const [own, stranger] = [newPair(), newPair()];
  const server = createServer((request, response) => {
    respond(new URL(request.url ?? '', idp.entityId)).then(
      (html) => response.writeHead(200, { 'content-type': 'text/html' }).end(html),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const idp: SamlIdp = {
    entityId: `${address}/metadata`,
    ssoUrl: `${address}/sso`,
    certificate: own.certificate,
    says: {},
    rewrite: undefined,
    tamper: undefined,
    signs: true,
    signatureAlgorithm: sha256,
    isStranger: false,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function respond(url: URL): Promise<string> {
    const spMetadata = await metadata();
    const sp = samlify.ServiceProvider({
      metadata: idp.signs ? spMetadata : spMetadata.replaceAll('WantAssertionsSigned="true"', ''),
    });
    const { key, certificate } = idp.isStranger ? stranger : own;
    const provider = samlify.IdentityProvider({
      entityID: idp.entityId,
      privateKey: key,
      signingCert: certificate,
      requestSignatureAlgorithm: idp.signatureAlgorithm,
      isAssertionEncrypted: false,
      nameIDFormat: ['urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'],
      singleSignOnService: [
        { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: idp.ssoUrl },
      ],
      singleLogoutService: [
        { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: `${address}/logout` },
      ],
      loginResponseTemplate: { context: template, attributes: [] },
    });
    const query = Object.fromEntries(url.searchParams);
    const request = await provider.parseLoginRequest(sp, 'redirect', { query });
    const asserted = whatItSays(String(request.extract.request?.id));
    const { context } = await provider.createLoginResponse(
      sp,
      request as never,
      'post',
      {},
      (text: string) => {
        const written = samlify.SamlLib.replaceTagsByValue(text, tags(asserted));
        return { id: asserted.assertionId, context: idp.rewrite?.(written) ?? written };
      },
    );
    const xml = Buffer.from(context, 'base64').toString('utf8');
    const sent = Buffer.from(idp.tamper?.(xml) ?? xml).toString('base64');
    return `<form method="post" action="${asserted.recipient}"><input name="SAMLResponse" value="${sent}"></form>`;
  }

  function whatItSays(requestId: string): Asserted {
    const acsUrl = acsOf();
    const { notOnOrAfter = new Date(Date.now() + 120_000) } = idp.says;
    const until = typeof notOnOrAfter === 'string' ? notOnOrAfter : notOnOrAfter.toISOString();
    return {
      nameId: 'ada',
      nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      issuer: idp.entityId,
      audience: acsUrl.replace(/acs$/, 'metadata'),
      recipient: acsUrl,
      inResponseTo: requestId,
      notBefore: new Date(Date.now() - 10_000),
      notOnOrAfter: until,
      assertionId: `_${randomUUID()}`,
      email: 'ada@example.com',
      groups: [],
      destination: idp.says.recipient ?? acsUrl,
      status: 'urn:oasis:names:tc:SAML:2.0:status:Success',
      issueInstant: new Date().toISOString(),
      sessionNotOnOrAfter: new Date(Date.now() + 24 * 3_600_000).toISOString(),
      confirmedUntil: until,
      ...idp.says,
    };
  }

  let acs = '';
  const acsOf = () => acs;
  acs = /Location="([^"]+\/acs)"/.exec(await metadata())?.[1] ?? '';
  return idp;
}

function tags(asserted: Asserted): Record<string, string> {
  return {
    ID: `_${randomUUID()}`,
    AssertionID: asserted.assertionId,
    Destination: asserted.destination,
    Status: asserted.status,
    SubjectRecipient: asserted.recipient,
    Issuer: asserted.issuer,
    IssueInstant: asserted.issueInstant,
    SessionNotOnOrAfter: asserted.sessionNotOnOrAfter,
    ConfirmedUntil: asserted.confirmedUntil,
    Audience: asserted.audience,
    NameID: asserted.nameId,
    NameIDFormat: asserted.nameIdFormat,
    InResponseTo: asserted.inResponseTo,
    NotBefore: asserted.notBefore.toISOString(),
    NotOnOrAfter:
      typeof asserted.notOnOrAfter === 'string' ? asserted.notOnOrAfter : asserted.notOnOrAfter.toISOString(),
    Email: asserted.email,
    Groups: asserted.groups.join(','),
  };
}

const value = (text: string) =>
  `<saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string" xmlns:xs="http://www.w3.org/2001/XMLSchema">${text}</saml:AttributeValue>`;

const template = [
  '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
  ' ID="{ID}" Version="2.0" IssueInstant="{IssueInstant}" Destination="{Destination}" InResponseTo="{InResponseTo}">',
  '<saml:Issuer>{Issuer}</saml:Issuer>',
  '<samlp:Status><samlp:StatusCode Value="{Status}"/></samlp:Status>',
  '<saml:Assertion ID="{AssertionID}" Version="2.0" IssueInstant="{IssueInstant}"><saml:Issuer>{Issuer}</saml:Issuer>',
  '<saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID>',
  '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">',
  '<saml:SubjectConfirmationData NotOnOrAfter="{ConfirmedUntil}" Recipient="{SubjectRecipient}" InResponseTo="{InResponseTo}"/>',
  '</saml:SubjectConfirmation></saml:Subject>',
  '<saml:Conditions NotBefore="{NotBefore}" NotOnOrAfter="{NotOnOrAfter}"><saml:AudienceRestriction>',
  '<saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
  '<saml:AuthnStatement AuthnInstant="{IssueInstant}" SessionNotOnOrAfter="{SessionNotOnOrAfter}"><saml:AuthnContext><saml:AuthnContextClassRef>',
  'urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>',
  `<saml:AttributeStatement><saml:Attribute Name="email">${value('{Email}')}</saml:Attribute>`,
  `<saml:Attribute Name="groups">${value('{Groups}')}</saml:Attribute></saml:AttributeStatement>`,
  '</saml:Assertion></samlp:Response>',
].join('');
