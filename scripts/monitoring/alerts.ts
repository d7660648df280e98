/** Alert rules for Prometheus. Each names the section of the operations pages that says what to do. */
import type { RegisteredMetrics } from './registered-metrics.ts';

interface Alert {
  readonly name: string;
  /** The metrics that the expression uses. */
  readonly metrics: readonly string[];
  readonly expr: string;
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly runbook: string;
}

const alerts: readonly Alert[] = [
  {
    name: 'PurserLedgerDrift',
    metrics: ['svc_ledger_drift'],
    expr: 'max(svc_ledger_drift) != 0',
    for: '10m',
    severity: 'critical',
    summary: 'The ledger and a counter differ by {{ $value }} US dollars.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserLedgerClockAhead',
    metrics: ['svc_ledger_clock_ahead_seconds'],
    expr: 'max(svc_ledger_clock_ahead_seconds) > 60',
    for: '1m',
    severity: 'critical',
    summary:
      'The ledger is {{ $value | humanizeDuration }} ahead of the clock: spend counts in later windows.',
    runbook: 'operations/running#a-clock-that-was-wrong',
  },
  {
    name: 'PurserErrors',
    metrics: ['svc_http_requests_total'],
    expr:
      'sum(rate(svc_http_requests_total{status=~"5.."}[5m])) / sum(rate(svc_http_requests_total[5m])) > 0.01 ' +
      'and sum(rate(svc_http_requests_total[5m])) > 0.1',
    for: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the requests fail with a 5xx status.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserSlowDecisions',
    metrics: ['svc_http_request_duration_seconds'],
    expr: 'histogram_quantile(0.99, sum by (le) (rate(svc_http_request_duration_seconds_bucket{route="/v1/edge/decision"}[5m]))) > 0.1',
    for: '10m',
    severity: 'warning',
    summary: 'One in a hundred decisions takes longer than {{ $value | humanizeDuration }}.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserOverdueHolds',
    metrics: ['svc_oldest_overdue_hold_seconds'],
    expr: 'max(svc_oldest_overdue_hold_seconds) > 300',
    for: '10m',
    severity: 'warning',
    summary: 'Expired holds are not released: the oldest is overdue by {{ $value | humanizeDuration }}.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserFailOpen',
    metrics: ['svc_fail_open_decisions_total'],
    expr: 'sum(increase(svc_fail_open_decisions_total{outcome="spooled"}[10m])) > 0',
    for: '0m',
    severity: 'warning',
    summary: 'Decisions are allowed without the ledger.',
    runbook: 'operations/running#when-the-database-is-unavailable',
  },
  {
    name: 'PurserFailOpenRejected',
    metrics: ['svc_fail_open_decisions_total'],
    expr: 'sum(increase(svc_fail_open_decisions_total{outcome=~"rejected|refused"}[10m])) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'Fail-open decisions do not fit on the disk, or the ledger rejects them.',
    runbook: 'operations/running#when-the-database-is-unavailable',
  },
  {
    name: 'PurserFailOpenBacklog',
    metrics: ['svc_fail_open_oldest_seconds'],
    expr: 'max(svc_fail_open_oldest_seconds) > 600',
    for: '10m',
    severity: 'warning',
    summary: 'A fail-open decision waits for its import since {{ $value | humanizeDuration }}.',
    runbook: 'operations/running#when-the-database-is-unavailable',
  },
  {
    name: 'PurserNotificationsMissing',
    metrics: ['svc_notifications_healthy'],
    expr: 'min(svc_notifications_healthy) == 0',
    for: '5m',
    severity: 'warning',
    summary: 'Change notifications do not arrive: caches are bypassed and requests are slower.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserDatabaseWaits',
    metrics: ['svc_database_connections'],
    expr: 'sum(svc_database_connections{state="waiting"}) > 10',
    for: '5m',
    severity: 'warning',
    summary: '{{ $value }} requests wait for a database connection.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserSettlementsPending',
    metrics: ['svc_gateway_settlements_pending'],
    expr: 'min_over_time(sum(svc_gateway_settlements_pending)[10m:]) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'Ended gateway calls are not posted: {{ $value }} wait.',
    runbook: 'operations/running#gateway',
  },
  {
    name: 'PurserBreakerOpen',
    metrics: ['svc_gateway_breaker_open'],
    expr: 'max by (connection_id) (svc_gateway_breaker_open) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'The connection {{ $labels.connection_id }} to a provider fails.',
    runbook: 'operations/running#gateway',
  },
  {
    name: 'PurserCredentialRenewalFails',
    metrics: ['svc_gateway_credentials_failing'],
    expr: 'max by (instance) (svc_gateway_credentials_failing) > 0',
    for: '5m',
    severity: 'warning',
    summary: '{{ $value | humanize }} credentials of connections to providers cannot be renewed.',
    runbook: 'operations/running#gateway',
  },
  {
    name: 'PurserTelemetryRejected',
    metrics: ['svc_telemetry_calls_total'],
    expr: 'sum(increase(svc_telemetry_calls_total{result="rejected"}[15m])) > 0',
    for: '0m',
    severity: 'warning',
    summary: '{{ $value | humanize }} calls reported by OpenTelemetry could not be recorded.',
    runbook: 'guides/opentelemetry',
  },
  {
    name: 'PurserWebhooksLate',
    metrics: ['svc_webhook_oldest_overdue_seconds'],
    expr: 'max(svc_webhook_oldest_overdue_seconds) > 300',
    for: '10m',
    severity: 'warning',
    summary: 'Webhook deliveries are late: the oldest by {{ $value | humanizeDuration }}.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserRetentionFails',
    metrics: ['svc_retention_failing_orgs'],
    expr: 'max(svc_retention_failing_orgs) > 0',
    for: '1h',
    severity: 'warning',
    summary: 'Retention fails for {{ $value }} organizations.',
    runbook: 'operations/running#health-and-metrics',
  },
  {
    name: 'PurserAuditAttemptsDropped',
    metrics: ['svc_audit_attempts_dropped_total'],
    expr: 'sum(increase(svc_audit_attempts_dropped_total[15m])) > 0',
    for: '0m',
    severity: 'warning',
    summary: 'Rejected requests are missing from the audit log.',
    runbook: 'operations/running#health-and-metrics',
  },
];

export function alertRules(metrics: RegisteredMetrics): string {
  const rules = alerts.flatMap((alert) => {
    for (const name of alert.metrics) {
      metrics.helpOf(name);
    }
    return [
      `      - alert: ${alert.name}`,
      `        expr: ${text(alert.expr)}`,
      `        for: ${alert.for}`,
      '        labels:',
      `          severity: ${alert.severity}`,
      '        annotations:',
      `          summary: ${text(alert.summary)}`,
      `          runbook: ${text(`/docs/${alert.runbook}`)}`,
    ];
  });
  return [
    '# Alert rules for Prometheus, made by scripts/generate.ts from the metrics that the service registers.',
    'groups:',
    '  - name: purser',
    '    rules:',
    ...rules,
    '',
  ].join('\n');
}

/** A text in JSON is also one in YAML. */
function text(value: string): string {
  return JSON.stringify(value);
}
