/**
 * What an attempt needs to know of its subscription: where to, whether at all, and the secrets that sign. Remembered
 * until it changes; while notices may be missing nothing that was remembered is believed.
 */

import type { Database } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { onWebhooksChange } from './change-notifications.ts';
import type { Lane } from './lanes.ts';
import { findSubscription } from './queries.ts';
import type { SubscriptionStatus } from './schema.ts';
import { orgContext, orgSecretOf, subscriptionContext } from './signing.ts';

export interface Receiver {
  readonly status: SubscriptionStatus;
  readonly url: string;
  /** Null: the org's secret signs. */
  readonly own: {
    readonly secret: string;
    readonly previous: { readonly secret: string; readonly until: Date } | null;
  } | null;
  /** Empty where it has one of its own. */
  readonly orgSecret: string;
}

const rememberedMax = 20_000;

export interface ReceiverDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

export interface Receivers {
  /** Undefined: it was deleted. */
  find(lane: Lane): Promise<Receiver | undefined>;
}

export function createReceivers({ db, secrets, clock }: ReceiverDependencies): Receivers {
  const remembered = new Map<string, Map<string, Receiver>>();
  let announcements = 0;

  onWebhooksChange(db, (orgId) => {
    announcements += 1;
    if (orgId === null) {
      remembered.clear();
    } else {
      remembered.delete(orgId);
    }
  });

  async function read({ org_id, subscription_id }: Lane): Promise<Receiver | undefined> {
    const row = await findSubscription(db, org_id, subscription_id);
    if (row === undefined) {
      return undefined;
    }
    const open = (sealed: Uint8Array) => secrets.open(sealed, subscriptionContext(org_id, row.id));
    const { previous_secret, previous_until } = row;
    return {
      status: row.status,
      url: row.url,
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
        row.secret === null
          ? secrets.open((await orgSecretOf(db, secrets, org_id, clock.now())).secret, orgContext(org_id))
          : '',
    };
  }

  return {
    async find(lane) {
      const { org_id, subscription_id } = lane;
      const known = db.notificationsHealthy() ? remembered.get(org_id)?.get(subscription_id) : undefined;
      if (known !== undefined) {
        return known;
      }
      const announcementsBefore = announcements;
      const receiver = await read(lane);
      if (receiver !== undefined && announcements === announcementsBefore && db.notificationsHealthy()) {
        if (remembered.size >= rememberedMax) {
          remembered.clear();
        }
        const ofOrg = remembered.get(org_id) ?? new Map<string, Receiver>();
        remembered.set(org_id, ofOrg.set(subscription_id, receiver));
      }
      return receiver;
    },
  };
}
