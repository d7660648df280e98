/** Identifies the caller of a raw endpoint by its key, with the checks of the pipeline in their order. */
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
  /** Finds the credential of a token that belongs to a support session. */
  findSupportSession(token: string, address: string): Promise<Credential | undefined>;
  readonly recordImpersonated: RecordImpersonated;
  readonly backoff: AuthBackoff;
  readonly checkRequestRate: CheckRequestRate;
}

export interface RawAccess {
  readonly access: Extract<Access, { kind: 'org' }>;
  /** How the requests of support sessions are recorded. */
  readonly operation: NonNullable<ImpersonatedRequest['route']>;
  /** The error message for an unknown key. */
  readonly invalidKey: string;
}

export async function identifyRawCaller(
  deps: IdentifyRawDependencies,
  request: RawRequest,
  { access, operation, invalidKey }: RawAccess,
): Promise<Caller> {
  const { headers, address, now, method, url, traceId } = request;
  const token = tokenOf(headers);
  if (token === undefined) {
    throw apiError(
      'unauthorized',
      'A Purser key is required, as `Authorization: Bearer`, `x-api-key` or `api-key`.',
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
  const rate = await deps.checkRequestRate(caller, { kind, path: url }, now.getTime());
  throwIfRateLimited(rate, (rates) => request.onRates(rates));
  return caller;
}

const bearerForm = /^Bearer(?: |%20)+(\S+) *$/i;

/**
 * Returns the key. Some clients send several of these headers, one of them with a token of their own: a well-formed key of
 * Purser takes precedence. Some exporters of telemetry send the space after `Bearer` as it stands in their environment variable, encoded.
 */
function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-api-key': anthropicKey, 'api-key': azureKey } = headers;
  const bearer = authorization === undefined ? undefined : bearerForm.exec(authorization)?.[1];
  if (bearer !== undefined && anthropicKey === undefined && azureKey === undefined) {
    return bearer;
  }
  const given = [bearer, anthropicKey, azureKey].filter(
    (value): value is string => typeof value === 'string' && value !== '',
  );
  return given.find(isWellFormedKey) ?? given[0];
}
