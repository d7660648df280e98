/**
 * One-time sign-in links of members: the invitation, and later sign-ins of members without an identity provider. A new link
 * replaces the previous one.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { createTokens, tokenDigest } from '../sessions/index.ts';
import { changeMember, type MemberChange, type MemberId } from './members.ts';
import { findByLink, type MemberRow } from './queries.ts';

const linkHours = 72;

export interface LinkDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  baseUrl(): string;
  /** Returns true if the org requires SSO. Links cannot sign in then. */
  requiresSso(db: Queryable, orgId: string): Promise<boolean>;
}

export interface MadeLink extends Required<MemberChange> {
  /** The link; null if the org requires SSO. */
  readonly url: string | null;
}

export interface MemberLinks {
  /** Returns true if this service issued the token. Needs no query. */
  isOurs(token: string): boolean;
  make(tx: Transaction, now: Date, id: MemberId): Promise<MadeLink>;
  /** Returns the member of a link; undefined if the link cannot be used. */
  find(token: string, now: Date): Promise<MemberRow | undefined>;
  /** Consumes the link; returns undefined if it cannot be used. Throws if it was used or replaced concurrently. */
  use(tx: Transaction, now: Date, token: string): Promise<Required<MemberChange> | undefined>;
}

export function createMemberLinks({ db, secrets, baseUrl, requiresSso }: LinkDependencies): MemberLinks {
  const tokens = createTokens(secrets, 'member link');

  async function find(queryable: Queryable, token: string, now: Date): Promise<MemberRow | undefined> {
    const member = tokens.isOurs(token) ? await findByLink(queryable, tokenDigest(token)) : undefined;
    return isUsable(member, now) && !(await requiresSso(queryable, member.org_id)) ? member : undefined;
  }

  return {
    isOurs: tokens.isOurs,
    find: (token, now) => find(db, token, now),
    async make(tx, now, id) {
      let token: string | undefined;
      const change = await changeMember(tx, id, async () => {
        token = (await requiresSso(tx, id.orgId)) ? undefined : tokens.issue();
        return {
          link_digest: token === undefined ? null : tokenDigest(token),
          link_expires_at: token === undefined ? null : new Date(now.getTime() + linkHours * 3_600_000),
          updated_at: now,
        };
      });
      return {
        ...change,
        url: token === undefined ? null : `${baseUrl()}/console/invitations/${token}`,
      };
    },
    async use(tx, now, token) {
      const member = await find(tx, token, now);
      if (member === undefined) {
        return undefined;
      }
      const id = { orgId: member.org_id, memberId: member.id };
      return changeMember(tx, id, async (current) => {
        // Checked again, because the link may have been used or replaced, or SSO may have become required, while this request
        // waited for the lock.
        if (current.link_digest !== tokenDigest(token) || (await requiresSso(tx, member.org_id))) {
          throw apiError(
            'gone',
            'This link has already been used, or the organization requires single sign-on.',
          );
        }
        return {
          link_digest: null,
          link_expires_at: null,
          joined_at: current.joined_at ?? now,
          last_sign_in_at: now,
          updated_at: now,
        };
      });
    },
  };
}

function isUsable(member: MemberRow | undefined, now: Date): member is MemberRow {
  return member?.link_expires_at != null && member.link_expires_at > now && member.removed_at === null;
}
