/** Identifies the caller of a raw endpoint by its key, with the checks of the pipeline in their order. */
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type Access, admitCaller, type Caller, type Credential } from '../routes/access.ts';
import { isWellFormedKey } from '../routes/key-format.ts';
import type { RawRequest } from '../routes/raw-endpoint.ts';
import type { AuthBackoff } from './auth-backoff.ts';
import { type CheckRequestRate, throwIfRateLimited } from './request-rate.ts';

export interface IdentifyRawDependencies {
  findCredential(token: string, address: string): Promise<Credential | undefined>;
  peekCredential(token: string): Credential | undefined;
  readonly backoff: AuthBackoff;
  readonly checkRequestRate: CheckRequestRate;
}

export async function identifyRawCaller(
  deps: IdentifyRawDependencies,
  request: RawRequest,
  access: Extract<Access, { kind: 'org' }>,
  invalidKey: string,
): Promise<Caller> {
  const { headers, address, now, method, url } = request;
  const token = tokenOf(headers);
  if (token === undefined) {
    throw apiError(
      'unauthorized',
      'A Purser key is required, as `Authorization: Bearer`, `x-api-key` or `api-key`.',
    );
  }
  const credential = deps.peekCredential(token) ?? (await deps.findCredential(token, address));
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
  const caller = admitCaller({ credential, access, method, pathOrgId: undefined, address, now });
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
