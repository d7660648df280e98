import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { ownOnly, revokeSession } from './ending.ts';
import { listSessions } from './queries.ts';
import { SessionFilters, SessionView } from './schema.ts';
import { type Sessions, viewSession } from './sessions.ts';

export interface SessionRouteDependencies {
  readonly db: Database;
  readonly sessions: Sessions;
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
/** Callers of every role can end their own sessions. The handler checks whether they may end others. */
const writer = { kind: 'org', scope: 'org:write', role: 'viewer' } as const;

export function sessionRoutes({ db, sessions }: SessionRouteDependencies): Route[] {
  async function sessionPage(caller: Caller, query: SessionFilters, now: Date) {
    const { tenantId, session } = caller;
    const listing = { tenantId, holder: ownOnly(caller), now, idleSeconds: sessions.idleSeconds };
    return viewPage(listSessions(db, listing, query), (row) => viewSession(row, now, session?.id));
  }

  return [
    read({
      id: 'sessions.list',
      path: '/v1/orgs/{id}/sessions',
      summary: 'List console sessions',
      description: 'Admins see all sessions of the organization, other roles only their own.',
      access: reader,
      query: SessionFilters,
      response: page(SessionView),
      handler: ({ caller, query, now }) => sessionPage(caller, query, now),
    }),
    write({
      id: 'sessions.revoke',
      method: 'DELETE',
      path: '/v1/orgs/{id}/sessions/{session_id}',
      summary: 'End a console session',
      description:
        'Callers can end their own sessions, and admins any session of the organization. Requests with its cookie ' +
        'return 401 `session_revoked` from then on. Ending it again has no effect.',
      access: writer,
      async handler({ params, caller, now }, tx) {
        return { body: {}, changes: await revokeSession(tx, sessions, now, caller, params.session_id) };
      },
    }),
    read({
      id: 'operator_sessions.list',
      path: '/v1/admin/sessions',
      summary: 'List console sessions of operators',
      access: operator,
      query: SessionFilters,
      response: page(SessionView),
      handler: ({ caller, query, now }) => sessionPage(caller, query, now),
    }),
    write({
      id: 'operator_sessions.revoke',
      method: 'DELETE',
      path: '/v1/admin/sessions/{session_id}',
      summary: 'End a console session of an operator',
      access: operator,
      async handler({ params, caller, now }, tx) {
        return { body: {}, changes: await revokeSession(tx, sessions, now, caller, params.session_id) };
      },
    }),
  ];
}
