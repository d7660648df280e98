/**
 * The page of the link in every alert by e-mail. A recipient leaves without signing in, with a click on it, or with the button that
 * mail programs show (RFC 8058), which posts to the same URL.
 */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import type { Page, PageAnswer } from '../../../platform/http/routes/page.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { errorMessage, signInAnswer } from '../../access/sessions/index.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { type Unsubscribing, unsubscribePath } from '../alerts/index.ts';
import { findSubscription } from '../webhooks/index.ts';
import { removeRecipient, viewSubscription } from './subscriptions.ts';

export interface UnsubscribePageDependencies extends Appending {
  readonly db: Database;
  readonly unsubscribing: Unsubscribing;
}

function refused({ status, message }: ApiError, seen: Parameters<typeof signInAnswer>[0]): PageAnswer {
  return signInAnswer(seen, { status, title: 'Not unsubscribed', main: errorMessage(message) });
}

export function unsubscribePages({ db, ids, heads, unsubscribing }: UnsubscribePageDependencies): Page[] {
  async function find(token: string) {
    const name = unsubscribing.parse(token);
    const org = name && (await findOrg(db, name.orgId));
    if (name === undefined || org === undefined) {
      throw apiError('not_found', 'This link is not valid. Open the link of the e-mail again.');
    }
    const row = await findSubscription(db, name.orgId, name.subscriptionId);
    return { ...name, orgName: org.name, isRecipient: row?.recipients?.includes(name.recipient) === true };
  }

  return [
    {
      path: unsubscribePath,
      async handler(visit) {
        const { recipient, orgName, isRecipient } = await find(visit.params.token ?? '');
        const address = `<strong>${escapeHtml(recipient)}</strong>`;
        return signInAnswer(
          visit,
          isRecipient
            ? {
                title: 'Unsubscribe',
                main: `<p>Stop sending alerts of ${escapeHtml(orgName)} to ${address}?</p>
<form method="post"><button>Unsubscribe</button></form>`,
              }
            : { title: 'Unsubscribed', main: `<p>${address} gets no alerts of this kind any more.</p>` },
        );
      },
      refused,
    },
    {
      method: 'POST',
      path: unsubscribePath,
      async handler(visit) {
        const { orgId, subscriptionId, recipient, isRecipient } = await find(visit.params.token ?? '');
        if (isRecipient) {
          const { now, address, traceId } = visit;
          await db.transaction(async (tx) => {
            const name = { orgId, id: subscriptionId };
            const { before, after } = await removeRecipient(tx, name, now, recipient);
            const actor = { kind: 'anonymous', id: 'unsubscribe', at: now, address, traceId } as const;
            await recordChange(tx, { ids, heads }, actor, 'email_subscriptions.unsubscribe', {
              tenantId: orgId,
              target: { kind: 'email_subscription', id: subscriptionId },
              before: viewSubscription(before),
              after: viewSubscription(after),
            });
          });
        }
        return signInAnswer(visit, {
          title: 'Unsubscribed',
          main: `<p><strong>${escapeHtml(recipient)}</strong> gets no alerts of this kind any more.</p>`,
        });
      },
      refused,
    },
  ];
}
