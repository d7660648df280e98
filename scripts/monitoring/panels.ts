/** The panels of the Grafana dashboards. Every metric of Purser has one. */

export type Form =
  /** Per second; for counters. */
  | 'rate'
  /** Median, 95th and 99th percentile; for histograms. */
  | 'quantiles'
  /** The value of each process. */
  | 'value'
  /** The sum over all processes. */
  | 'sum'
  /** The largest value of a process; for values of the shared database, which every process reports. */
  | 'max';

export interface Panel {
  readonly title: string;
  readonly metric: string;
  readonly form: Form;
  readonly by?: string;
  /** A selector of labels, such as `outcome="deny"`. */
  readonly where?: string;
  readonly unit: 'reqps' | 's' | 'short' | 'bytes' | 'percentunit' | 'currencyUSD';
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: Readonly<Record<string, readonly Panel[]>>;
}

export const dashboards: readonly Dashboard[] = [
  {
    uid: 'purser-spend',
    title: 'Purser: decisions and spend',
    description: 'What Purser allows and denies, what it holds, and the calls through the gateway.',
    rows: {
      Decisions: [
        { title: 'Decisions', metric: 'svc_decisions_total', form: 'rate', by: 'outcome', unit: 'reqps' },
        {
          title: 'Decisions by surface',
          metric: 'svc_decisions_total',
          form: 'rate',
          by: 'surface',
          unit: 'reqps',
        },
        {
          title: 'Denials by reason',
          metric: 'svc_decisions_total',
          form: 'rate',
          by: 'code',
          where: 'outcome="deny"',
          unit: 'reqps',
        },
        {
          title: 'Fail-open decisions',
          metric: 'svc_fail_open_decisions_total',
          form: 'rate',
          by: 'outcome',
          unit: 'reqps',
        },
      ],
      Ledger: [
        { title: 'Ledger drift', metric: 'svc_ledger_drift', form: 'max', unit: 'currencyUSD' },
        {
          title: 'Ledger ahead of the clock',
          metric: 'svc_ledger_clock_ahead_seconds',
          form: 'max',
          unit: 's',
        },
        { title: 'Open holds', metric: 'svc_open_holds', form: 'max', unit: 'short' },
        { title: 'Overdue holds', metric: 'svc_overdue_holds', form: 'max', unit: 'short' },
        { title: 'Oldest overdue hold', metric: 'svc_oldest_overdue_hold_seconds', form: 'max', unit: 's' },
        {
          title: 'Fail-open decisions to import',
          metric: 'svc_fail_open_pending',
          form: 'sum',
          unit: 'short',
        },
        { title: 'Oldest of them', metric: 'svc_fail_open_oldest_seconds', form: 'max', unit: 's' },
        { title: 'Their size on disk', metric: 'svc_fail_open_spool_bytes', form: 'sum', unit: 'bytes' },
        { title: 'Price changes to review', metric: 'svc_price_changes_pending', form: 'max', unit: 'short' },
      ],
      Gateway: [
        {
          title: 'Calls by status',
          metric: 'svc_gateway_calls_total',
          form: 'rate',
          by: 'status',
          unit: 'reqps',
        },
        {
          title: 'Requests to providers',
          metric: 'svc_gateway_attempts_total',
          form: 'rate',
          by: 'outcome',
          unit: 'reqps',
        },
        { title: 'Added latency', metric: 'svc_gateway_added_seconds', form: 'quantiles', unit: 's' },
        {
          title: 'Calls faster than assumed',
          metric: 'svc_gateway_pace_exceeded_total',
          form: 'rate',
          unit: 'reqps',
        },
        { title: 'Calls in progress', metric: 'svc_gateway_calls_in_progress', form: 'sum', unit: 'short' },
        { title: 'Open streams', metric: 'svc_gateway_streams_open', form: 'sum', unit: 'short' },
        {
          title: 'Responses read without their client',
          metric: 'svc_gateway_drains',
          form: 'sum',
          unit: 'short',
        },
        {
          title: 'Settlements to post',
          metric: 'svc_gateway_settlements_pending',
          form: 'sum',
          unit: 'short',
        },
        {
          title: 'Circuit breakers',
          metric: 'svc_gateway_breakers',
          form: 'sum',
          by: 'state',
          unit: 'short',
        },
        {
          title: 'Open breakers',
          metric: 'svc_gateway_breaker_open',
          form: 'max',
          by: 'connection_id',
          unit: 'short',
        },
        {
          title: 'Breakers that opened',
          metric: 'svc_gateway_breaker_openings_total',
          form: 'rate',
          unit: 'reqps',
        },
        {
          title: 'Credentials that cannot be renewed',
          metric: 'svc_gateway_credentials_failing',
          form: 'sum',
          unit: 'short',
        },
        {
          title: 'Renewals of credentials',
          metric: 'svc_gateway_credential_renewals_total',
          form: 'rate',
          by: 'result',
          unit: 'reqps',
        },
      ],
      Telemetry: [
        {
          title: 'Calls reported by OpenTelemetry',
          metric: 'svc_telemetry_calls_total',
          form: 'rate',
          by: 'result',
          unit: 'reqps',
        },
      ],
    },
  },
  {
    uid: 'purser-service',
    title: 'Purser: service',
    description: 'Requests, the database, background work and the processes.',
    rows: {
      Requests: [
        {
          title: 'Requests by status',
          metric: 'svc_http_requests_total',
          form: 'rate',
          by: 'status',
          unit: 'reqps',
        },
        {
          title: 'Requests by route',
          metric: 'svc_http_requests_total',
          form: 'rate',
          by: 'route',
          unit: 'reqps',
        },
        { title: 'Latency', metric: 'svc_http_request_duration_seconds', form: 'quantiles', unit: 's' },
        {
          title: 'Latency of decisions',
          metric: 'svc_http_request_duration_seconds',
          form: 'quantiles',
          where: 'route="/v1/edge/decision"',
          unit: 's',
        },
        {
          title: 'Deprecated routes',
          metric: 'svc_deprecated_route_calls_total',
          form: 'rate',
          by: 'route',
          unit: 'reqps',
        },
      ],
      Database: [
        { title: 'Connections', metric: 'svc_database_connections', form: 'sum', by: 'state', unit: 'short' },
        {
          title: 'Change notifications arrive',
          metric: 'svc_notifications_healthy',
          form: 'value',
          unit: 'short',
        },
        { title: 'Timeline', metric: 'svc_database_timeline', form: 'value', unit: 'short' },
        {
          title: 'Former primaries refused',
          metric: 'svc_database_former_primaries',
          form: 'value',
          unit: 'short',
        },
      ],
      'Background work': [
        {
          title: 'Webhook deliveries',
          metric: 'svc_webhook_deliveries_total',
          form: 'rate',
          by: 'outcome',
          unit: 'reqps',
        },
        { title: 'Events waiting', metric: 'svc_events_waiting', form: 'max', unit: 'short' },
        { title: 'Oldest event', metric: 'svc_oldest_event_seconds', form: 'max', unit: 's' },
        { title: 'Deliveries waiting', metric: 'svc_webhook_deliveries_waiting', form: 'max', unit: 'short' },
        {
          title: 'Oldest overdue delivery',
          metric: 'svc_webhook_oldest_overdue_seconds',
          form: 'max',
          unit: 's',
        },
        {
          title: 'Organizations whose retention fails',
          metric: 'svc_retention_failing_orgs',
          form: 'max',
          unit: 'short',
        },
        {
          title: 'Audit attempts dropped',
          metric: 'svc_audit_attempts_dropped_total',
          form: 'rate',
          unit: 'reqps',
        },
        { title: 'Log lines dropped', metric: 'svc_log_lines_dropped_total', form: 'rate', unit: 'reqps' },
      ],
      Processes: [
        { title: 'CPU', metric: 'process_cpu_seconds_total', form: 'value', unit: 'percentunit' },
        { title: 'Memory', metric: 'process_resident_memory_bytes', form: 'value', unit: 'bytes' },
        {
          title: 'Event loop lag, 99th percentile',
          metric: 'nodejs_eventloop_lag_p99_seconds',
          form: 'value',
          unit: 's',
        },
        { title: 'Started', metric: 'process_start_time_seconds', form: 'value', unit: 's' },
      ],
    },
  },
];
