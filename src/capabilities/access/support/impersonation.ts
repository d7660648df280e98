/**
 * Requests of support sessions. The session is read on each request, so that a revocation takes effect with the next request in
 * every process. Each request is recorded in the org's audit log and in its log of support access before it is served. If that
 * fails, it is not served.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Faults } from '../../../platform/faults.ts';
import type { ImpersonatedRequest } from '../../../platform/http/pipeline/support-session.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type Appending, recordAttempt } from '../../compliance/audit/index.ts';
import { credentialOrg, type TokenLookups } from '../keys/index.ts';
import { tokenEnvironment } from './grants.ts';
import { findSession, insertAccess } from './queries.ts';

export interface ImpersonationDependencies extends Appending {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
  readonly region: string | undefined;
  readonly lookups: TokenLookups;
}

export interface Impersonation {
  /** Finds the credential of a token. `address` is that of the client. */
  find(token: string, address: string): Promise<Credential | undefined>;
  /** Records a request. Throws 503 if the record cannot be written. */
  record(request: ImpersonatedRequest): Promise<void>;
}

const pathLengthMax = 500;

/** Audit action for a request that matches no route. */
const unmatchedAction = 'support.unmatched_route';

/** Shortens a path at segment boundaries, because an erasure would not recognize a truncated name. */
function shortened(path: string): string {
  const isCutWithin = path.length > pathLengthMax && !/[/?&=]/.test(path.charAt(pathLengthMax));
  const start = path.slice(0, pathLengthMax);
  return isCutWithin ? start.replace(/[^/?&=]*$/, '') : start;
}

export function createImpersonation(deps: ImpersonationDependencies): Impersonation {
  const { db, clock, ids, heads, log, faults, region, lookups } = deps;

  async function write(request: ImpersonatedRequest) {
    const { support, orgId, route, method, path, error, address, traceId, now } = request;
    const outcome = error === undefined ? 'allowed' : 'denied';
    const code = error?.code ?? null;
    const { grantId, sessionId, operatorKeyId } = support;
    await db.transaction(async (tx) => {
      await recordAttempt(
        tx,
        { ids, heads },
        {
          tenantId: orgId,
          actor: { kind: 'support', id: operatorKeyId, address, traceId, at: now },
          action: route?.id ?? unmatchedAction,
          outcome: error === undefined ? 'success' : 'denied',
          ...(error !== undefined && { code: error.code }),
          target: { kind: 'operation', id: `${method} ${route?.path ?? 'unmatched'}` },
          detail: {
            operator_key_id: operatorKeyId,
            org_id: orgId,
            grant_id: grantId,
            session_id: sessionId,
            path,
          },
        },
      );
      await insertAccess(tx, {
        org_id: orgId,
        id: ids.next('sac'),
        at: now,
        kind: 'request',
        grant_id: grantId,
        session_id: sessionId,
        actor_id: operatorKeyId,
        method,
        path: shortened(path),
        operation: route?.id ?? null,
        outcome,
        code,
        address,
        trace_id: traceId,
      });
      await faults('support.before_commit', route?.id ?? unmatchedAction);
    });
  }

  return {
    async find(token, address) {
      if (!token.startsWith(`svc_${tokenEnvironment}_`) || !isWellFormedKey(token)) {
        return undefined;
      }
      const session = await lookups.run(address, () => findSession(db, keyDigest(token), clock.now()));
      return (
        session && {
          keyId: session.id,
          // The scopes restrict the session further. Operations that require an owner are not allowed.
          role: 'admin',
          scopes: new Set(session.scope),
          notBefore: null,
          expiresAt: session.expires_at,
          revoked: session.revoked,
          endsAt: null,
          org: credentialOrg(session.org_id, session, region),
          support: {
            grantId: session.grant_id,
            sessionId: session.id,
            operatorKeyId: session.operator_key_id,
            reason: session.reason,
            scope: session.scope,
          },
        }
      );
    },
    async record(request) {
      try {
        await write(request);
      } catch (error) {
        log.warn({ traceId: request.traceId, err: error }, 'support request could not be recorded');
        throw apiError(
          'service_unavailable',
          'The request could not be recorded in the audit log, so it was not served. Try again later.',
        );
      }
    },
  };
}
