/** Metric of the price changes that wait for an operator. */
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../../platform/db/database.ts';
import { countPendingChanges } from './queries.ts';

export function registerPriceMetrics(registry: Registry, db: Database): void {
  let last = 0;
  new Gauge({
    name: 'svc_price_changes_pending',
    help: 'Changes of model prices that wait for an operator.',
    registers: [registry],
    async collect() {
      // Keeps the previous value, because the scrape must not fail, and database problems are reported elsewhere.
      last = await countPendingChanges(db).catch(() => last);
      this.set(last);
    },
  });
}
