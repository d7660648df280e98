/** The files in `deploy/monitoring`. */
import type { Registry } from 'prom-client';
import { alertRules } from './alerts.ts';
import { dashboardJson } from './grafana.ts';
import { dashboards } from './panels.ts';
import { registeredMetrics } from './registered-metrics.ts';

export function monitoringDocuments(registry: Registry): Record<string, string> {
  const metrics = registeredMetrics(registry);
  const shown = new Set(
    dashboards.flatMap(({ rows }) =>
      Object.values(rows).flatMap((panels) => panels.map(({ metric }) => metric)),
    ),
  );
  const missing = metrics.own.filter((name) => !shown.has(name));
  if (missing.length > 0) {
    throw new Error(`no panel in scripts/monitoring/panels.ts shows ${missing.join(', ')}`);
  }
  return {
    ...Object.fromEntries(
      dashboards.map((dashboard) => [
        `deploy/monitoring/grafana/${dashboard.uid}.json`,
        dashboardJson(dashboard, metrics),
      ]),
    ),
    'deploy/monitoring/prometheus-rules.yaml': alertRules(metrics),
  };
}
