/**
 * A sign-in in progress. It is started in a browser, which gets a cookie, and is completed once in the same browser, by any
 * process. So neither a stolen response of the identity provider nor a response that someone else sends can open a session.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { type Cookies, cookiesNamed, readCookie } from '../../../platform/http/message/cookies.ts';
import type { Visit } from '../../../platform/http/routes/page.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { createTokens, tokenDigest } from '../sessions/index.ts';
import { type AttemptRow, insertAttempt, takeAttempt } from './queries.ts';
import type { SsoKind } from './schema.ts';

const attemptMinutes = 10;
/** Lifetime of a ticket. Between assertion and session there is a redirect, or a page with a button that the person reads. */
const ticketSeconds = 120;

export interface SignInsDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  baseUrl(): string;
}

export interface Begun extends Pick<AttemptRow, 'org_id' | 'issuer' | 'return_to'> {
  readonly kind: SsoKind;
  /** Token that the identity provider returns. */
  readonly token: string;
  /** Values to verify the response, stored encrypted. */
  readonly proof?: object;
}

/** The person that the identity provider identified. */
export interface RecognizedPerson {
  readonly memberId: string;
  /** End of the session to open, if the identity provider sets one. */
  readonly sessionEndsAt?: Date | undefined;
}

export interface SignIns {
  newToken(kind: SsoKind): string;
  /** Stores the attempt. Returns the `Set-Cookie` header with the browser's cookie. */
  begin(visit: Visit, begun: Begun): Promise<string>;
  /**
   * Consumes the attempt of `token`. Rejects an attempt that has expired, was used or is of another kind. An attempt of an org
   * other than `orgId` is rejected but not consumed.
   */
  take(token: string, kind: AttemptRow['kind'], now: Date, orgId?: string): Promise<AttemptRow>;
  checkBrowser(visit: Pick<Visit, 'headers'>, attempt: AttemptRow): void;
  proofOf<Proof>(attempt: AttemptRow): Proof;
  /** Continues an attempt after the person was identified. Returns the token for the next step. */
  makeTicket(attempt: AttemptRow, person: RecognizedPerson, now: Date): Promise<string>;
  personOf(ticket: AttemptRow): RecognizedPerson;
}

/** Returns the prefix of a token. A SAML token is used as an XML id, which must not start with a digit. */
function prefixOf(kind: AttemptRow['kind']): string {
  return kind === 'saml' ? '_' : '';
}

export function createSignIns({ db, secrets, baseUrl }: SignInsDependencies): SignIns {
  const tokens = createTokens(secrets, 'sso');
  const cookies = (): Cookies => cookiesNamed('purser_sign_in', baseUrl());

  function browserOf({ headers }: Pick<Visit, 'headers'>): string | undefined {
    const token = readCookie(headers.cookie, cookies().name);
    return token !== undefined && tokens.isOurs(token) ? token : undefined;
  }

  const seal = (value: object, orgId: string) =>
    secrets.encrypt(JSON.stringify(value), attemptContext(orgId));
  function unseal<Value>({ sealed, org_id }: AttemptRow): Value {
    return JSON.parse(secrets.decrypt(sealed ?? new Uint8Array(), attemptContext(org_id))) as Value;
  }

  return {
    newToken: (kind) => prefixOf(kind) + tokens.issue(),
    async begin(visit, { token, proof, ...begun }) {
      // All attempts of a browser share one cookie, because several tabs may be signing in.
      const browser = browserOf(visit) ?? tokens.issue();
      await insertAttempt(db, {
        ...begun,
        digest: tokenDigest(token),
        sealed: proof === undefined ? null : seal(proof, begun.org_id),
        browser_digest: tokenDigest(browser),
        member_id: null,
        expires_at: new Date(visit.now.getTime() + attemptMinutes * 60_000),
      });
      return cookies().set(browser, attemptMinutes * 60);
    },
    async take(token, kind, now, orgId) {
      const prefix = prefixOf(kind);
      // Tokens that this service did not issue need no query.
      const isOurs = token.startsWith(prefix) && tokens.isOurs(token.slice(prefix.length));
      const attempt = isOurs ? await takeAttempt(db, tokenDigest(token), orgId) : undefined;
      if (attempt === undefined || attempt.kind !== kind || attempt.expires_at <= now) {
        throw apiError(
          'forbidden',
          'This sign-in has expired, was already used, or was not started here. Start again.',
        );
      }
      return attempt;
    },
    checkBrowser(visit, { browser_digest }) {
      const browser = browserOf(visit);
      if (browser === undefined || tokenDigest(browser) !== browser_digest) {
        throw apiError('forbidden', 'This sign-in was started in another browser. Start again in this one.');
      }
    },
    proofOf: (attempt) => unseal(attempt),
    async makeTicket(attempt, { memberId, sessionEndsAt }, now) {
      const ticket = tokens.issue();
      await insertAttempt(db, {
        ...attempt,
        kind: 'ticket',
        digest: tokenDigest(ticket),
        sealed: sessionEndsAt === undefined ? null : seal({ sessionEndsAt }, attempt.org_id),
        member_id: memberId,
        expires_at: new Date(now.getTime() + ticketSeconds * 1_000),
      });
      return ticket;
    },
    personOf(ticket) {
      const sealed: { sessionEndsAt?: string } = ticket.sealed === null ? {} : unseal(ticket);
      return {
        memberId: ticket.member_id ?? '',
        sessionEndsAt: sealed.sessionEndsAt === undefined ? undefined : new Date(sealed.sessionEndsAt),
      };
    },
  };
}

export function attemptContext(orgId: string): string {
  return `sso attempt ${orgId}`;
}
