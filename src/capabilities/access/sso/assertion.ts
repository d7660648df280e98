/**
 * Checks of a SAML response beyond its signature. Attacks on SAML hide a second meaning in a document: a second assertion next to
 * the signed one, a comment that splits a name, or an entity that expands. So the text must be plain XML: one response, one
 * assertion, and no markup that identity providers do not need, such as comments and document types. Values are then read from the
 * signed bytes only.
 */
import { apiError } from '../../../contract/api-error.ts';
import { textOf } from './person.ts';

/**
 * Limits of a response, which are large enough for a few hundred groups. Parsing time grows faster than the number of tags and
 * attributes, so both are counted before parsing.
 */
const responseBytesMax = 65_536;
const tagsMax = 1_000;
const attributesMax = 2_000;

/**
 * Matches comments, document types and processing instructions. A bare `<` is always markup in well-formed XML, so names and values
 * cannot match.
 */
const unusualMarkup = /<[!?]/;
const declaration = /^\s*<\?xml\s[^<>]*\?>/;
/** Matches any entity except the five of XML and character references. Without a document type, no others exist. */
const unknownEntity = /&(?!amp;|lt;|gt;|quot;|apos;|#)/;
/**
 * Matches algorithm attributes. An attribute name has only one spelling, but a value may contain character references. So
 * `weakAlgorithm` also rejects every value with `&`.
 */
const algorithms = /Algorithm\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const weakAlgorithm = /&|xmldsig#(rsa-sha1|dsa-sha1|hmac-sha1|sha1)\s*$/;
const answeredRequest = /InResponseTo\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** Matches status codes. The first is the status of the response; a nested one has the detail of a failure. */
const statusCode = /<(?:[^\s<>/:]+:)?StatusCode\s[^<>]*?Value\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const destination = /<(?:[^\s<>/:]+:)?Response\s[^<>]*?Destination\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Rejects a response that is not plain XML, before it is parsed. Returns the id of the request that the response claims to answer.
 * The caller later compares it with the signed assertion.
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
  if (attributeValues(text, algorithms).some((algorithm) => weakAlgorithm.test(algorithm))) {
    throw apiError('bad_request', 'The SAML response is signed with SHA-1, which can be forged.');
  }
  if (
    count(text, 'Response') !== 1 ||
    count(text, 'Assertion') !== 1 ||
    count(text, 'EncryptedAssertion') !== 0
  ) {
    throw apiError('bad_request', 'The SAML response must contain one unencrypted assertion.');
  }
  // Status and destination need not be signed. They state the intention of an honest identity provider, so a response that fails
  // these checks is rejected even if its assertion is signed.
  if (attributeValues(text, statusCode)[0] !== success) {
    throw apiError('forbidden', 'The identity provider did not complete the sign-in.');
  }
  if (attributeValues(text, destination).some((url) => url !== acsUrl)) {
    throw apiError('forbidden', 'The SAML response is addressed to another URL.');
  }
  const [requestId, ...others] = new Set(attributeValues(text, answeredRequest));
  if (requestId === undefined || others.length > 0) {
    throw apiError('forbidden', 'The SAML response does not name its request.');
  }
  return requestId;
}

/**
 * Returns the id of the request that an unchecked response claims to answer; undefined if there is none. It only decides which
 * checks follow.
 */
export function claimedRequestId(base64: string): string | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length > responseBytesMax
    ? undefined
    : attributeValues(bytes.toString('latin1'), answeredRequest)[0];
}

function attributeValues(text: string, attribute: RegExp): string[] {
  return [...text.matchAll(attribute)].map(([, double, single]) => double ?? single ?? '');
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw apiError('bad_request', 'The SAML response is not UTF-8.');
  }
}

/** Counts the elements with this name, in any namespace. */
function count(text: string, element: string): number {
  return [...text.matchAll(new RegExp(`<([^\\s<>/:]+:)?${element}[\\s/>]`, 'g'))].length;
}

export interface Assertion {
  readonly id: string;
  /** Id of the request that the assertion answers. */
  readonly requestId: string;
  readonly notOnOrAfter: Date;
  /** Maximum duration of the session from now on; undefined if the provider sets no end. */
  readonly sessionMsMax: number | undefined;
  readonly nameId: string;
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

export interface ExpectedAssertion {
  readonly idpEntityId: string;
  readonly acsUrl: string;
  readonly now: Date;
  readonly clockSkewMs: number;
}

/** An element in the form of xml2js: attributes under `$`, text under `_`, children in lists. */
interface Element {
  readonly $?: Readonly<Record<string, string>>;
  readonly _?: string;
  readonly [child: string]: unknown;
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/** Checks and reads the assertion. `signed` is the document parsed from the signed bytes. */
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
  // node-saml checks only the expiry in the conditions, not in the subject confirmation.
  if (notOnOrAfter <= expected.now.getTime() - expected.clockSkewMs) {
    throw apiError('forbidden', 'The assertion has expired. Start again.');
  }
  const id = textOf(assertion.$?.ID);
  const name = textOf(text(nameId));
  // Rejects an assertion without `InResponseTo`, because it is unsolicited: anyone could have made the browser post it.
  if (!(notOnOrAfter > 0) || id === undefined || name === undefined || data.InResponseTo === undefined) {
    throw apiError('forbidden', 'The assertion lacks a subject, an expiry or its request.');
  }
  return {
    id,
    requestId: data.InResponseTo,
    notOnOrAfter: new Date(notOnOrAfter),
    sessionMsMax: sessionMsMax(assertion, expected),
    nameId: name,
    attributes: attributesOf(assertion),
  };
}

/** Returns the remaining duration of the session at the identity provider. Throws if that session has ended. */
function sessionMsMax(assertion: Element, { now, clockSkewMs }: ExpectedAssertion): number | undefined {
  const ends = list(assertion.AuthnStatement).flatMap(({ $ }) => $?.SessionNotOnOrAfter ?? []);
  if (ends.length === 0) {
    return undefined;
  }
  const msLeft = Math.min(...ends.map(Date.parse)) + clockSkewMs - now.getTime();
  if (msLeft <= 0) {
    throw apiError('forbidden', 'Your session at the identity provider has ended. Start again.');
  }
  return msLeft;
}

const timeAttributes = new Set([
  'NotBefore',
  'NotOnOrAfter',
  'IssueInstant',
  'AuthnInstant',
  'SessionNotOnOrAfter',
]);
/** Requires a year of four digits. A time after the year 9999 is an error and could not be stored. */
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/;

/** Checks the times of the element and of all its descendants. */
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

/** Returns the elements as a list. xml2js returns an element without attributes as a string. */
function list(value: unknown): Element[] {
  return value === undefined
    ? []
    : [value].flat().map((item) => (typeof item === 'string' ? { _: item } : (item as Element)));
}

/** Returns the text of an element; empty if it has child elements, because the text around them would be ambiguous. */
function text(element: Element): string {
  const hasElements = Object.keys(element).some((name) => name !== '$' && name !== '_');
  return hasElements ? '' : (element._ ?? '');
}
