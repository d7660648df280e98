/** The steps of a single sign-on test in the browser: to the identity provider, back, and to the result. */
import { ApiError, apiError, found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { rolledBack } from '../../../platform/db/rolled-back.ts';
import { type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Log } from '../../../platform/log.ts';
import type { SamlThread } from '../../../platform/saml/saml-thread.ts';
import { findMemberOf, recognizeMember } from '../members/index.ts';
import { findOrg, findOrgBySlug } from '../orgs/index.ts';
import { checkResponseText } from './assertion.ts';
import { serviceUrls } from './connection.ts';
import type { Oidc } from './oidc.ts';
import { type Person, rulesFor } from './person.ts';
import type { SsoConnectionRow } from './queries.ts';
import { authorizeUrl, personOf, verifyResponse } from './saml.ts';
import { causeOf } from './sign-in-failures.ts';
import type { SignInTests } from './sign-in-tests.ts';
import type { TestRow } from './test-queries.ts';
import type { SsoTestResult } from './test-schema.ts';

export interface TestPageDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly log: Log;
  readonly oidc: Oidc;
  readonly samlThread: SamlThread;
  readonly tests: SignInTests;
  baseUrl(): string;
}

export interface TestPages {
  start(visit: Visit): Promise<PageAnswer>;
  /** Finishes an OIDC test. `slug` is that of the org in the callback URL. */
  finishOidc(visit: Visit, state: string, slug?: string): Promise<PageAnswer>;
  finishSaml(visit: Visit, requestId: string, response: string): Promise<PageAnswer>;
}

/** Maximum size of the stored claims. Further claims are left out, because an identity provider may send thousands of groups. */
const claimsBytesMax = 32_768;
const detailLengthMax = 500;

const noPerson = {
  subject: null,
  email: null,
  name: null,
  groups: [],
  role: null,
  member: null,
  claims: {},
} as const;

/** The person that the identity provider identified, with its claims. */
interface Statement {
  readonly person: Person;
  readonly claims: Readonly<Record<string, unknown>>;
}

export function createTestPages({
  db,
  ids,
  log,
  oidc,
  samlThread,
  tests,
  baseUrl,
}: TestPageDependencies): TestPages {
  async function urlsOf({ org_id, kind }: TestRow) {
    const org = found(await findOrg(db, org_id), 'Single sign-on is not available at this address.');
    return serviceUrls(baseUrl(), org.slug, kind);
  }

  /** Runs `work`, stores its result or failure, and redirects to the result. */
  async function concluding(
    visit: Visit,
    row: TestRow,
    work: () => Promise<SsoTestResult>,
  ): Promise<PageAnswer> {
    let result: SsoTestResult;
    try {
      result = await work();
    } catch (error) {
      log.info({ traceId: visit.traceId, reason: causeOf(error) }, 'test of single sign-on failed');
      result = failure(error);
    }
    await tests.finish(row, result, visit.now);
    return redirectTo(`/console/settings/sso?test=${row.id}`);
  }

  /** Recognizes the person as a sign-in would, then rolls everything back. */
  async function preview(
    connection: SsoConnectionRow,
    { person, claims }: Statement,
    now: Date,
  ): Promise<SsoTestResult> {
    const { subject, email = null, name = null, groups } = person;
    const said = { ...noPerson, subject, email, name, groups: [...groups], claims: bounded(claims) };
    const rules = rulesFor(person, connection);
    if (rules instanceof ApiError) {
      return { ...said, outcome: 'refused', reason: rules.message, detail: null };
    }
    const identity = { ...person, orgId: connection.org_id };
    try {
      const { role, member } = await rolledBack(db, async (tx) => {
        const before = await findMemberOf(tx, identity);
        const { member } = await recognizeMember(tx, ids, now, identity, rules);
        return { role: member.role, member: before?.removed_at === null ? 'existing' : 'new' } as const;
      });
      return { ...said, outcome: 'allowed', reason: null, detail: null, role, member };
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      return { ...said, outcome: 'refused', reason: error.message, detail: null };
    }
  }

  return {
    async start(visit) {
      const token = visit.params.token ?? '';
      const row = await tests.findPending(token, visit.now);
      const connection = tests.connectionOf(row);
      const urls = await urlsOf(row);
      const state = tests.stateOf(token, row.kind);
      if (row.kind === 'saml') {
        const url = await authorizeUrl(connection, urls, state);
        return redirectTo(url, { 'set-cookie': await tests.start(row) });
      }
      let begun: Awaited<ReturnType<Oidc['begin']>>;
      try {
        begun = await oidc.begin(connection, state, urls);
      } catch (error) {
        return concluding(visit, row, () => Promise.reject(error));
      }
      return redirectTo(begun.url.href, { 'set-cookie': await tests.start(row, begun.proof) });
    },
    async finishOidc(visit, state, slug) {
      const row = await tests.findStarted(state, 'oidc', visit.now);
      tests.checkBrowser(visit, row);
      if (slug !== undefined && (await findOrgBySlug(db, slug))?.id !== row.org_id) {
        throw apiError('not_found', 'Single sign-on is not available at this address.');
      }
      return concluding(visit, row, async () => {
        const connection = tests.connectionOf(row);
        const currentUrl = new URL(`${baseUrl()}${visit.url}`);
        const statement = await oidc.finish(connection, currentUrl, state, tests.proofOf(row));
        return preview(connection, statement, visit.now);
      });
    },
    async finishSaml(visit, requestId, response) {
      const row = await tests.findStarted(requestId, 'saml', visit.now);
      if ((await findOrgBySlug(db, visit.params.org_slug ?? ''))?.id !== row.org_id) {
        throw apiError('not_found', 'Single sign-on is not available at this address.');
      }
      return concluding(visit, row, async () => {
        const connection = tests.connectionOf(row);
        const urls = await urlsOf(row);
        checkResponseText(response, urls.acsUrl);
        const assertion = await verifyResponse(samlThread, connection, urls, response);
        if (assertion.requestId !== requestId) {
          throw apiError('forbidden', 'The SAML response does not name its request.');
        }
        const claims = Object.fromEntries(assertion.attributes);
        return preview(connection, { person: personOf(connection, assertion), claims }, visit.now);
      });
    },
  };
}

function failure(error: unknown): SsoTestResult {
  const isKnown = error instanceof ApiError;
  return {
    ...noPerson,
    groups: [],
    outcome: 'failed',
    reason: isKnown ? error.message : 'The identity provider cannot be reached, or its answer is invalid.',
    detail: isKnown ? null : causeOf(error).slice(0, detailLengthMax),
  };
}

function bounded(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  let left = claimsBytesMax;
  return Object.fromEntries(
    Object.entries(claims).filter(([name, value]) => {
      left -= Buffer.byteLength(JSON.stringify([name, value]));
      return left >= 0;
    }),
  );
}
