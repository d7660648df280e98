/** Cache of what a delivery attempt needs of its subscription: the URL, the status and the signing secrets. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { findSubscription, type MessageFormat, webhooksChanged } from './queries.ts';
import type { SubscriptionStatus } from './schema.ts';
import { orgContext, orgSecretOf, subscriptionContext } from './signing.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

export interface Receiver {
  readonly status: SubscriptionStatus;
  readonly url: string;
  readonly format: MessageFormat;
  /** Empty unless the format is `email`. */
  readonly recipients: readonly string[];
  /** Null if deliveries are signed with the org's secret. */
  readonly own: {
    readonly secret: string;
    readonly previous: { readonly secret: string; readonly until: Date } | null;
  } | null;
  /** Empty if the subscription has its own secret, or is by e-mail. */
  readonly orgSecret: string;
}

const cachedReceiversMax = 20_000;

export interface ReceiverDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

export interface Receivers {
  /** Returns undefined if the subscription was deleted. */
  find(queue: SubscriptionQueue): Promise<Receiver | undefined>;
}

export function createReceivers({ db, secrets, clock }: ReceiverDependencies): Receivers {
  /** Keys are `<org id>/<subscription id>`; a change notification names the org only. */
  const cache = new NotifiedCache(db, {
    maxEntries: cachedReceiversMax,
    onChange: (_, listener) =>
      webhooksChanged.on(db, (orgId) => {
        if (orgId === null) {
          listener(null);
        } else {
          cache.invalidateWhere((_receiver, key) => key.startsWith(`${orgId}/`));
        }
      }),
    load,
  });

  async function load(key: string): Promise<Receiver | undefined> {
    const [org_id = '', subscription_id = ''] = key.split('/');
    const row = await findSubscription(db, org_id, subscription_id);
    if (row === undefined) {
      return undefined;
    }
    const open = (sealed: Uint8Array) => secrets.decrypt(sealed, subscriptionContext(org_id, row.id));
    const { previous_secret, previous_until } = row;
    return {
      status: row.status,
      url: row.url,
      format: row.format,
      recipients: row.recipients ?? [],
      own:
        row.secret === null
          ? null
          : {
              secret: open(row.secret),
              previous:
                previous_secret === null || previous_until === null
                  ? null
                  : { secret: open(previous_secret), until: previous_until },
            },
      orgSecret:
        row.secret === null && row.format !== 'email'
          ? secrets.decrypt((await orgSecretOf(db, secrets, org_id, clock.now())).secret, orgContext(org_id))
          : '',
    };
  }

  return {
    find: async ({ org_id, subscription_id }) => cache.get(`${org_id}/${subscription_id}`),
  };
}
