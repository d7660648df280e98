/** Recurring jobs: fan out events, send deliveries by HTTP and by e-mail, delete old rows. */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { deleteOldAlerts } from './alert-once.ts';
import { createDispatcher, type Dispatcher, type DispatcherDependencies } from './dispatcher.ts';
import { fanOut } from './fan-out.ts';
import { freeAllQueues } from './subscription-queues.ts';
import { removeOld } from './tidying.ts';
import type { Transport } from './transport.ts';
import { WaitingRoom } from './waiting-room.ts';

/** A quarter of the lease, so that a lease survives one or two failed renewals. */
const renewEveryMs = 5_000;

export interface WebhookJobDependencies extends Omit<DispatcherDependencies, 'transport'> {
  readonly http: Transport;
  readonly mail: Transport;
}

export function webhookJobs(deps: WebhookJobDependencies): Job[] {
  const byHttp = createDispatcher({ ...deps, transport: deps.http });
  const byMail = createDispatcher({ ...deps, transport: deps.mail });
  const room = new WaitingRoom();
  return [
    {
      id: 'fan-out-events',
      everyMs: 300,
      async runOnce() {
        const more = await fanOut({ ...deps, room });
        byHttp.poke();
        byMail.poke();
        return more;
      },
    },
    sendJob('send-webhooks', byHttp, deps, deps.http),
    sendJob('send-mail', byMail, deps, deps.mail),
    {
      id: 'renew-webhook-leases',
      everyMs: renewEveryMs,
      async runOnce() {
        await byHttp.renew();
        await byMail.renew();
        return false;
      },
    },
    {
      id: 'delete-old-deliveries',
      everyMs: 600_000,
      async runOnce() {
        const now = await agreedNow(deps.db, deps.clock);
        await deleteOldAlerts(deps.db, now);
        return removeOld(deps.db, now);
      },
    },
  ];
}

function sendJob(
  id: string,
  dispatcher: Dispatcher,
  { db }: Pick<WebhookJobDependencies, 'db'>,
  { channel }: Transport,
): Job {
  let isFirst = true;
  return {
    id,
    everyMs: 500,
    async runOnce() {
      if (isFirst && db.engine === 'embedded') {
        await freeAllQueues(db, channel);
      }
      isFirst = false;
      await dispatcher.claim();
      return false;
    },
    stop: () => dispatcher.stop(),
  };
}
