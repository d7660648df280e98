/** Recurring jobs: fan out events, send deliveries, delete old rows. */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { createDispatcher, type DispatcherDependencies } from './dispatcher.ts';
import { fanOut } from './fan-out.ts';
import { freeAllQueues } from './subscription-queues.ts';
import { removeOld } from './tidying.ts';

/** A quarter of the lease, so that a lease survives one or two failed renewals. */
const renewEveryMs = 5_000;

export function webhookJobs(deps: DispatcherDependencies): Job[] {
  const dispatcher = createDispatcher(deps);
  let isFirst = true;
  return [
    {
      id: 'fan-out-events',
      everyMs: 300,
      async runOnce() {
        const more = await fanOut(deps);
        dispatcher.poke();
        return more;
      },
    },
    {
      id: 'send-webhooks',
      everyMs: 500,
      async runOnce() {
        if (isFirst && deps.db.engine === 'embedded') {
          await freeAllQueues(deps.db);
        }
        isFirst = false;
        await dispatcher.claim();
        return false;
      },
      stop: () => dispatcher.stop(),
    },
    {
      id: 'renew-webhook-leases',
      everyMs: renewEveryMs,
      async runOnce() {
        await dispatcher.renew();
        return false;
      },
    },
    {
      id: 'delete-old-deliveries',
      everyMs: 600_000,
      runOnce: async () => removeOld(deps.db, await agreedNow(deps.db, deps.clock)),
    },
  ];
}
