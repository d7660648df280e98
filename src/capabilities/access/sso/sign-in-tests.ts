/**
 * Tests of single sign-on. A test runs a sign-in with given settings, which need not be in force, and records its result. It does
 * not open a session or change a member. Tests have their own table and tokens, so that the response to a test can never complete a
 * sign-in, and vice versa.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import { type Cookies, cookiesNamed, readCookie } from '../../../platform/http/message/cookies.ts';
import type { Visit } from '../../../platform/http/routes/page.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { createTokens, tokenDigest } from '../sessions/index.ts';
import type { OidcProof } from './oidc.ts';
import type { SsoConnectionRow } from './queries.ts';
import type { SsoKind } from './schema.ts';
import { findTestByDigest, insertTest, type TestRow, updateTest } from './test-queries.ts';
import type { SsoTestResult, SsoTestView } from './test-schema.ts';

const startWithinMinutes = 10;
const resultMinutes = 60;
export const testsPerOrgMax = 20;

/** Prefixes of the token that the identity provider returns. A SAML request id is an XML id, which must not start with a digit. */
const prefixes: Readonly<Record<SsoKind, string>> = { oidc: 'test_', saml: '_test_' };

/** Returns true if a state or request id belongs to a test. */
export function isTestToken(token: string, kind: SsoKind): boolean {
  return token.startsWith(prefixes[kind]);
}

export function testContext(orgId: string, id: string): string {
  return `sso test ${orgId} ${id}`;
}

interface Sealed {
  readonly connection: Omit<SsoConnectionRow, 'client_secret' | 'created_at' | 'updated_at'> & {
    /** The client secret in base64. */
    readonly client_secret: string | null;
  };
  readonly proof?: OidcProof;
}

export interface SignInTests {
  create(tx: Queryable, connection: SsoConnectionRow, now: Date): Promise<{ row: TestRow; token: string }>;
  view(row: TestRow): SsoTestView;
  connectionOf(row: TestRow): SsoConnectionRow;
  proofOf(row: TestRow): OidcProof;
  /** Returns the unstarted test of the token in the URL. */
  findPending(token: string, now: Date): Promise<TestRow>;
  /** Returns the state or request id that the identity provider must return. */
  stateOf(token: string, kind: SsoKind): string;
  /** Marks the test as started in the browser. Returns the `Set-Cookie` header. */
  start(row: TestRow, proof?: OidcProof): Promise<string>;
  /** Returns the started test of a state or request id. */
  findStarted(state: string, kind: SsoKind, now: Date): Promise<TestRow>;
  checkBrowser(visit: Pick<Visit, 'headers'>, row: TestRow): void;
  /** Stores the result. Only the first result counts. */
  finish(row: TestRow, result: SsoTestResult, now: Date): Promise<void>;
}

export interface SignInTestDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly secrets: Secrets;
  baseUrl(): string;
}

export function createSignInTests({ db, ids, secrets, baseUrl }: SignInTestDependencies): SignInTests {
  const tokens = createTokens(secrets, 'sso test');
  const cookies = (): Cookies => cookiesNamed('purser_sso_test', baseUrl());

  const seal = (value: object, orgId: string, id: string) =>
    secrets.encrypt(JSON.stringify(value), testContext(orgId, id));
  function unseal<Value>(sealed: Uint8Array, { org_id, id }: TestRow): Value {
    return JSON.parse(secrets.decrypt(sealed, testContext(org_id, id))) as Value;
  }
  const later = (now: Date, minutes: number) => new Date(now.getTime() + minutes * 60_000);

  async function find(token: string, status: TestRow['status'], now: Date): Promise<TestRow> {
    const row = tokens.isOurs(token) ? await findTestByDigest(db, tokenDigest(token), now) : undefined;
    if (row?.status !== status) {
      throw apiError('not_found', 'This test has expired or was already used. Start another one.');
    }
    return row;
  }

  return {
    async create(tx, connection, now) {
      const token = tokens.issue();
      const id = ids.next('sst');
      const { created_at: _, updated_at: __, client_secret, ...settings } = connection;
      const secret = client_secret === null ? null : Buffer.from(client_secret).toString('base64');
      const row: TestRow = {
        org_id: connection.org_id,
        id,
        digest: tokenDigest(token),
        kind: connection.kind,
        status: 'pending',
        sealed: seal({ connection: { ...settings, client_secret: secret } }, connection.org_id, id),
        browser_digest: null,
        result: null,
        created_at: now,
        expires_at: later(now, startWithinMinutes),
      };
      await insertTest(tx, row);
      return { row, token };
    },
    view: (row) => ({
      id: row.id,
      kind: row.kind,
      status: row.status,
      result: row.result === null ? null : unseal<SsoTestResult>(row.result, row),
      created_at: row.created_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
    }),
    connectionOf(row) {
      const { connection } = unseal<Sealed>(row.sealed, row);
      const { client_secret } = connection;
      return {
        ...connection,
        client_secret: client_secret === null ? null : Buffer.from(client_secret, 'base64'),
        created_at: row.created_at,
        updated_at: row.created_at,
      };
    },
    proofOf: (row) => unseal<Required<Sealed>>(row.sealed, row).proof,
    findPending: (token, now) => find(token, 'pending', now),
    stateOf: (token, kind) => prefixes[kind] + token,
    async start(row, proof) {
      const browser = tokens.issue();
      const sealed = { ...unseal<Sealed>(row.sealed, row), ...(proof && { proof }) };
      const started = {
        ...row,
        status: 'started',
        sealed: seal(sealed, row.org_id, row.id),
        browser_digest: tokenDigest(browser),
      } as const;
      if (!(await updateTest(db, started, 'pending'))) {
        throw apiError('not_found', 'This test has expired or was already used. Start another one.');
      }
      return cookies().set(browser, startWithinMinutes * 60);
    },
    findStarted: (state, kind, now) => find(state.slice(prefixes[kind].length), 'started', now),
    checkBrowser({ headers }, { browser_digest }) {
      const browser = readCookie(headers.cookie, cookies().name);
      if (browser === undefined || tokenDigest(browser) !== browser_digest) {
        throw apiError(
          'forbidden',
          'This test was started in another browser. Start another one in this browser.',
        );
      }
    },
    async finish(row, result, now) {
      const finished = {
        ...row,
        status: 'finished',
        // The settings and the browser are no longer needed.
        sealed: seal({}, row.org_id, row.id),
        browser_digest: null,
        result: seal(result, row.org_id, row.id),
        expires_at: later(now, resultMinutes),
      } as const;
      await updateTest(db, finished, row.status);
    },
  };
}
