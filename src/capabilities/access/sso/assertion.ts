/**
 * What is asked of a SAML response beyond its signature.
 *
 * Attacks on SAML hide a second meaning in a document: a second assertion beside the signed one, a comment that cuts a
 * name in two, an entity that expands. So the text itself has to be plain: one response, one assertion, and none of the
 * markup that identity providers have no use for. What is then read is read from the signed bytes.
 */
import { apiError } from '../../../contract/api-error.ts';
import { textOf } from './person.ts';

/** A few hundred groups fit. Parsing takes longer than its share with each, so they are few, and counted before. */
const responseBytesMax = 65_536;
const tagsMax = 1_000;
const attributesMax = 2_000;

/** In well-formed XML a bare `<` is always markup, so these cannot be anybody's name. */
const unusualMarkup = /<[!?]/;
const declaration = /^\s*<\?xml\s[^<>]*\?>/;
/** Without a document type there are only these. */
const unknownEntity = /&(?!amp;|lt;|gt;|quot;|apos;|#)/;
/** Names of attributes have one spelling, their values many; so an algorithm has to be written without references. */
const algorithms = /Algorithm\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const weakAlgorithm = /&|xmldsig#(rsa-sha1|dsa-sha1|hmac-sha1|sha1)\s*$/;
const answeredRequest = /InResponseTo\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** The first is the one of the response; a second one inside it says more about a failure. */
const statusCode = /<(?:[^\s<>/:]+:)?StatusCode\s[^<>]*?Value\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const destination = /<(?:[^\s<>/:]+:)?Response\s[^<>]*?Destination\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Refuses, before anything is parsed, what is not plain; returns the id of the request that the response says it
 * answers. Whether that is so the signed bytes tell later.
 */
export function checkResponseText(base64: string, acsUrl: string): string {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length > responseBytesMax) {
    throw apiError('bad_request', 'The SAML response is empty or too large.');
  }
  const text = decodeUtf8(bytes).replace(declaration, '');
  if (text.split('<').length > tagsMax || text.split('=').length > attributesMax) {
    throw apiError('bad_request', 'The SAML response has too many parts.');
  }
  if (unusualMarkup.test(text) || unknownEntity.test(text)) {
    throw apiError('bad_request', 'The SAML response contains a document type, a comment or similar markup.');
  }
  if (valuesOf(text, algorithms).some((algorithm) => weakAlgorithm.test(algorithm))) {
    throw apiError('bad_request', 'The SAML response is signed with SHA-1, which can be forged.');
  }
  if (
    count(text, 'Response') !== 1 ||
    count(text, 'Assertion') !== 1 ||
    count(text, 'EncryptedAssertion') !== 0
  ) {
    throw apiError('bad_request', 'The SAML response must contain one unencrypted assertion.');
  }
  // Neither need be signed. They say what an honest identity provider means, which no signed assertion overrules.
  if (valuesOf(text, statusCode)[0] !== success) {
    throw apiError('forbidden', 'The identity provider did not complete the sign-in.');
  }
  if (valuesOf(text, destination).some((url) => url !== acsUrl)) {
    throw apiError('forbidden', 'The SAML response is addressed to another URL.');
  }
  const [requestId, ...others] = new Set(valuesOf(text, answeredRequest));
  if (requestId === undefined || others.length > 0) {
    throw apiError('forbidden', 'The SAML response does not name its request.');
  }
  return requestId;
}

function valuesOf(text: string, attribute: RegExp): string[] {
  return [...text.matchAll(attribute)].map(([, double, single]) => double ?? single ?? '');
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw apiError('bad_request', 'The SAML response is not UTF-8.');
  }
}

/** Elements of that name in whatever namespace. */
function count(text: string, element: string): number {
  return [...text.matchAll(new RegExp(`<([^\\s<>/:]+:)?${element}[\\s/>]`, 'g'))].length;
}

export interface Assertion {
  readonly id: string;
  /** The request that it answers. */
  readonly requestId: string;
  readonly notOnOrAfter: Date;
  readonly nameId: string;
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

export interface ExpectedAssertion {
  readonly idpEntityId: string;
  readonly acsUrl: string;
  readonly now: Date;
  readonly clockSkewMs: number;
}

/** An element as xml2js gives it: attributes under `$`, text under `_`, children in lists. */
interface Element {
  readonly $?: Readonly<Record<string, string>>;
  readonly _?: string;
  readonly [child: string]: unknown;
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/** `signed` is the document that was made of the signed bytes. */
export function readAssertion(signed: object, expected: ExpectedAssertion): Assertion {
  const assertion = only((signed as { Assertion?: unknown }).Assertion, 'assertion');
  if (text(only(assertion.Issuer, 'issuer')) !== expected.idpEntityId) {
    throw apiError('forbidden', 'The assertion is from another identity provider.');
  }
  const subject = only(assertion.Subject, 'subject');
  const nameId = only(subject.NameID, 'name');
  if (nameId.$?.Format === transient) {
    throw apiError(
      'forbidden',
      'The name identifier in the assertion is transient. Configure a persistent one.',
    );
  }
  const confirmation = only(subject.SubjectConfirmation, 'subject confirmation');
  const data = only(confirmation.SubjectConfirmationData, 'subject confirmation').$ ?? {};
  if (confirmation.$?.Method !== bearer || data.Recipient !== expected.acsUrl) {
    throw apiError('forbidden', 'The assertion is addressed to another recipient.');
  }
  checkTimes(assertion);
  const conditions = only(assertion.Conditions, 'condition').$ ?? {};
  const notOnOrAfter = Math.min(
    Date.parse(data.NotOnOrAfter ?? ''),
    Date.parse(conditions.NotOnOrAfter ?? ''),
  );
  // node-saml compares the conditions alone.
  if (notOnOrAfter <= expected.now.getTime() - expected.clockSkewMs) {
    throw apiError('forbidden', 'The assertion has expired. Start again.');
  }
  const id = textOf(assertion.$?.ID);
  const name = textOf(text(nameId));
  // Without a request it is unsolicited, and anybody could have had it posted here.
  if (!(notOnOrAfter > 0) || id === undefined || name === undefined || data.InResponseTo === undefined) {
    throw apiError('forbidden', 'The assertion lacks a subject, an expiry or its request.');
  }
  return {
    id,
    requestId: data.InResponseTo,
    notOnOrAfter: new Date(notOnOrAfter),
    nameId: name,
    attributes: attributesOf(assertion),
  };
}

const timeAttributes = new Set([
  'NotBefore',
  'NotOnOrAfter',
  'IssueInstant',
  'AuthnInstant',
  'SessionNotOnOrAfter',
]);
/** With a year of four digits: what is later than 9999 is no time that anybody means, and cannot be stored. */
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/;

/** Anywhere in the element. */
function checkTimes(element: Element): void {
  for (const [name, value] of Object.entries(element.$ ?? {})) {
    if (timeAttributes.has(name) && !(time.test(value) && Date.parse(value) > 0)) {
      throw apiError('forbidden', `The assertion has an invalid time in ${name}.`);
    }
  }
  for (const [name, children] of Object.entries(element)) {
    if (name !== '$' && name !== '_') {
      list(children).forEach(checkTimes);
    }
  }
}

function attributesOf(assertion: Element): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const statement of list(assertion.AttributeStatement)) {
    for (const attribute of list(statement.Attribute)) {
      const values = list(attribute.AttributeValue).flatMap((value) => textOf(text(value)) ?? []);
      for (const name of [attribute.$?.Name, attribute.$?.FriendlyName]) {
        if (name !== undefined) {
          found.set(name, [...(found.get(name) ?? []), ...values]);
        }
      }
    }
  }
  return found;
}

function only(value: unknown, what: string): Element {
  const elements = list(value);
  if (elements.length !== 1 || elements[0] === undefined) {
    throw apiError('forbidden', `The SAML response must contain one ${what}.`);
  }
  return elements[0];
}

/** xml2js makes a text of an element without attributes. */
function list(value: unknown): Element[] {
  return value === undefined
    ? []
    : [value].flat().map((item) => (typeof item === 'string' ? { _: item } : (item as Element)));
}

/** Empty where there are elements inside: the text around them could be read in several ways. */
function text(element: Element): string {
  const hasElements = Object.keys(element).some((name) => name !== '$' && name !== '_');
  return hasElements ? '' : (element._ ?? '');
}
