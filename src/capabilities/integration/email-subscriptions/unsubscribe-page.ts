/**
 * The page of the link in every alert by e-mail. A recipient leaves without signing in, with a click on it, or with the button that
 * mail programs show (RFC 8058), which posts to the same URL. The organization cannot undo it; the recipient can, with the same link.
 */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import type { Page, PageAnswer, Visit } from '../../../platform/http/routes/page.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { errorMessage, signInAnswer } from '../../access/sessions/index.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { type RecipientName, type Unsubscribing, unsubscribePath } from '../alerts/index.ts';
import { findSubscription } from '../webhooks/index.ts';
import { removeRecipient, viewSubscription } from './subscriptions.ts';
import { addUnsubscribed, hasUnsubscribed, removeUnsubscribed } from './unsubscribed.ts';

export interface UnsubscribePageDependencies extends Appending {
  readonly db: Database;
  readonly unsubscribing: Unsubscribing;
}

const allowPath = `${unsubscribePath}/allow`;

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
    const isRecipient = row?.recipients?.includes(name.recipient) === true;
    return { ...name, orgName: org.name, isRecipient, hasLeft: await hasUnsubscribed(db, name) };
  }

  const gone = (recipient: string, orgName: string) =>
    `<p><strong>${escapeHtml(recipient)}</strong> gets no alerts of ${escapeHtml(orgName)} any more.</p>`;

  function record(
    tx: Transaction,
    { now, address, traceId }: Visit,
    { orgId, subscriptionId }: RecipientName,
    action: string,
    change: Partial<Pick<Change, 'before' | 'after'>>,
  ): Promise<void> {
    const actor = { kind: 'anonymous', id: 'unsubscribe', at: now, address, traceId } as const;
    const target = { kind: 'email_subscription', id: subscriptionId };
    return recordChange(tx, { ids, heads }, actor, action, { tenantId: orgId, target, ...change });
  }

  return [
    {
      path: unsubscribePath,
      async handler(visit) {
        const { token = '' } = visit.params;
        const { recipient, orgName, hasLeft } = await find(token);
        const again = escapeHtml(allowPath.replace('{token}', token));
        return signInAnswer(
          visit,
          hasLeft
            ? {
                title: 'Unsubscribed',
                main: `${gone(recipient, orgName)}
<form method="post" action="${again}"><button>Allow alerts again</button></form>`,
              }
            : {
                title: 'Unsubscribe',
                main: `<p>Stop sending alerts of ${escapeHtml(orgName)} to <strong>${escapeHtml(recipient)}</strong>?</p>
<form method="post"><button>Unsubscribe</button></form>`,
              },
        );
      },
      refused,
    },
    {
      method: 'POST',
      path: unsubscribePath,
      async handler(visit) {
        const found = await find(visit.params.token ?? '');
        const { orgId, subscriptionId, recipient, orgName, isRecipient } = found;
        await db.transaction(async (tx) => {
          const isNew = await addUnsubscribed(tx, found, visit.now);
          if (isRecipient) {
            const name = { orgId, id: subscriptionId };
            const { before, after } = await removeRecipient(tx, name, visit.now, recipient);
            await record(tx, visit, found, 'email_subscriptions.unsubscribe', {
              before: viewSubscription(before),
              after: viewSubscription(after),
            });
          } else if (isNew) {
            await record(tx, visit, found, 'email_subscriptions.unsubscribe', {
              after: { unsubscribed: recipient },
            });
          }
        });
        return signInAnswer(visit, { title: 'Unsubscribed', main: gone(recipient, orgName) });
      },
      refused,
    },
    {
      method: 'POST',
      path: allowPath,
      async handler(visit) {
        const found = await find(visit.params.token ?? '');
        const { recipient, orgName } = found;
        await db.transaction(async (tx) => {
          if (await removeUnsubscribed(tx, found)) {
            await record(tx, visit, found, 'email_subscriptions.allow', {
              before: { unsubscribed: recipient },
            });
          }
        });
        return signInAnswer(visit, {
          title: 'Alerts allowed',
          main: `<p>${escapeHtml(orgName)} may send alerts to <strong>${escapeHtml(recipient)}</strong> again, once an admin adds the address.</p>`,
        });
      },
      refused,
    },
  ];
}
