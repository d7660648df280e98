import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
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
/** Everybody may end their own; whose others one may end is decided there. */
const writer = { kind: 'org', scope: 'org:write', role: 'viewer' } as const;
const nothing = closed({});

export function sessionRoutes({ db, sessions }: SessionRouteDependencies): Route[] {
  async function sessionPage(caller: Caller, query: SessionFilters, now: Date) {
    const { tenantId, session } = caller;
    const listing = { tenantId, holder: ownOnly(caller), now, idleSeconds: sessions.idleSeconds };
    const { data, next_cursor } = await listSessions(db, listing, query);
    return { data: data.map((row) => viewSession(row, now, session?.id)), next_cursor };
  }

  return [
    read({
      id: 'sessions.list',
      path: '/v1/orgs/{id}/sessions',
      summary: 'List sessions of the console',
      description: 'Admins see all of the org, everyone else their own.',
      access: reader,
      query: SessionFilters,
      response: page(SessionView),
      handler: ({ caller, query, now }) => sessionPage(caller, query, now),
    }),
    write({
      id: 'sessions.revoke',
      method: 'DELETE',
      path: '/v1/orgs/{id}/sessions/{session_id}',
      summary: 'End a session of the console',
      description:
        "One's own, or as an admin anybody's of the org. Requests with its cookie answer 401 `session_revoked` from " +
        'then on. Ending it again changes nothing.',
      access: writer,
      success: 204,
      response: nothing,
      async handler({ params, caller, now }, tx) {
        return { body: {}, changes: await revokeSession(tx, sessions, now, caller, params.session_id) };
      },
    }),
    read({
      id: 'operator_sessions.list',
      path: '/v1/admin/sessions',
      summary: "List operators' sessions of the console",
      access: operator,
      query: SessionFilters,
      response: page(SessionView),
      handler: ({ caller, query, now }) => sessionPage(caller, query, now),
    }),
    write({
      id: 'operator_sessions.revoke',
      method: 'DELETE',
      path: '/v1/admin/sessions/{session_id}',
      summary: "End an operator's session of the console",
      access: operator,
      success: 204,
      response: nothing,
      async handler({ params, caller, now }, tx) {
        return { body: {}, changes: await revokeSession(tx, sessions, now, caller, params.session_id) };
      },
    }),
  ];
}
