/**
 * The page on which a person approves the sign-in of a tool (RFC 8628 §3.3). It is never submitted by itself, and says who asks,
 * from where, and what approving means.
 */
import { timingSafeEqual } from 'node:crypto';
import { type ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { checkCredentialActive, checkResidency } from '../../../platform/http/routes/access.ts';
import type { Page, PageAnswer, Visit } from '../../../platform/http/routes/page.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { findOrgBySlug, lockOrg, type OrgRow } from '../orgs/index.ts';
import { errorMessage, type Sessions, signInAnswer } from '../sessions/index.ts';
import { findConnection } from '../sso/index.ts';
import { mayUseTools, type ToolSignIns } from '../tool-sign-ins/index.ts';
import { verificationPath } from './base-urls.ts';
import { normalizedUserCode } from './codes.ts';
import { type DeviceCodeRow, findByUserCode, lockDeviceCode, updateDeviceCode } from './queries.ts';

/** Maximum number of wrong codes per minute, of an address and of a member. */
const wrongCodesPerMinuteMax = 10;

export interface VerificationPageDependencies extends Appending {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'signer'>;
  readonly sessions: Sessions;
  readonly signIns: ToolSignIns;
  digestOfUserCode(userCode: string): string;
}

/** The signed-in member who visits the page. */
interface Approver {
  readonly memberId: string;
  readonly name: string;
  readonly sessionId: string;
}

export function verificationPages(deps: VerificationPageDependencies): Page[] {
  const { db, clock, sessions, signIns, digestOfUserCode } = deps;
  const sign = deps.secrets.signer('device approval');
  const wrongCodes = new AuthBackoff(wrongCodesPerMinuteMax, clock);
  /** Proves that the page with this code was shown in this session. */
  const confirmationOf = ({ sessionId }: Approver, { id }: DeviceCodeRow) =>
    sign(`${sessionId} ${id}`).toString('base64url');

  async function requireOrg(visit: Visit): Promise<OrgRow> {
    const org = await findOrgBySlug(db, visit.params.org_slug ?? '');
    if (org === undefined) {
      throw apiError('not_found', 'There is no sign-in for tools at this address.');
    }
    return org;
  }

  /** Returns the member, or the page that asks to sign in. Throws if the person is signed in but may not approve. */
  async function approverOf(visit: Visit, org: OrgRow): Promise<Approver | PageAnswer> {
    const found = await sessions.find(visit.headers.cookie, visit.now);
    if (found.kind !== 'live') {
      return signInFirst(visit, org, undefined);
    }
    const { credential } = found;
    const { session } = credential;
    if (session?.actor !== 'member' || credential.org?.id !== org.id) {
      return signInFirst(
        visit,
        org,
        `You are signed in as ${session?.name ?? 'somebody else'}. Only a member of ${org.name} can approve this sign-in.`,
      );
    }
    checkCredentialActive(credential, visit.address, visit.now);
    checkResidency(credential.org);
    if (credential.role === 'operator' || !mayUseTools(credential.role)) {
      throw apiError(
        'forbidden',
        'Your role does not permit calls to models. Ask an owner of your organization.',
      );
    }
    return { memberId: credential.keyId, name: session.name, sessionId: session.id };
  }

  async function signInFirst(visit: Visit, org: OrgRow, problem: string | undefined): Promise<PageAnswer> {
    const returnTo = encodeURIComponent(addressOf(org, visit.query.get('user_code') ?? ''));
    const hasSso = (await findConnection(db, org.id)) !== undefined;
    const path = hasSso ? `/sso/${encodeURIComponent(org.slug)}/login` : '/console/login';
    const link = `<a class="button" href="${escapeHtml(`${path}?return_to=${returnTo}`)}">Sign in to ${escapeHtml(org.name)}</a>`;
    const withoutSso =
      '<p>Sign in to the console with the link of your invitation, in this browser. Then open this page again.</p>';
    return signInAnswer(visit, {
      status: problem === undefined ? 200 : 403,
      title: 'Connect a coding tool',
      main: `${errorMessage(problem)}<p>A coding tool asks to work with your account at <strong>${escapeHtml(org.name)}</strong>.
Sign in first. You will be asked again before the tool is connected.</p>${hasSso ? `<p>${link}</p>` : withoutSso}${warning}`,
    });
  }

  /** Throws if too many wrong codes were entered. Must be called before a code is looked up. */
  function limitGuesses({ address }: Visit, { memberId }: Approver): void {
    const seconds = wrongCodes.secondsToWait(address) ?? wrongCodes.secondsToWait(memberId);
    if (seconds !== undefined) {
      throw apiErrorWithDetails(
        'rate_limited',
        { retry_after_seconds: seconds },
        'Too many wrong codes. Try again in a minute.',
      );
    }
  }

  async function pendingCode(
    visit: Visit,
    org: OrgRow,
    approver: Approver,
    typed: string,
  ): Promise<{ readonly code: DeviceCodeRow; readonly userCode: string } | undefined> {
    limitGuesses(visit, approver);
    const userCode = normalizedUserCode(typed);
    const code = userCode && (await findByUserCode(db, org.id, digestOfUserCode(userCode)));
    if (!code || code.decided_at !== null || code.expires_at <= visit.now) {
      wrongCodes.failed(visit.address);
      wrongCodes.failed(approver.memberId);
      return undefined;
    }
    return { code, userCode: userCode as string };
  }

  async function show(visit: Visit): Promise<PageAnswer> {
    const org = await requireOrg(visit);
    const approver = await approverOf(visit, org);
    if ('status' in approver) {
      return approver;
    }
    const typed = visit.query.get('user_code');
    if (typed === null || typed === '') {
      return codeForm(visit, org, undefined);
    }
    const found = await pendingCode(visit, org, approver, typed);
    return found === undefined
      ? codeForm(visit, org, invalidCode)
      : confirmation(visit, org, approver, { ...found, confirmation: confirmationOf(approver, found.code) });
  }

  async function decide(visit: Visit): Promise<PageAnswer> {
    const org = await requireOrg(visit);
    const form = await visit.form();
    const approver = await approverOf(visit, org);
    if ('status' in approver) {
      return approver;
    }
    const found = await pendingCode(visit, org, approver, form.get('user_code') ?? '');
    if (found === undefined) {
      return codeForm(visit, org, invalidCode);
    }
    if (!isSame(form.get('confirmation') ?? '', confirmationOf(approver, found.code))) {
      throw apiError(
        'forbidden',
        'This page was not shown in your session. Open the link of your tool again.',
      );
    }
    const isApproved = form.get('decision') === 'approve';
    const isDone = isApproved
      ? await approve(visit, org, approver, found.code)
      : await deny(org, found.code, visit.now);
    return isDone ? done(visit, isApproved) : codeForm(visit, org, invalidCode);
  }

  /** Approves under the lock of the org, because requiring SSO ends the sessions and sign-ins that exist then. */
  async function approve(
    visit: Visit,
    org: OrgRow,
    { memberId }: Approver,
    { digest }: DeviceCodeRow,
  ): Promise<boolean> {
    const { now, address, traceId, headers } = visit;
    return db.transaction(async (tx) => {
      await lockOrg(tx, org.id);
      const session = await sessions.lockActive(tx, headers.cookie, now);
      const code = await lockDeviceCode(tx, org.id, digest);
      if (session === undefined || session.member_id !== memberId) {
        throw apiError('session_revoked', 'Your session has ended. Sign in again.');
      }
      if (code === undefined || code.decided_at !== null || code.expires_at <= now) {
        return false;
      }
      const change = await signIns.approve(tx, now, {
        org_id: org.id,
        member_id: memberId,
        session_id: session.id,
        method: session.method,
        client_id: code.client_id,
        address: code.address,
        user_agent: code.user_agent,
        expires_at: code.expires_at,
      });
      await updateDeviceCode(tx, { ...code, decided_at: now, sign_in_id: change.target.id });
      const actor = { kind: 'member', id: memberId, at: now, address, traceId } as const;
      await recordChange(tx, deps, actor, 'tool_sign_ins.approve', change);
      return true;
    });
  }

  async function deny(org: OrgRow, { digest }: DeviceCodeRow, now: Date): Promise<boolean> {
    return db.transaction(async (tx) => {
      const code = await lockDeviceCode(tx, org.id, digest);
      if (code === undefined || code.decided_at !== null) {
        return false;
      }
      await updateDeviceCode(tx, { ...code, decided_at: now });
      return true;
    });
  }

  const path = '/console/device/{org_slug}';
  return [
    { path, handler: show, refused },
    { method: 'POST', path, handler: decide, refused },
  ];
}

const invalidCode =
  'This code is not valid, was already used, or has expired. Start the sign-in in your tool again.';
const warning = `<p class="soft">Only continue if you started this sign-in yourself, just now, on your own computer. Nobody will ever send you
a code or a link to this page and ask you to approve it: a person who does wants to work in your name.</p>`;

function addressOf({ slug }: OrgRow, typed: string): string {
  const userCode = normalizedUserCode(typed);
  return verificationPath(slug) + (userCode === undefined ? '' : `?user_code=${userCode}`);
}

function codeForm(visit: Visit, org: OrgRow, problem: string | undefined): PageAnswer {
  return signInAnswer(visit, {
    status: problem === undefined ? 200 : 422,
    title: 'Connect a coding tool',
    main: `${errorMessage(problem)}
<form method="get" action="${verificationPath(org.slug)}">
<label for="user_code">Code</label>
<input id="user_code" name="user_code" required autocomplete="off" autocapitalize="characters" spellcheck="false" aria-describedby="code-help">
<p id="code-help" class="soft">Eight letters that your coding tool shows, such as <code>WDJB-MJHT</code>.</p>
<button>Continue</button>
</form>${warning}`,
  });
}

interface Confirmed {
  readonly code: DeviceCodeRow;
  readonly userCode: string;
  readonly confirmation: string;
}

function confirmation(
  visit: Visit,
  org: OrgRow,
  { name }: Approver,
  { code, userCode, confirmation: proof }: Confirmed,
): PageAnswer {
  const isElsewhere = code.address !== visit.address;
  const rows = [
    ['Tool', code.client_id === '' ? 'not stated' : code.client_id],
    ['Address of the tool', code.address],
    ['Program', code.user_agent === '' ? 'unknown' : code.user_agent],
    ['Requested at', code.created_at.toISOString()],
    ['Organization', org.name],
    ['Your account', name],
  ].map(([label = '', value = '']) => `<dt>${label}</dt><dd>${escapeHtml(value)}</dd>`);
  return signInAnswer(visit, {
    title: 'Connect a coding tool?',
    main: `<p>Does your tool show this code?</p>
<p class="user-code"><strong>${userCode}</strong></p>
${
  isElsewhere
    ? errorMessage(
        `The tool is at another address (${code.address}) than this browser (${visit.address}). Do not approve unless you know why.`,
      )
    : ''
}<dl>${rows.join('')}</dl>
<p>The tool will call models in your name. What it spends counts in your limits. It cannot change settings or read data of others.
You can end its access at any time under Settings, Tool sign-ins.</p>
${warning}
<form method="post" action="${verificationPath(org.slug)}">
<input type="hidden" name="user_code" value="${userCode}">
<input type="hidden" name="confirmation" value="${proof}">
<button name="decision" value="deny">No, reject it</button>
<button name="decision" value="approve">Yes, connect this tool</button>
</form>`,
  });
}

function done(visit: Visit, isApproved: boolean): PageAnswer {
  return signInAnswer(visit, {
    title: isApproved ? 'Tool connected' : 'Sign-in rejected',
    main: isApproved
      ? '<p>Go back to your tool. You can close this page.</p><p><a href="/console">Open the console</a></p>'
      : '<p>The tool was not connected. If you did not start this sign-in, tell an administrator of your organization.</p>',
  });
}

function refused(error: ApiError, visit: Omit<Visit, 'query' | 'form'>): PageAnswer {
  const { status, message, details } = error;
  const seconds = (details as { retry_after_seconds?: number }).retry_after_seconds;
  return signInAnswer(visit, {
    status,
    title: 'The tool was not connected',
    main: errorMessage(message),
    ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
  });
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
