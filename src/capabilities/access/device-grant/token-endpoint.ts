/** The token endpoint: a tool exchanges its device code for tokens, and a refresh token for the next ones. */
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { type Actor, type Appending, recordChange } from '../../compliance/audit/index.ts';
import type { OrgRow } from '../orgs/index.ts';
import type { IssuedTokens, ToolSignIns } from '../tool-sign-ins/index.ts';
import { deviceCodeDigest } from './codes.ts';
import { OAuthError, tooManyRequests } from './oauth-error.ts';
import { type DeviceCodeRow, lockDeviceCode, updateDeviceCode } from './queries.ts';

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Time by which a poll may be early, because requests do not take equally long. */
const earlyMsMax = 1_000;
/** Added to the interval of a tool that polls too often (RFC 8628 §3.5). */
const slowDownSeconds = 5;
const intervalSecondsMax = 60;

export interface TokenDependencies extends Appending {
  readonly db: Database;
  readonly signIns: ToolSignIns;
  /** Counts unknown codes and tokens by address. */
  readonly backoff: AuthBackoff;
}

export interface TokenRequest {
  readonly org: OrgRow;
  readonly form: URLSearchParams;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
}

/** A step that commits its transaction and then fails, or returns tokens. */
type TokenOutcome = IssuedTokens | OAuthError;

export function createTokenEndpoint(deps: TokenDependencies) {
  const { db, signIns, backoff } = deps;

  async function redeem(request: TokenRequest): Promise<TokenOutcome> {
    const { org, form, now } = request;
    const deviceCode = form.get('device_code') ?? '';
    const digest = deviceCodeDigest(deviceCode);
    return db.transaction(async (tx) => {
      const code = digest === undefined ? undefined : await lockDeviceCode(tx, org.id, digest);
      if (code === undefined || code.client_id !== (form.get('client_id') ?? code.client_id)) {
        return unknown(request, 400, 'The device code is not valid.');
      }
      if (code.redeemed_at !== null) {
        return new OAuthError(400, 'invalid_grant', 'The device code was used already.');
      }
      if (code.expires_at <= now) {
        return new OAuthError(400, 'expired_token', 'The code has expired. Start again.');
      }
      if (code.decided_at === null) {
        return pending(tx, code, now);
      }
      const issued =
        code.sign_in_id === null
          ? undefined
          : await signIns.redeem(tx, now, { orgId: org.id, signInId: code.sign_in_id, deviceCode });
      if (issued === undefined) {
        return new OAuthError(400, 'access_denied', 'The sign-in was not approved, or was ended.');
      }
      await updateDeviceCode(tx, { ...code, redeemed_at: now });
      return issued;
    });
  }

  async function renew(request: TokenRequest): Promise<TokenOutcome> {
    const { org, form, now, address, traceId } = request;
    const refreshToken = form.get('refresh_token') ?? '';
    const clientId = form.get('client_id') ?? undefined;
    return db.transaction(async (tx) => {
      const { issued, ended } = await signIns.renew(tx, now, { orgId: org.id, refreshToken, clientId });
      if (ended !== undefined) {
        const actor: Actor = { kind: 'service', id: 'device-grant', at: now, address, traceId };
        await recordChange(tx, deps, actor, 'tool_sign_ins.refresh_token_reused', ended);
      }
      return issued ?? unknown(request, 401, 'The refresh token is not valid anymore. Sign in again.');
    });
  }

  function unknown({ address }: TokenRequest, status: number, message: string): OAuthError {
    const seconds = backoff.failed(address);
    return seconds === undefined
      ? new OAuthError(status, 'invalid_grant', message)
      : tooManyRequests(seconds);
  }

  /** Revokes a token and with it its sign-in (RFC 7009). The response does not say whether the token was known. */
  async function revoke({ org, form, now, address, traceId }: TokenRequest): Promise<void> {
    await db.transaction(async (tx) => {
      const ended = await signIns.signOut(tx, now, org.id, form.get('token') ?? '');
      if (ended !== undefined) {
        const actor: Actor = { kind: 'member', id: ended.memberId, at: now, address, traceId };
        await recordChange(tx, deps, actor, 'tool_sign_ins.sign_out', ended.change);
      }
    });
  }

  return {
    revoke,
    async exchange(request: TokenRequest): Promise<object> {
      const grant = request.form.get('grant_type');
      if (grant !== deviceGrant && grant !== 'refresh_token') {
        throw new OAuthError(
          400,
          'unsupported_grant_type',
          `grant_type must be ${deviceGrant} or refresh_token.`,
        );
      }
      const outcome = await (grant === deviceGrant ? redeem(request) : renew(request));
      if (outcome instanceof OAuthError) {
        throw outcome;
      }
      return {
        access_token: outcome.access,
        token_type: 'Bearer',
        expires_in: outcome.expiresInSeconds,
        refresh_token: outcome.refresh,
        org_id: outcome.signIn.org_id,
        member_id: outcome.signIn.member_id,
      };
    },
  };
}

async function pending(tx: Transaction, code: DeviceCodeRow, now: Date): Promise<OAuthError> {
  const { polled_at, interval_seconds } = code;
  const isEarly =
    polled_at !== null && now.getTime() - polled_at.getTime() < interval_seconds * 1_000 - earlyMsMax;
  await updateDeviceCode(tx, {
    ...code,
    polled_at: now,
    interval_seconds: isEarly
      ? Math.min(interval_seconds + slowDownSeconds, intervalSecondsMax)
      : interval_seconds,
  });
  return isEarly
    ? new OAuthError(400, 'slow_down', 'Poll less often.')
    : new OAuthError(400, 'authorization_pending', 'The sign-in is not approved yet.');
}
