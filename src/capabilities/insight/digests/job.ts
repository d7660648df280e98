/**
 * Emits the weekly digest of each organization that wants it: once per organization and week, whichever process is first. After a
 * downtime it is late, rather than missing.
 */
import { digestEvent } from '../../../contract/alert-events.ts';
import type { EventType } from '../../../contract/events.ts';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { runForEach } from '../../../platform/jobs/run-for-each.ts';
import { enqueueEvent } from '../../../platform/outbox/outbox.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { digestFigures, type FigureDependencies } from './figures.ts';
import { type DigestOrg, insertEmitted, selectEmitted, selectOrgs } from './queries.ts';
import { type DueDigest, dueDigest } from './schedule.ts';

export interface DigestJobDependencies extends FigureDependencies {
  readonly ids: Ids;
  readonly clock: SharedClock;
  /** Returns the organizations with a subscription to the event, and the time of the oldest one. */
  subscribersSince(db: Queryable, type: EventType): Promise<ReadonlyMap<string, Date>>;
}

const orgsPerRun = 20;
const emittedReadMs = 9 * 86_400_000;

export function weeklyDigests(deps: DigestJobDependencies): Job {
  const { db, ids, clock } = deps;

  async function emit(org: DigestOrg, due: DueDigest, now: Date): Promise<void> {
    const data = await digestFigures(deps, org, due, now);
    await db.transaction(async (tx) => {
      const eventId = ids.next('evt');
      if (await insertEmitted(tx, { orgId: org.id, dueOn: due.dueOn, eventId, now })) {
        await enqueueEvent(tx, { id: eventId, tenantId: org.id, type: digestEvent, createdAt: now, data });
      }
    });
  }

  /** Returns the digests that are due and were not emitted yet. */
  async function findDue(now: Date): Promise<{ readonly org: DigestOrg; readonly due: DueDigest }[]> {
    const since = await deps.subscribersSince(db, digestEvent);
    const orgIds = [...since.keys()];
    if (orgIds.length === 0) {
      return [];
    }
    const emitted = await selectEmitted(db, orgIds, new Date(now.getTime() - emittedReadMs));
    const done = new Set(emitted.map(({ org_id, due_on }) => `${org_id} ${due_on}`));
    return (await selectOrgs(db, orgIds))
      .map((org) => ({ org, due: dueDigest(org.timezone, now.getTime()) }))
      .filter(({ org, due }) => {
        // A new subscription starts with the next digest.
        const isSubscribed = (since.get(org.id)?.getTime() ?? Number.POSITIVE_INFINITY) <= due.dueAtMs;
        return isSubscribed && !done.has(`${org.id} ${due.dueOn}`);
      });
  }

  return {
    id: 'emit-weekly-digests',
    everyMs: 60_000,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const due = await findDue(now);
      await runForEach(
        due.slice(0, orgsPerRun),
        (one) => emit(one.org, one.due, now),
        'digests could not be emitted',
      );
      return due.length > orgsPerRun;
    },
    // At most half of the time, also with very many organizations.
    restMs: (tookMs) => tookMs,
  };
}
