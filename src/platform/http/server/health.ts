/** `/healthz`: the process runs. `/readyz`: it can serve requests. `/metrics`: Prometheus metrics. */
import type { Database } from '../../db/database.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Page, PageAnswer } from '../routes/page.ts';

export function healthPages(db: Database, metrics: Metrics, isDraining: () => boolean): Page[] {
  return [
    { path: '/healthz', handler: async () => status(200, { status: 'ok' }) },
    {
      path: '/readyz',
      async handler() {
        const database = await db.query('SELECT 1 AS one', []).then(
          () => 'up',
          () => 'down',
        );
        const ready = database === 'up' && !isDraining();
        const { notificationProblem, refusal } = db.stats();
        return status(ready ? 200 : 503, {
          status: ready ? 'ready' : 'unavailable',
          database,
          ...(refusal !== undefined && { database_refused: refusal }),
          // Without notifications requests are still answered correctly, but not from caches.
          notifications: notificationProblem ?? 'up',
          draining: isDraining(),
        });
      },
    },
    {
      path: '/metrics',
      handler: async () => ({
        status: 200,
        contentType: metrics.contentType,
        body: await metrics.text(),
        headers: { 'cache-control': 'no-store' },
      }),
    },
  ];
}

function status(code: number, body: object): PageAnswer {
  return {
    status: code,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(body),
    headers: { 'cache-control': 'no-store' },
  };
}
