/**
 * One-time links that sign an operator in to the console, for operators with shell access. With an org, the operator enters it with
 * a role, unless the org forbids support access or requires approval. Actions are recorded in the org's audit log under the
 * operator.
 */
import { type Static, Type } from 'typebox';
import { apiError, found } from '../../../contract/api-error.ts';
import { type OrgRole, orgRoles } from '../../../contract/scopes.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Page, redirectTo } from '../../../platform/http/routes/page.ts';
import { type Route, write } from '../../../platform/http/routes/route.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Appending } from '../../compliance/audit/index.ts';
import { lockOrg } from '../orgs/index.ts';
import { openSession, showRefusal } from './pages.ts';
import { consoleHome } from './return-path.ts';
import type { Sessions } from './sessions.ts';
import { signInAnswer } from './sign-in-frame.ts';
import { createTokens, tokenDigest } from './token.ts';

const linkMinutes = 10;

const MakeConsoleLink = closed({
  org_id: Type.Optional(
    Type.String({ ...id, description: 'Organization to enter, instead of the operator pages.' }),
  ),
  role: Type.Optional(choice(orgRoles, 'Role in that organization. Default: `owner`.')),
});

const ConsoleLink = closed({
  url: Type.String({ description: 'Signs in the first person who opens it.' }),
  org_id: nullable(Type.String()),
  role: Type.Unsafe<OrgRole | null>({ type: ['string', 'null'], enum: [...orgRoles, null] }),
  expires_at: timestamp,
});

export interface ConsoleLinkDependencies extends Appending {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly sessions: Sessions;
  /** Returns true if operators may enter the org without approval. The caller must hold the org's lock. */
  admitsWithoutApproval(tx: Queryable, orgId: string): Promise<boolean>;
  baseUrl(): string;
}

export function consoleLinks(deps: ConsoleLinkDependencies): { routes: Route[]; pages: Page[] } {
  const { db, ids, heads, sessions, admitsWithoutApproval, baseUrl } = deps;
  const tokens = createTokens(deps.secrets, 'console link');
  const path = '/console/link/{token}';
  const over = () =>
    apiError(
      'gone',
      'This link has expired or was already used. Run `purser console-link` to create a new one.',
    );
  const checkAdmitted = async (tx: Queryable, orgId: string) => {
    found(await lockOrg(tx, orgId));
    if (!(await admitsWithoutApproval(tx, orgId))) {
      throw apiError(
        'conflict',
        'The organization forbids support access or requires approval. Create a support grant instead.',
      );
    }
  };

  const routes = [
    write({
      id: 'console_links.make',
      method: 'POST',
      path: '/v1/admin/console-links',
      summary: 'Create a one-time sign-in link for the console',
      description:
        `The link can be used within ${linkMinutes} minutes. The session ends with the operator key that created ` +
        'the link. Returns 409 if the organization forbids support access or requires approval.',
      access: { kind: 'operator' },
      body: MakeConsoleLink,
      bodyOptional: true,
      success: 201,
      response: ConsoleLink,
      errors: ['not_found', 'conflict'],
      async handler({ body, caller, now }, tx) {
        const { org_id, role } = body;
        if (org_id !== undefined) {
          await checkAdmitted(tx, org_id);
        }
        const token = tokens.issue();
        const link: LinkRow = {
          digest: tokenDigest(token),
          tenant_id: org_id ?? platformTenant,
          key_id: caller.keyId,
          role: org_id === undefined ? null : (role ?? 'owner'),
          created_at: now,
          expires_at: new Date(now.getTime() + linkMinutes * 60_000),
        };
        await insertLink(tx, link);
        const view: Omit<Static<typeof ConsoleLink>, 'url'> = {
          org_id: org_id ?? null,
          role: link.role,
          expires_at: link.expires_at.toISOString(),
        };
        return {
          body: { ...view, url: `${baseUrl()}/console/link/${token}` },
          changes: [changeOf('console_link', link.tenant_id, { after: view })],
        };
      },
    }),
  ];

  const pages: Page[] = [
    {
      path,
      // Only consumes the link after a click, because link previews open the page too.
      async handler(visit) {
        if (!tokens.isOurs(visit.params.token ?? '')) {
          throw over();
        }
        return signInAnswer(visit, {
          title: 'Sign in',
          main: `<form method="post"><button autofocus>Sign in to Purser</button></form>
<p class="soft">The link can be used once.</p>`,
        });
      },
      refused: showRefusal,
    },
    {
      method: 'POST',
      path,
      async handler(visit) {
        const { params, now, address, headers } = visit;
        const token = params.token ?? '';
        if (!tokens.isOurs(token)) {
          throw over();
        }
        const { cookie } = await db.transaction(async (tx) => {
          const link = await takeLink(tx, tokenDigest(token));
          if (link === undefined || link.expires_at <= now) {
            throw over();
          }
          if (link.tenant_id !== platformTenant) {
            await checkAdmitted(tx, link.tenant_id);
          }
          return openSession(
            tx,
            { ids, heads, sessions },
            {
              tenantId: link.tenant_id,
              method: 'link',
              holder: { keyId: link.key_id, ...(link.role !== null && { role: link.role }) },
              address,
              userAgent: headers['user-agent'],
              now,
            },
            visit,
          );
        });
        return redirectTo(consoleHome, { 'set-cookie': cookie });
      },
      refused: showRefusal,
    },
  ];
  return { routes, pages };
}

interface LinkRow {
  readonly digest: string;
  readonly tenant_id: string;
  readonly key_id: string;
  readonly role: OrgRole | null;
  readonly created_at: Date;
  readonly expires_at: Date;
}

async function insertLink(tx: Queryable, link: LinkRow): Promise<void> {
  await tx.query(
    'INSERT INTO console_links (digest, tenant_id, key_id, role, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [link.digest, link.tenant_id, link.key_id, link.role, link.created_at, link.expires_at],
  );
}

/** Deletes and returns the link. Only the transaction that deletes the row may use it. */
async function takeLink(tx: Queryable, digest: string): Promise<LinkRow | undefined> {
  const [row] = await tx.query<LinkRow>('DELETE FROM console_links WHERE digest = $1 RETURNING *', [digest]);
  return row;
}
