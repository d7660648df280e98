/** The device authorization endpoint (RFC 8628 §3.1): a tool gets a device code, and a user code for the person. */
import type { Database } from '../../../platform/db/database.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import type { OrgRow } from '../orgs/index.ts';
import { codeUrls } from './base-urls.ts';
import { deviceCodeDigest, newDeviceCode, newUserCode } from './codes.ts';
import { OAuthError, tooManyRequests } from './oauth-error.ts';
import { type DeviceCodeRow, hasPendingCodes, insertDeviceCode } from './queries.ts';

const codeSeconds = 600;
const pollSeconds = 5;
/** Maximum number of started sign-ins per minute and client address. The people of a whole company may share one address. */
const begunPerMinuteMax = 120;
/** Maximum number of codes of an org that wait for a decision. It bounds what unknown clients can store. */
const pendingPerOrgMax = 2_000;
const userAgentMax = 500;
/** Claude Code states no id. */
const clientIdForm = /^[\x21-\x7e]{0,100}$/;
/** Attempts to find a user code that is not in use. A second one is already improbable. */
const userCodeAttempts = 5;

export interface AuthorizationDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
  digestOfUserCode(userCode: string): string;
  baseUrl(): string;
}

export interface AuthorizationRequest {
  readonly org: OrgRow;
  readonly form: URLSearchParams;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly now: Date;
}

export function createAuthorization({
  db,
  ids,
  clock,
  digestOfUserCode,
  baseUrl,
}: AuthorizationDependencies) {
  // Counts every request like a failed one, because each stores a row and the caller is unknown.
  const begun = new AuthBackoff(begunPerMinuteMax, clock);

  return async ({ org, form, address, userAgent, now }: AuthorizationRequest): Promise<object> => {
    const clientId = form.get('client_id') ?? '';
    if (!clientIdForm.test(clientId)) {
      throw new OAuthError(400, 'invalid_request', 'client_id must have at most 100 printable characters.');
    }
    const seconds = begun.failed(address);
    if (seconds !== undefined) {
      throw tooManyRequests(seconds);
    }
    if (await hasPendingCodes(db, org.id, pendingPerOrgMax, now)) {
      throw new OAuthError(
        503,
        'temporarily_unavailable',
        'Too many sign-ins are waiting. Try again later.',
        60,
      );
    }
    const deviceCode = newDeviceCode();
    const code: Omit<DeviceCodeRow, 'user_code_digest'> = {
      org_id: org.id,
      id: ids.next('dvc'),
      digest: deviceCodeDigest(deviceCode) as string,
      client_id: clientId,
      address,
      user_agent: (userAgent ?? '').slice(0, userAgentMax).toWellFormed(),
      interval_seconds: pollSeconds,
      created_at: now,
      expires_at: new Date(now.getTime() + codeSeconds * 1_000),
      polled_at: null,
      decided_at: null,
      sign_in_id: null,
      redeemed_at: null,
    };
    const userCode = await storeWithUserCode(code);
    const { verification } = codeUrls(baseUrl(), org.slug);
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: verification,
      verification_uri_complete: `${verification}?user_code=${userCode}`,
      expires_in: codeSeconds,
      interval: pollSeconds,
    };
  };

  async function storeWithUserCode(code: Omit<DeviceCodeRow, 'user_code_digest'>): Promise<string> {
    for (let attempt = 0; attempt < userCodeAttempts; attempt += 1) {
      const userCode = newUserCode();
      if (await insertDeviceCode(db, { ...code, user_code_digest: digestOfUserCode(userCode) })) {
        return userCode;
      }
    }
    throw new OAuthError(503, 'temporarily_unavailable', 'No code is available. Try again.', 1);
  }
}
