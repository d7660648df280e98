/** Identifies the caller of a raw endpoint by its key, with the checks of the pipeline in the same order. */
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type Access, admitCaller, type Caller, type Credential } from '../routes/access.ts';
import { isWellFormedKey } from '../routes/key-format.ts';
import type { RawRequest } from '../routes/raw-endpoint.ts';
import type { AuthBackoff } from './auth-backoff.ts';
import { type CheckRequestRate, throwIfRateLimited } from './request-rate.ts';
import { type ImpersonatedRequest, onRecord, type RecordImpersonated } from './support-session.ts';

export interface IdentifyRawDependencies {
  findCredential(token: string, address: string): Promise<Credential | undefined>;
  peekCredential(token: string): Credential | undefined;
  /** Finds the credential of a support session by its token. */
  findSupportSession(token: string, address: string): Promise<Credential | undefined>;
  readonly recordImpersonated: RecordImpersonated;
  readonly backoff: AuthBackoff;
  readonly checkRequestRate: CheckRequestRate;
}

export interface RawAccess {
  readonly access: Extract<Access, { kind: 'org' }>;
  /**
   * The operation of all requests of the endpoint. It is recorded for support sessions, and its path determines the class of
   * request rates.
   */
  readonly operation: NonNullable<ImpersonatedRequest['route']>;
  /** Headers that may contain the key, besides `Authorization`. */
  readonly keyHeaders: readonly string[];
  /** The error message for an unknown key. */
  readonly invalidKey: string;
}

export async function identifyRawCaller(
  deps: IdentifyRawDependencies,
  request: RawRequest,
  { access, operation, keyHeaders, invalidKey }: RawAccess,
  /** A key in the query or in a signature, which counts if no header has one. */
  otherKey?: string,
): Promise<Caller> {
  const { headers, address, now, method, url, traceId } = request;
  const token = tokenOf(headers, keyHeaders) ?? otherKey;
  if (token === undefined) {
    throw apiError(
      'unauthorized',
      `A Purser key is required, as ${list.format(['Authorization: Bearer', ...keyHeaders].map((name) => `\`${name}\``))}.`,
    );
  }
  const credential =
    deps.peekCredential(token) ??
    (await deps.findSupportSession(token, address)) ??
    (await deps.findCredential(token, address));
  if (credential === undefined) {
    const retryAfterSeconds = deps.backoff.failed(address);
    throw retryAfterSeconds === undefined
      ? apiError('unauthorized', invalidKey)
      : apiErrorWithDetails(
          'rate_limited',
          { retry_after_seconds: retryAfterSeconds },
          'Too many failed keys from this address; see Retry-After.',
        );
  }
  const admit = () => admitCaller({ credential, access, method, pathOrgId: undefined, address, now });
  const caller =
    credential.support === undefined
      ? admit()
      : await onRecord(
          deps.recordImpersonated,
          credential,
          { route: operation, method, url, address, traceId, now },
          admit,
        );
  request.identified(caller);
  const kind = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
  const rate = await deps.checkRequestRate(caller, { kind, path: operation.path }, now.getTime());
  throwIfRateLimited(rate, (rates) => request.onRates(rates));
  return caller;
}

const list = new Intl.ListFormat('en-GB', { type: 'disjunction' });
const bearerForm = /^Bearer(?: |%20)+(\S+) *$/i;

/**
 * Returns the key. Some clients send several of these headers, one of them with a token of another kind, so a well-formed key of
 * Purser takes precedence. Some telemetry exporters send the space after `Bearer` encoded, as it is in their environment variable.
 */
function tokenOf(headers: IncomingHttpHeaders, keyHeaders: readonly string[]): string | undefined {
  const { authorization } = headers;
  let first = authorization === undefined ? undefined : bearerForm.exec(authorization)?.[1];
  for (const name of keyHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') {
      if (first !== undefined && isWellFormedKey(first)) {
        return first;
      }
      first = first === undefined || isWellFormedKey(value) ? value : first;
    }
  }
  return first;
}
