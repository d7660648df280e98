/**
 * `/healthz`: the event loop is running. `/readyz`: this process can serve requests, including writes. `/metrics`: Prometheus
 * metrics. The first two answer from memory, so they neither wait for the database nor add to its load.
 */
import type { Database } from '../../db/database.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Page, PageAnswer } from '../routes/page.ts';
import type { ProcessHealth } from './process-health.ts';

export function healthPages(
  health: Pick<ProcessHealth, 'answer'>,
  db: Pick<Database, 'stats'>,
  metrics: Metrics,
): Page[] {
  const healthPage = (path: '/healthz' | '/readyz'): Page => ({
    path,
    async handler(): Promise<PageAnswer> {
      const { status, body } = health.answer(path);
      return {
        status,
        body: path === '/readyz' ? withDatabaseDetails(body, db) : body,
        contentType: 'application/json; charset=utf-8',
        headers: { 'cache-control': 'no-store' },
      };
    },
  });
  return [
    healthPage('/healthz'),
    healthPage('/readyz'),
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

/** Adds the reasons why the database is not used and why caches are bypassed. */
function withDatabaseDetails(body: string, db: Pick<Database, 'stats'>): string {
  const { notificationProblem, refusal } = db.stats();
  return JSON.stringify({
    ...(JSON.parse(body) as object),
    ...(refusal !== undefined && { database_refused: refusal }),
    notifications: notificationProblem ?? 'up',
  });
}
