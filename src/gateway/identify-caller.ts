/** Identifies the caller of the gateway by its key, with the checks of the pipeline in their order. */
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, apiErrorWithDetails } from '../contract/api-error.ts';
import type { AuthBackoff } from '../platform/http/pipeline/auth-backoff.ts';
import { type CheckRequestRate, throwIfRateLimited } from '../platform/http/pipeline/request-rate.ts';
import { admitCaller, type Caller, type Credential } from '../platform/http/routes/access.ts';
import { isWellFormedKey } from '../platform/http/routes/key-format.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';

export interface IdentifyDependencies {
  findCredential(token: string, address: string): Promise<Credential | undefined>;
  peekCredential(token: string): Credential | undefined;
  readonly backoff: AuthBackoff;
  readonly checkRequestRate: CheckRequestRate;
}

const access = { kind: 'org', scope: 'gateway:call', role: 'member' } as const;

export async function identifyCaller(deps: IdentifyDependencies, request: RawRequest): Promise<Caller> {
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
      ? apiError('unauthorized', 'The key is not valid. Use a Purser key, not that of the provider.')
      : apiErrorWithDetails(
          'rate_limited',
          { retry_after_seconds: retryAfterSeconds },
          'Too many failed keys from this address; see Retry-After.',
        );
  }
  const caller = admitCaller({ credential, access, method, pathOrgId: undefined, address, now });
  request.identified(caller);
  const kind = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
  throwIfRateLimited(await deps.checkRequestRate(caller, { kind, path: url }, now.getTime()));
  return caller;
}

/**
 * Returns the key. Some clients send several of these headers, one of them with a token of their own: a well-formed key of
 * Purser takes precedence.
 */
function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const given = [bearer, headers['x-api-key'], headers['api-key']].filter(
    (value): value is string => typeof value === 'string' && value !== '',
  );
  return given.find(isWellFormedKey) ?? given[0];
}
