import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { ownOnly, revokeSignIn } from './ending.ts';
import { listSignIns } from './queries.ts';
import { ToolSignInFilters, ToolSignInView } from './schema.ts';
import { viewSignIn } from './sign-ins.ts';

const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
/** Callers of every role can end their own sign-ins. The handler checks whether they may end others. */
const writer = { kind: 'org', scope: 'org:write', role: 'viewer' } as const;

export function toolSignInRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'tool_sign_ins.list',
      path: '/v1/orgs/{id}/tool-sign-ins',
      summary: 'List sign-ins of coding tools',
      description: 'Admins see all sign-ins of the organization, other roles only their own.',
      access: reader,
      query: ToolSignInFilters,
      response: page(ToolSignInView),
      handler: ({ caller, params, query, now }) =>
        viewPage(listSignIns(db, { orgId: params.id, memberId: ownOnly(caller), now }, query), (row) =>
          viewSignIn(row, now),
        ),
    }),
    write({
      id: 'tool_sign_ins.revoke',
      method: 'DELETE',
      path: '/v1/orgs/{id}/tool-sign-ins/{tool_sign_in_id}',
      summary: 'End a sign-in of a coding tool',
      description:
        'Callers can end their own sign-ins, and admins any sign-in of the organization. Requests with its tokens return 410 ' +
        '`gone` from then on, and the tool must sign in again. Ending it again has no effect.',
      access: writer,
      async handler({ params, caller, now }, tx) {
        return { body: {}, changes: await revokeSignIn(tx, now, caller, params.tool_sign_in_id) };
      },
    }),
  ];
}
