/**
 * In-process table of the event types that each org's webhooks want, for event types that are too frequent to be
 * written without a receiver. It is read for every run. While an entry is uncertain, because notifications may have
 * been missed or a change was just notified, the result is true: a superfluous event is dropped later, a missing one is
 * lost.
 *
 * Not a `NotifiedCache`: the result is needed at once, so entries are loaded again as soon as a change is notified, and
 * orgs without webhooks have no entry.
 */
import type { EventType } from '../../../contract/events.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import { wantsEvent } from './event-patterns.ts';
import { selectListeners, webhooksChanged } from './queries.ts';

export interface WantedEvents {
  wants(orgId: string, type: EventType): boolean;
}

export async function openWantedEvents(db: Database): Promise<WantedEvents> {
  const patterns = new Map<string, string[]>();
  /** Orgs whose change has not been loaded yet. */
  const unknown = new Set<string>();
  let allUnknown = true;
  let announcements = 0;
  let isReading = false;

  webhooksChanged.on(db, (orgId) => {
    announcements += 1;
    if (orgId === null) {
      allUnknown = true;
    } else {
      unknown.add(orgId);
    }
    if (!isReading) {
      isReading = true;
      readUnknown()
        // After a failure the result stays true until the next notification, which arrives when the database is back.
        .catch(() => undefined)
        .finally(() => {
          isReading = false;
        });
    }
  });

  async function readUnknown(): Promise<void> {
    while (allUnknown || unknown.size > 0) {
      const announcementsBefore = announcements;
      const wanted = allUnknown ? undefined : [...unknown];
      const listeners = await selectListeners(db, wanted);
      if (announcements !== announcementsBefore) {
        continue;
      }
      for (const orgId of wanted ?? [...patterns.keys()]) {
        patterns.delete(orgId);
      }
      for (const { org_id, events } of listeners) {
        patterns.set(org_id, [...(patterns.get(org_id) ?? []), ...events]);
      }
      allUnknown = false;
      unknown.clear();
    }
  }

  await readUnknown();
  return {
    wants(orgId, type) {
      if (allUnknown || unknown.has(orgId) || !db.notificationsHealthy()) {
        return true;
      }
      const ofOrg = patterns.get(orgId);
      return ofOrg !== undefined && wantsEvent(ofOrg, type);
    },
  };
}

/** Returns the organizations with a webhook for the event, for events that belong to no organization. */
export async function subscribersOf(db: Queryable, type: EventType): Promise<string[]> {
  const listeners = await selectListeners(db);
  return [...new Set(listeners.filter(({ events }) => wantsEvent(events, type)).map(({ org_id }) => org_id))];
}

/** Returns these organizations with the time of their oldest subscription to the event. */
export async function subscribersSince(db: Queryable, type: EventType): Promise<ReadonlyMap<string, Date>> {
  const since = new Map<string, Date>();
  for (const { org_id, events, created_at } of await selectListeners(db)) {
    const other = since.get(org_id);
    if (wantsEvent(events, type) && (other === undefined || created_at < other)) {
      since.set(org_id, created_at);
    }
  }
  return since;
}
