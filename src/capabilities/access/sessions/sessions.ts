/**
 * Life cycle of a session. A sign-in opens it. It ends when its time is over, when it is ended explicitly, or when its holder may
 * no longer sign in. Each request reads it from the database together with its holder, so that a revocation takes effect
 * immediately in every process. Console requests are rare compared to API calls.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { OrgRole, Role } from '../../../contract/scopes.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import { type Cookies, cookiesNamed, readCookie } from '../../../platform/http/message/cookies.ts';
import type { FoundSession, SessionFinder } from '../../../platform/http/pipeline/found-session.ts';
import { type CallerSession, type Credential, platformTenant } from '../../../platform/http/routes/access.ts';
import { memberScopes } from '../../../platform/http/routes/granting.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import { attributionOf, credentialOrg, memberAttribution } from '../keys/index.ts';
import {
  findSessionByDigest,
  type HeldSessionRow,
  insertSession,
  lockSession,
  type SessionRow,
  touchSession,
} from './queries.ts';
import type { SessionMethod, SessionStatus, SessionView } from './schema.ts';
import { createTokens, tokenDigest } from './token.ts';

const userAgentMax = 500;
/** Minimum interval between two updates of the last use. It is shorter if the idle time is short. */
const touchEverySeconds = 60;

export interface SessionLifetimes {
  readonly sessionIdleSeconds: number;
  readonly sessionMaxSeconds: number;
}

export interface SessionDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly lifetimes: SessionLifetimes;
  /** Region of this process; undefined if residency is off. */
  readonly region: string | undefined;
  baseUrl(): string;
}

/** Holder of the new session, and the sign-in method. */
export interface SessionOpening {
  readonly tenantId: string;
  readonly method: SessionMethod;
  readonly holder: { readonly keyId: string; readonly role?: OrgRole } | { readonly memberId: string };
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly now: Date;
  /** Latest end of the session; undefined: only the settings limit it. */
  readonly endsAt?: Date | undefined;
}

export interface OpenedSession {
  readonly session: SessionRow;
  readonly credential: Credential;
  /** The `Set-Cookie` header value. */
  readonly cookie: string;
}

export interface Sessions extends SessionFinder {
  open(tx: Transaction, opening: SessionOpening): Promise<OpenedSession>;
  /** Locks and returns the session of the presented cookie; undefined if no active session matches. */
  lockActive(
    tx: Transaction,
    cookieHeader: string | undefined,
    now: Date,
  ): Promise<HeldSessionRow | undefined>;
  readonly idleSeconds: number;
}

export function createSessions({
  db,
  ids,
  secrets,
  lifetimes,
  region,
  baseUrl,
}: SessionDependencies): Sessions {
  const { sessionIdleSeconds: idleSeconds, sessionMaxSeconds: maxSeconds } = lifetimes;
  const tokens = createTokens(secrets, 'session');
  const cookies = (): Cookies => cookiesNamed('purser_session', baseUrl());

  return {
    idleSeconds,
    clearCookie: () => cookies().clear(),
    async find(cookieHeader, now): Promise<FoundSession> {
      const token = readCookie(cookieHeader, cookies().name);
      if (token === undefined || token === '') {
        return { kind: 'none' };
      }
      if (!tokens.isOurs(token)) {
        return { kind: 'unknown' };
      }
      const session = await findSessionByDigest(db, idleSeconds, tokenDigest(token));
      if (session === undefined || sessionStatus(session, now) !== 'active') {
        return { kind: 'ended' };
      }
      await touch(db, session, now, Math.min(touchEverySeconds, idleSeconds / 4));
      return { kind: 'live', credential: credentialOf(session, region) };
    },
    async lockActive(tx, cookieHeader, now) {
      const token = readCookie(cookieHeader, cookies().name);
      if (token === undefined || !tokens.isOurs(token)) {
        return undefined;
      }
      const found = await findSessionByDigest(tx, idleSeconds, tokenDigest(token));
      const locked = found && (await lockSession(tx, idleSeconds, found.tenant_id, found.id));
      return locked !== undefined && sessionStatus(locked, now) === 'active' ? locked : undefined;
    },
    async open(tx, opening) {
      const { tenantId, method, holder, address, userAgent, now, endsAt } = opening;
      const secondsLeft = endsAt === undefined ? maxSeconds : (endsAt.getTime() - now.getTime()) / 1_000;
      const seconds = Math.min(maxSeconds, Math.max(0, Math.floor(secondsLeft)));
      const token = tokens.issue();
      const session: SessionRow = {
        tenant_id: tenantId,
        id: ids.next('ses'),
        digest: tokenDigest(token),
        method,
        key_id: 'keyId' in holder ? holder.keyId : null,
        member_id: 'memberId' in holder ? holder.memberId : null,
        role: ('role' in holder ? holder.role : undefined) ?? null,
        address,
        user_agent: (userAgent ?? '').slice(0, userAgentMax).toWellFormed(),
        created_at: now,
        last_seen_at: now,
        expires_at: new Date(now.getTime() + seconds * 1_000),
        ended_at: null,
      };
      await insertSession(tx, session);
      const held = await findSessionByDigest(tx, idleSeconds, session.digest);
      if (held === undefined || sessionStatus(held, now) !== 'active') {
        throw apiError('gone', 'The holder of this session may no longer sign in.');
      }
      return { session, credential: credentialOf(held, region), cookie: cookies().set(token, seconds) };
    },
  };
}

/**
 * Stores the last use. Errors of a database that cannot be written, because its disk is almost full, are ignored, so that reads
 * still work.
 */
async function touch(db: Queryable, session: SessionRow, now: Date, everySeconds: number): Promise<void> {
  if (now.getTime() - session.last_seen_at.getTime() < everySeconds * 1_000) {
    return;
  }
  try {
    await touchSession(db, session, now);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) {
      throw error;
    }
  }
}

export function sessionStatus(session: HeldSessionRow, now: Date): SessionStatus {
  const { ended_at, key_revoked_at, key_ends_at, member_removed_at } = session;
  if (
    ended_at !== null ||
    (session.key_role === null && session.member_role === null) ||
    key_revoked_at !== null ||
    member_removed_at !== null ||
    (key_ends_at !== null && key_ends_at <= now)
  ) {
    return 'revoked';
  }
  return session.over_at <= now ? 'expired' : 'active';
}

/** Returns the id of the key or member that holds the session. */
export function holderOf({ key_id, member_id }: SessionRow): string {
  return key_id ?? member_id ?? '';
}

export function actorKindOf({ member_id, key_role }: HeldSessionRow): CallerSession['actor'] {
  return member_id !== null ? 'member' : key_role === 'operator' ? 'operator' : 'key';
}

/** Returns the role of a session; the lowest role if its holder no longer exists. */
function roleOf({ role, key_role, member_role }: HeldSessionRow): Role {
  return role ?? key_role ?? member_role ?? 'viewer';
}

/**
 * Returns the credential of a session. Role and scopes are the current ones of the holder, except for an operator who entered an
 * org by a link: then the role is the link's. Members and such operators have every scope.
 */
function credentialOf(session: HeldSessionRow, region: string | undefined): Credential {
  const { tenant_id, key_scopes, role } = session;
  return {
    keyId: holderOf(session),
    role: roleOf(session),
    scopes: role === null && key_scopes !== null ? new Set(key_scopes) : memberScopes,
    notBefore: null,
    expiresAt: null,
    revoked: false,
    endsAt: null,
    org: tenant_id === platformTenant ? null : credentialOrg(tenant_id, session, region),
    attribution:
      session.member_id === null
        ? attributionOf(session.key_attribution ?? {}, session.key_attribution_locked ?? [])
        : memberAttribution(session.member_id),
    session: { id: session.id, actor: actorKindOf(session), name: holderName(session) },
  };
}

function holderName({ key_name, member_name }: HeldSessionRow): string {
  return key_name ?? member_name ?? '';
}

/** Returns the view of a session. `currentId` is the session of the request, if any. */
export function viewSession(session: HeldSessionRow, now: Date, currentId?: string): SessionView {
  return {
    id: session.id,
    method: session.method,
    key_id: session.key_id,
    member_id: session.member_id,
    name: holderName(session),
    role: roleOf(session),
    address: session.address,
    user_agent: session.user_agent,
    status: sessionStatus(session, now),
    current: session.id === currentId,
    created_at: session.created_at.toISOString(),
    last_seen_at: session.last_seen_at.toISOString(),
    expires_at: session.over_at.toISOString(),
    ended_at: session.ended_at?.toISOString() ?? null,
  };
}
