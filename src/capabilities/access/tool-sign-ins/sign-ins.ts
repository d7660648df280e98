/**
 * Life cycle of the sign-in of a coding tool: approved by a member in the browser, redeemed by the tool, renewed with each refresh
 * token, ended. The state and the role of the member are checked at each step, and with each request (`credentials.ts`).
 */
import type { OrgRole } from '../../../contract/scopes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { outranks } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import {
  findToken,
  type HeldToolSignInRow,
  insertSignIn,
  insertToken,
  lockSignIn,
  lockToken,
  memberAccessChanged,
  type ToolSignInRow,
  updateRenewal,
  updateSignInEnd,
  useToken,
} from './queries.ts';
import type { EndReason, ToolSignInStatus, ToolSignInView } from './schema.ts';
import { createTokenDerivation, isRefreshToken, type ToolTokens, toolTokenDigest } from './tokens.ts';

/** The lowest role that may call models. */
const requiredRole: OrgRole = 'member';
/** Time in which a used refresh token returns the same tokens again, for tools that lost the response or that renew twice at once. */
const repeatSeconds = 30;

export interface ToolSignInDependencies {
  readonly ids: Ids;
  readonly secrets: Pick<Secrets, 'signer'>;
  readonly lifetimes: { readonly toolTokenSeconds: number; readonly toolSignInMaxSeconds: number };
}

/** The sign-in to approve. It expires with the device code unless the tool redeems it before. */
export type NewSignIn = Pick<
  ToolSignInRow,
  'org_id' | 'member_id' | 'session_id' | 'method' | 'client_id' | 'address' | 'user_agent' | 'expires_at'
>;

export interface IssuedTokens extends ToolTokens {
  readonly signIn: HeldToolSignInRow;
  readonly expiresInSeconds: number;
}

export interface Renewal {
  /** Undefined if the tool must sign in again. */
  readonly issued?: IssuedTokens;
  /** The end of the sign-in, if this renewal ended it. */
  readonly ended?: Change;
}

export interface ToolSignIns {
  /** Stores an approved sign-in. */
  approve(tx: Transaction, now: Date, signIn: NewSignIn): Promise<Change>;
  /** Issues the first tokens of an approved sign-in; undefined if it was ended, or its member may not use it anymore. */
  redeem(tx: Transaction, now: Date, request: RedeemRequest): Promise<IssuedTokens | undefined>;
  /** Issues the tokens that follow a refresh token. A refresh token that was used before ends the sign-in. */
  renew(tx: Transaction, now: Date, request: RenewRequest): Promise<Renewal>;
  /** Ends the sign-in of a token of the tool. Returns undefined if there is none, or it has ended. */
  signOut(tx: Transaction, now: Date, orgId: string, token: string): Promise<SignOut | undefined>;
}

export interface RedeemRequest {
  readonly orgId: string;
  readonly signInId: string;
  readonly deviceCode: string;
}

export interface RenewRequest {
  readonly orgId: string;
  readonly refreshToken: string;
  readonly clientId: string | undefined;
}

export interface SignOut {
  readonly memberId: string;
  readonly change: Change;
}

export function signInStatus(signIn: HeldToolSignInRow, now: Date): ToolSignInStatus {
  if (signIn.ended_at !== null || signIn.member_role === null || signIn.member_removed_at !== null) {
    return 'ended';
  }
  return signIn.expires_at <= now ? 'expired' : 'active';
}

/** Returns true if a person with this role may sign in from a tool. */
export function mayUseTools(role: OrgRole): boolean {
  return !outranks(requiredRole, role);
}

export function viewSignIn(signIn: HeldToolSignInRow, now: Date): ToolSignInView {
  return {
    id: signIn.id,
    member_id: signIn.member_id,
    member_name: signIn.member_name ?? '',
    client_id: signIn.client_id,
    address: signIn.address,
    user_agent: signIn.user_agent,
    session_id: signIn.session_id,
    status: signInStatus(signIn, now),
    created_at: signIn.created_at.toISOString(),
    renewed_at: signIn.renewed_at?.toISOString() ?? null,
    expires_at: signIn.expires_at.toISOString(),
    ended_at: signIn.ended_at?.toISOString() ?? null,
    end_reason: signIn.end_reason,
  };
}

/** Ends a sign-in, in every process within a second. */
export async function endSignIn(
  tx: Transaction,
  signIn: HeldToolSignInRow,
  reason: EndReason,
  now: Date,
): Promise<Change> {
  const ended = { ...signIn, ended_at: now, end_reason: reason };
  await updateSignInEnd(tx, ended);
  await memberAccessChanged.notify(tx, signIn.member_id);
  const views = { before: viewSignIn(signIn, now), after: viewSignIn(ended, now) };
  return changeOf('tool_sign_in', signIn, views, 'tool_sign_in.ended');
}

export function createToolSignIns({ ids, secrets, lifetimes }: ToolSignInDependencies): ToolSignIns {
  const { toolTokenSeconds, toolSignInMaxSeconds } = lifetimes;
  const derive = createTokenDerivation(secrets);

  async function issue(
    tx: Transaction,
    now: Date,
    signIn: HeldToolSignInRow,
    from: string,
  ): Promise<IssuedTokens> {
    const tokens = derive(from);
    const { org_id, id: sign_in_id, expires_at } = signIn;
    const accessEnd = new Date(Math.min(now.getTime() + toolTokenSeconds * 1_000, expires_at.getTime()));
    const token = { org_id, sign_in_id, created_at: now, used_at: null };
    await insertToken(tx, {
      ...token,
      digest: toolTokenDigest(tokens.access),
      kind: 'access',
      expires_at: accessEnd,
    });
    await insertToken(tx, { ...token, digest: toolTokenDigest(tokens.refresh), kind: 'refresh', expires_at });
    return { ...tokens, signIn, expiresInSeconds: secondsUntil(accessEnd, now) };
  }

  /** Returns the tokens that this refresh token has led to, if the tool repeats its request shortly after. */
  async function repeated(
    tx: Transaction,
    now: Date,
    signIn: HeldToolSignInRow,
    refreshToken: string,
    usedAt: Date,
  ): Promise<IssuedTokens | undefined> {
    const tokens = derive(refreshToken);
    const next = await findToken(tx, signIn.org_id, toolTokenDigest(tokens.refresh));
    const access = await findToken(tx, signIn.org_id, toolTokenDigest(tokens.access));
    const isRecent = now.getTime() - usedAt.getTime() <= repeatSeconds * 1_000;
    return isRecent && next !== undefined && next.used_at === null && access !== undefined
      ? { ...tokens, signIn, expiresInSeconds: secondsUntil(access.expires_at, now) }
      : undefined;
  }

  return {
    async approve(tx, now, signIn) {
      const row: ToolSignInRow = {
        ...signIn,
        id: ids.next('tsi'),
        created_at: now,
        renewed_at: null,
        ended_at: null,
        end_reason: null,
      };
      await insertSignIn(tx, row);
      const approved = (await lockSignIn(tx, row.org_id, row.id)) as HeldToolSignInRow;
      return changeOf('tool_sign_in', row, { after: viewSignIn(approved, now) }, 'tool_sign_in.created');
    },
    async redeem(tx, now, { orgId, signInId, deviceCode }) {
      const signIn = await lockSignIn(tx, orgId, signInId);
      if (signIn === undefined || !isUsable(signIn, now)) {
        return undefined;
      }
      const expires_at = new Date(now.getTime() + toolSignInMaxSeconds * 1_000);
      const redeemed = { ...signIn, renewed_at: now, expires_at };
      await updateRenewal(tx, redeemed);
      return issue(tx, now, redeemed, deviceCode);
    },
    async renew(tx, now, { orgId, refreshToken, clientId }) {
      const token = isRefreshToken(refreshToken)
        ? await lockToken(tx, orgId, toolTokenDigest(refreshToken))
        : undefined;
      const signIn = token?.kind === 'refresh' ? await lockSignIn(tx, orgId, token.sign_in_id) : undefined;
      if (token === undefined || signIn === undefined || !isUsable(signIn, now)) {
        return {};
      }
      if (clientId !== undefined && clientId !== signIn.client_id) {
        return {};
      }
      if (token.used_at !== null) {
        const issued = await repeated(tx, now, signIn, refreshToken, token.used_at);
        return issued === undefined
          ? { ended: await endSignIn(tx, signIn, 'refresh_token_reused', now) }
          : { issued };
      }
      await useToken(tx, token, now);
      const renewed = { ...signIn, renewed_at: now };
      await updateRenewal(tx, renewed);
      return { issued: await issue(tx, now, renewed, refreshToken) };
    },
    async signOut(tx, now, orgId, presented) {
      const token = await findToken(tx, orgId, toolTokenDigest(presented));
      const signIn = token && (await lockSignIn(tx, orgId, token.sign_in_id));
      return signIn === undefined || signInStatus(signIn, now) !== 'active'
        ? undefined
        : { memberId: signIn.member_id, change: await endSignIn(tx, signIn, 'signed_out', now) };
    },
  };
}

/** Returns true if the sign-in is active, and its member may still call models in an org that is not suspended. */
function isUsable(signIn: HeldToolSignInRow, now: Date): boolean {
  const { member_role: role, org_status: status } = signIn;
  return signInStatus(signIn, now) === 'active' && status === 'active' && role !== null && mayUseTools(role);
}

function secondsUntil(end: Date, now: Date): number {
  return Math.max(0, Math.floor((end.getTime() - now.getTime()) / 1_000));
}
