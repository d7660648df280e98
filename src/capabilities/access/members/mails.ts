/**
 * Sends sign-in links to members by e-mail. A link is queued, encrypted, in the transaction that creates it. A job sends it at
 * least once, always with the same `Message-ID`. A link that was used, was replaced or has expired is not sent. Links never appear
 * in log lines.
 *
 * Anyone can be invited in the name of the mail server's operator. So an organization can only send a bounded number of messages
 * per hour, including those to members that it removes and invites again. Beyond that, the caller must pass on the link.
 */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Faults } from '../../../platform/faults.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import { domainOf, isMailAddress } from '../../../platform/mail/addresses.ts';
import type { Mail, Mailer } from '../../../platform/mail/mailer.ts';
import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { shortened } from '../../../platform/shortened-text.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { findOrg } from '../orgs/index.ts';
import {
  claimMails,
  countMails,
  deleteMail,
  deleteSentMails,
  insertMail,
  type MemberMailRow,
  markMailSent,
  postponeMail,
} from './mail-queries.ts';
import { findMember, type MemberRow } from './queries.ts';

export interface MailDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly faults: Faults;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
  baseUrl(): string;
}

export interface MemberMails {
  /**
   * Queues the link and returns true. Returns false if the deployment has no mail server, the member has no address, or too many
   * messages were sent.
   */
  enqueue(tx: Transaction, member: MemberRow, url: string | null, now: Date): Promise<boolean>;
  readonly job: Job;
}

const everyMs = 1_000;
const mailsPerRun = 5;
/** Longer than an attempt takes. */
const leaseSeconds = 90;
const firstDelayMs = 10_000;
const delayMsMax = 3_600_000;
/** Maximum number of attempts, about three days. For messages without a link, which do not expire. */
const attemptsMax = 80;
const hourMs = 3_600_000;
const orgNameCharsMax = 100;
/** Maximum number of messages per hour and organization. */
const hourlyMax = { all: 200, toAddress: 5 };

export function mailContext(orgId: string, id: string): string {
  return `member mail ${orgId} ${id}`;
}

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'member_mails',
    column: 'sealed',
    type: 'bytea',
    key: { org_id: 'text', id: 'text' },
    contextOf: ({ org_id, id }) => mailContext(org_id as string, id as string),
  },
];

export function createMemberMails(deps: MailDependencies): MemberMails {
  const { db, ids, clock, log, faults, secrets, mailer, baseUrl } = deps;

  async function send(row: MemberMailRow): Promise<void> {
    const member = await findMember(db, row.org_id, row.member_id);
    const org = await findOrg(db, row.org_id);
    const now = await agreedNow(db, clock);
    if (member === undefined || org === undefined || !isStillValid(row, member, now)) {
      return deleteMail(db, row);
    }
    const url = secrets.decrypt(row.sealed, mailContext(row.org_id, row.id));
    const { status, error, isRejected } = await mailer.send(
      mailOf(row, member, shortened(org.name, orgNameCharsMax), url),
    );
    await faults('mail.after_send', 'members.invite');
    if (status !== null && status >= 200 && status < 300) {
      return markMailSent(db, row, secrets.encrypt('', mailContext(row.org_id, row.id)), now);
    }
    const about = { org_id: row.org_id, member_id: row.member_id, status, error };
    if (isRejected || row.attempt_count + 1 >= attemptsMax) {
      log.warn(about, 'invitation could not be sent by e-mail');
      return deleteMail(db, row);
    }
    const delayMs = Math.min(firstDelayMs * 2 ** row.attempt_count, delayMsMax);
    return postponeMail(db, row, new Date(now.getTime() + delayMs));
  }

  function mailOf(row: MemberMailRow, member: MemberRow, orgName: string, url: string): Mail {
    const hasLink = row.link_digest !== '';
    const isNew = member.joined_at === null;
    const intro = isNew
      ? `You are invited to join ${orgName} on Purser, with the role ${member.role}.`
      : `Here is a new link to sign in to ${orgName} on Purser.`;
    const label = isNew && hasLink ? 'Accept the invitation' : 'Sign in';
    const note = hasLink
      ? 'The link can be used once, within 72 hours. Do not forward it: it signs you in.'
      : 'Sign in with the single sign-on of your organization.';
    const ignore = 'If you did not expect this e-mail, ignore it.';
    return {
      to: [member.email ?? ''],
      subject: isNew ? `Invitation to ${orgName}` : `Sign in to ${orgName}`,
      text: [intro, '', `${label}: ${url}`, '', note, ignore, ''].join('\n'),
      html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(intro)}</title></head>
<body style="margin:0;padding:24px;background:#f6f7f9;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#1c1e21">
<div style="max-width:560px;margin:0 auto;background:#fff;border:1px solid #e3e5e8;border-radius:6px;padding:20px 24px">
<p style="margin:0 0 16px">${escapeHtml(intro)}</p>
<p style="margin:0 0 16px"><a href="${escapeHtml(url)}" style="display:inline-block;background:#1c1e21;color:#fff;text-decoration:none;padding:8px 14px;border-radius:4px">${label}</a></p>
<p style="margin:0;color:#5c636a;font-size:13px">${note}<br>${ignore}</p>
</div></body></html>
`,
      messageId: `<${row.id}@${mailer.from === undefined ? 'invalid' : domainOf(mailer.from)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    };
  }

  return {
    async enqueue(tx, member, url, now) {
      const { org_id, id: member_id, email } = member;
      if (!mailer.isConfigured || email === null || !isMailAddress(email)) {
        return false;
      }
      const counted = await countMails(tx, org_id, email, new Date(now.getTime() - hourMs));
      if (counted.all >= hourlyMax.all || counted.toAddress >= hourlyMax.toAddress) {
        return false;
      }
      const id = ids.next('mml');
      const sealed = secrets.encrypt(url ?? `${baseUrl()}/console`, mailContext(org_id, id));
      const link_digest = url === null ? '' : (member.link_digest ?? '');
      await insertMail(tx, { org_id, id, member_id, sealed, link_digest }, now);
      return true;
    },
    job: {
      id: 'send-member-mails',
      everyMs,
      async runOnce() {
        if (!mailer.isConfigured) {
          return false;
        }
        const now = await agreedNow(db, clock);
        await deleteSentMails(db, new Date(now.getTime() - hourMs));
        const mails = await claimMails(db, now, leaseSeconds, mailsPerRun);
        const results = await Promise.allSettled(mails.map(send));
        const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
        if (failures.length > 0) {
          throw new AggregateError(failures, `${failures.length} invitations are delayed`);
        }
        return mails.length === mailsPerRun;
      },
    },
  };
}

function isStillValid({ link_digest }: MemberMailRow, member: MemberRow, now: Date): boolean {
  if (member.removed_at !== null || member.email === null) {
    return false;
  }
  const { link_expires_at } = member;
  return (
    link_digest === '' ||
    (member.link_digest === link_digest && link_expires_at !== null && link_expires_at > now)
  );
}
