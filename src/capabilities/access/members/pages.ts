/** The page of a member's sign-in link. It only consumes the link after a click, because link previews open the page too. */
import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import { type Page, redirectTo } from '../../../platform/http/routes/page.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { findOrg } from '../orgs/index.ts';
import { consoleHome, openSession, type Sessions, showRefusal, signInAnswer } from '../sessions/index.ts';
import type { MemberLinks } from './links.ts';
import { memberChange } from './members.ts';

export interface MemberPageDependencies extends Appending {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly links: MemberLinks;
}

const path = '/console/invitations/{token}';

export function memberPages({ db, ids, heads, sessions, links }: MemberPageDependencies): Page[] {
  const over = () =>
    apiError('gone', 'This link has expired or was already used. Ask an owner for a new one.');

  return [
    {
      path,
      async handler(visit) {
        const { params, now } = visit;
        const member = await links.find(params.token ?? '', now);
        const org = member && (await findOrg(db, member.org_id));
        if (member === undefined || org === undefined) {
          throw over();
        }
        return signInAnswer(visit, {
          title: `Join ${org.name}`,
          main: `<p>You are signing in as <strong>${escapeHtml(member.name)}</strong>, with the role ${member.role}.</p>
<form method="post"><button>Sign in</button></form>
<p class="soft">The link can be used once.</p>`,
        });
      },
      refused: showRefusal,
    },
    {
      method: 'POST',
      path,
      async handler(visit) {
        const { params, now, address, headers, traceId } = visit;
        const token = params.token ?? '';
        if (!links.isOurs(token)) {
          throw over();
        }
        const opened = await db.transaction(async (tx) => {
          const used = await links.use(tx, now, token);
          if (used === undefined) {
            throw over();
          }
          const { before, after } = used;
          if (before.joined_at === null) {
            const actor = { kind: 'member', id: after.id, at: now, address, traceId } as const;
            const change = memberChange(used, 'member.joined');
            await recordChange(tx, { ids, heads }, actor, 'members.join', change);
          }
          return openSession(
            tx,
            { ids, heads, sessions },
            {
              tenantId: after.org_id,
              method: 'invitation',
              holder: { memberId: after.id },
              address,
              userAgent: headers['user-agent'],
              now,
            },
            visit,
          );
        });
        return redirectTo(consoleHome, { 'set-cookie': opened.cookie });
      },
      refused: showRefusal,
    },
  ];
}
