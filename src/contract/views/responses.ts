// biome-ignore-all format: written by scripts/generate.ts
/** The JSON response of every operation of the API, by operation id. Generated from the OpenAPI document: do not edit, run `npm run generate`. */
export type AppliedConfiguration = {
  readonly org_id: string | null;
  readonly changes: readonly AppliedConfiguration_changes[];
  readonly unchanged: number;
  readonly not_in_file: readonly AppliedConfiguration_not_in_file[];
  readonly secrets: readonly AppliedConfiguration_secrets[];
};
export type AppliedConfiguration_changes = {
  readonly action: 'create' | 'update' | 'delete';
  readonly section: string;
  readonly label: string;
  readonly name: string;
  readonly id: string | null;
  readonly fields: readonly AppliedConfiguration_changes_fields[];
};
export type AppliedConfiguration_changes_fields = {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
};
export type AppliedConfiguration_not_in_file = {
  readonly section: string;
  readonly name: string;
  readonly id: string;
};
export type AppliedConfiguration_secrets = {
  readonly section: string;
  readonly name: string;
  readonly id: string;
  readonly secret: string;
};
export type Approval = {
  readonly id: string;
  readonly state: ApprovalState;
  readonly rule_id: string;
  readonly rule_version: number;
  readonly reason: string;
  readonly attempted: string;
  readonly key_id: string;
  readonly model: string;
  readonly action: string | null;
  readonly requested_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly uses: number | null;
  readonly uses_left: number | null;
  readonly uses_made: number;
  readonly ended_at: string | null;
  readonly ended_because: string | null;
  readonly run_ids: readonly string[];
};
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'used';
export type ApprovalSummary = {
  readonly id: string;
  readonly state: ApprovalState;
  readonly rule_id: string;
  readonly rule_version: number;
  readonly reason: string;
  readonly attempted: string;
  readonly key_id: string;
  readonly model: string;
  readonly action: string | null;
  readonly requested_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly uses: number | null;
  readonly uses_left: number | null;
  readonly uses_made: number;
  readonly ended_at: string | null;
  readonly ended_because: string | null;
};
export type ApprovalSummaryList = {
  readonly data: readonly ApprovalSummary[];
  readonly next_cursor: string | null;
};
export type AttributionField = 'member_id' | 'team' | 'department' | 'workflow' | 'deployment' | 'customer_id' | 'project' | 'tags';
export type AuditCheckpoint = {
  readonly id: string;
  readonly org_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
  readonly token: string;
};
export type AuditCheckpointList = {
  readonly data: readonly AuditCheckpoint[];
  readonly next_cursor: string | null;
};
export type AuditEntry = {
  readonly id: string;
  readonly seq: number;
  readonly at: string;
  readonly actor: AuditEntry_actor;
  readonly action: string;
  readonly outcome: 'success' | 'denied' | 'failure';
  readonly code: string | null;
  readonly target: AuditEntry_target;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly address: string | null;
  readonly trace_id: string | null;
  readonly redacted: boolean;
  readonly previous_hash: string;
  readonly hash: string;
};
export type AuditEntryList = {
  readonly data: readonly AuditEntry[];
  readonly next_cursor: string | null;
};
export type AuditEntry_actor = {
  readonly kind: string;
  readonly id: string;
};
export type AuditEntry_target = {
  readonly kind: string;
  readonly id: string;
};
export type AuditSigningKey = {
  readonly id: string;
  readonly algorithm: 'Ed25519';
  readonly public_key: string;
  readonly created_at: string;
  readonly previous: readonly AuditSigningKey_previous[];
};
export type AuditSigningKey_previous = {
  readonly id: string;
  readonly algorithm: 'Ed25519';
  readonly public_key: string;
  readonly created_at: string;
  readonly retired_at: string;
};
export type AuditVerification = {
  readonly valid: boolean;
  readonly checked_entries: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly removed_until_seq: number | null;
  readonly checkpoints_checked: number;
  readonly kept_checkpoint: 'checked' | 'removed_by_retention' | null;
  readonly findings: readonly AuditVerification_findings[];
  readonly head: AuditVerification_head;
};
export type AuditVerification_findings = {
  readonly kind: 'entry_changed' | 'entry_missing' | 'entry_moved' | 'tail_missing' | 'chain_rewritten' | 'head_wrong' | 'head_invalid' | 'anchor_invalid' | 'checkpoint_invalid' | 'key_invalid';
  readonly seq: number;
  readonly until_seq: number;
  readonly message: string;
};
export type AuditVerification_head = {
  readonly seq: number;
  readonly hash: string;
  readonly token: string;
};
export type BenchmarkParticipation = {
  readonly enabled: boolean;
  readonly industry: string | null;
  readonly size_band: string | null;
  readonly updated_at: string | null;
};
export type Budget = {
  readonly id: string;
  readonly name: string;
  readonly scope_kind: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | string;
  readonly scope_id: string | null;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement: Enforcement;
  readonly alert_thresholds: readonly number[];
  readonly timezone: string | null;
  readonly owner: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type BudgetList = {
  readonly data: readonly Budget[];
  readonly next_cursor: string | null;
};
export type BulkResult = {
  readonly accepted: number;
  readonly runs: readonly BulkResult_runs[];
  readonly known: readonly BulkResult_runs[];
  readonly errors?: readonly BulkResult_errors[];
};
export type BulkResult_errors = {
  readonly index: number;
  readonly code: string;
  readonly message: string;
  readonly fields: readonly BulkResult_errors_fields[];
  readonly details: Readonly<Record<string, unknown>>;
};
export type BulkResult_errors_fields = {
  readonly field: string;
  readonly code: string;
  readonly message?: string;
};
export type BulkResult_runs = {
  readonly index: number;
  readonly id: string;
  readonly external_id: string | null;
};
export type CapacityForecast = {
  readonly deployment: string | null;
  readonly horizon_days: number;
  readonly timezone: string;
  readonly method: 'none' | 'mean' | 'trend' | 'trend_and_weekday' | 'seasonal_naive' | 'weekday_mean' | 'smoothed_level' | 'holt_winters' | 'combined';
  readonly quality: ForecastQuality;
  readonly coverage: number;
  readonly history: CapacityForecast_history;
  readonly total: CapacityForecast_total;
  readonly total_band: CapacityForecast_total_band;
  readonly days: readonly CapacityForecast_days[];
  readonly teams: CapacityForecast_teams;
  readonly scenario: {
    readonly id: string;
    readonly name: string;
    readonly changes: CapacityScenario_changes;
    readonly unpriced_models: readonly string[];
  } | null;
  readonly baseline: {
    readonly total: CapacityForecast_total;
    readonly total_band: CapacityForecast_total_band;
    readonly days: readonly CapacityForecast_days[];
  } | null;
};
export type CapacityForecast_days = {
  readonly date: string;
  readonly cost_usd: CapacityForecast_total_band_cost_usd;
  readonly runs: CapacityForecast_total_band_runs;
  readonly tokens: CapacityForecast_total_band_runs;
};
export type CapacityForecast_history = {
  readonly from: string | null;
  readonly to: string | null;
  readonly days: number;
  readonly runs: number;
  readonly tokens: number;
  readonly cost_usd: string;
};
export type CapacityForecast_teams = {
  readonly observed: number;
  readonly cost_per_team_usd: string;
  readonly curve: {
    readonly family: 'power' | 'saturating';
    readonly elasticity: number;
    readonly weeks: number;
    readonly team_counts: number;
    readonly r_squared: number | null;
    readonly prior_weight: number;
    readonly quality: 'low' | 'fair' | 'good';
  } | null;
  readonly pays_up_to: {
    readonly expected: number | null;
    readonly low: number | null;
    readonly high: number | null;
  } | null;
  readonly points: readonly CapacityForecast_teams_points[];
};
export type CapacityForecast_teams_points = {
  readonly teams: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
  readonly return_low_usd: string;
  readonly return_high_usd: string;
};
export type CapacityForecast_total = {
  readonly cost_usd: string;
  readonly runs: number;
  readonly tokens: number;
};
export type CapacityForecast_total_band = {
  readonly cost_usd: CapacityForecast_total_band_cost_usd;
  readonly runs: CapacityForecast_total_band_runs;
  readonly tokens: CapacityForecast_total_band_runs;
};
export type CapacityForecast_total_band_cost_usd = {
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
};
export type CapacityForecast_total_band_runs = {
  readonly expected: number;
  readonly low: number | null;
  readonly high: number | null;
};
export type CapacityScenario = {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly changes: CapacityScenario_changes;
  readonly created_at: string;
  readonly updated_at: string;
};
export type CapacityScenarioList = {
  readonly data: readonly CapacityScenario[];
  readonly next_cursor: string | null;
};
export type CapacityScenario_changes = {
  readonly growth_percent_per_month?: number;
  readonly teams?: number;
  readonly model_mix?: readonly CapacityScenario_changes_model_mix[];
  readonly price_changes?: readonly CapacityScenario_changes_price_changes[];
  readonly seasonality?: CapacityScenario_changes_seasonality;
  readonly new_deployment?: CapacityScenario_changes_new_deployment;
};
export type CapacityScenario_changes_model_mix = {
  readonly from_model: string;
  readonly to_model: string;
  readonly percent: number;
};
export type CapacityScenario_changes_new_deployment = {
  readonly name: string;
  readonly daily_cost_usd: string;
  readonly daily_runs?: number;
  readonly daily_tokens?: number;
  readonly starts_on?: string;
  readonly ramp_days?: number;
};
export type CapacityScenario_changes_price_changes = {
  readonly model?: string;
  readonly percent: number;
  readonly from?: string;
};
export type CapacityScenario_changes_seasonality = {
  readonly weekday_percents?: readonly number[];
  readonly periods?: readonly CapacityScenario_changes_seasonality_periods[];
};
export type CapacityScenario_changes_seasonality_periods = {
  readonly from: string;
  readonly to: string;
  readonly percent: number;
};
export type ChainBudget = {
  readonly max_cost_usd: string | null;
  readonly max_depth: number | null;
  readonly max_tokens: number | null;
};
export type Cohort = {
  readonly id: string;
  readonly name: string;
  readonly criteria: Cohort_criteria;
  readonly created_at: string;
};
export type CohortFigures = {
  readonly id: string;
  readonly name: string;
  readonly criteria: Cohort_criteria;
  readonly created_at: string;
  readonly release: CohortFigures_release;
  readonly contributing_orgs: number;
  readonly minimum_cohort_size: number;
  readonly metrics: CohortFigures_metrics;
  readonly model_mix: readonly CohortFigures_model_mix[];
};
export type CohortFigures_metrics = {
  readonly cost_per_run_usd: CohortFigures_metrics_cost_per_run_usd;
  readonly cost_per_1k_tokens_usd: CohortFigures_metrics_cost_per_run_usd;
  readonly output_ratio: CohortFigures_metrics_output_ratio;
  readonly failure_rate: CohortFigures_metrics_output_ratio;
  readonly latency_p50_ms: CohortFigures_metrics_output_ratio;
  readonly latency_p95_ms: CohortFigures_metrics_output_ratio;
};
export type CohortFigures_metrics_cost_per_run_usd = {
  readonly q1: string;
  readonly median: string;
  readonly q3: string;
  readonly own: string | null;
  readonly own_quarter: number | null;
} | null;
export type CohortFigures_metrics_output_ratio = {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
  readonly own: number | null;
  readonly own_quarter: number | null;
} | null;
export type CohortFigures_model_mix = {
  readonly model: string;
  readonly share: number;
  readonly own_share: number;
};
export type CohortFigures_release = {
  readonly week: string;
  readonly from: string;
  readonly until: string;
};
export type CohortList = {
  readonly data: readonly Cohort[];
  readonly next_cursor: string | null;
};
export type Cohort_criteria = {
  readonly industry: string | null;
  readonly size_band: string | null;
};
export type ConfigurationPlan = {
  readonly org_id: string | null;
  readonly changes: readonly AppliedConfiguration_changes[];
  readonly unchanged: number;
  readonly not_in_file: readonly AppliedConfiguration_not_in_file[];
  readonly plan_digest: string;
};
export type Connection = {
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url: string;
  readonly api_key_last_four: string | null;
  readonly api_key_env: string | null;
  readonly api_key_set_at: string;
  readonly previous_key_until: string | null;
  readonly models: readonly string[] | null;
  readonly priority: number;
  readonly weight: number;
  readonly timeouts: Connection_timeouts;
  readonly headers: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly breaker: Connection_breaker;
};
export type ConnectionKind = 'openai' | 'anthropic' | 'openai_compatible' | 'azure_openai';
export type ConnectionList = {
  readonly data: readonly Connection[];
  readonly next_cursor: string | null;
};
export type Connection_breaker = {
  readonly state: 'closed' | 'open' | 'half_open';
  readonly consecutive_failures: number;
  readonly retry_at: string | null;
  readonly last_failure: {
    readonly at: string;
    readonly reason: 'status' | 'timeout' | 'unreachable' | 'key_unavailable';
    readonly status: number | null;
  } | null;
};
export type Connection_timeouts = {
  readonly connect_ms: number;
  readonly first_byte_ms: number;
  readonly idle_ms: number;
  readonly total_ms: number;
};
export type ConsoleLink = {
  readonly url: string;
  readonly org_id: string | null;
  readonly role: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly expires_at: string;
};
export type CreditPack = {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string | null;
  readonly amount_usd: string;
  readonly expires_at: string | null;
  readonly status: 'live' | 'expired' | 'voided';
  readonly created_at: string;
  readonly updated_at: string;
};
export type CreditPackList = {
  readonly data: readonly CreditPack[];
  readonly next_cursor: string | null;
};
export type Customer = {
  readonly customer_id: string;
  readonly cost_usd: string;
  readonly runs: number;
  readonly limits: readonly Customer_limits[];
  readonly credits_usd: string | null;
  readonly period?: Customer_period;
};
export type CustomerErasure = {
  readonly id: string;
  readonly pseudonym: string;
  readonly state: 'erasing' | 'erased';
  readonly requested_at: string;
  readonly finished_at: string | null;
  readonly changed: number;
};
export type CustomerErasureList = {
  readonly data: readonly CustomerErasure[];
  readonly next_cursor: string | null;
};
export type CustomerLimit = {
  readonly id: string;
  readonly customer_id: string;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement: Enforcement;
  readonly alert_thresholds: readonly number[];
  readonly timezone: string | null;
  readonly owner: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type CustomerLimitList = {
  readonly data: readonly CustomerLimit[];
  readonly next_cursor: string | null;
};
export type CustomerList = {
  readonly data: readonly Customer[];
  readonly next_cursor: string | null;
};
export type Customer_limits = {
  readonly id: string;
  readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year';
  readonly limit_usd: string;
  readonly spent_usd: string;
};
export type Customer_period = {
  readonly cost_usd: string;
  readonly runs: number;
  readonly last_active_on: string | null;
  readonly trend?: readonly string[];
};
export type Decision = {
  readonly decision: 'allow';
  readonly decision_id: string;
  readonly expires_at: string;
  readonly held_usd: string;
  readonly max_output_tokens: number | null;
  readonly limits: readonly Decision_limits[];
  readonly not_checked: readonly ('policies' | 'safety' | 'plan' | 'chain' | 'credits')[];
  readonly degraded?: boolean;
};
export type Decision_limits = {
  readonly id: string;
  readonly kind: 'rate' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer';
  readonly unit: LimitUnit;
  readonly remaining: string | number;
  readonly resets_at: string | null;
};
export type DeprecationUsage = {
  readonly route: string;
  readonly org_id: string | null;
  readonly org_name: string | null;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly calls: number;
  readonly first_called_at: string;
  readonly last_called_at: string;
};
export type DeprecationUsageList = {
  readonly data: readonly DeprecationUsage[];
  readonly next_cursor: string | null;
};
export type DifferenceCause = 'missing' | 'unsettled' | 'late' | 'price' | 'time_zone' | 'unknown' | 'rounding';
export type EmailSubscription = {
  readonly id: string;
  readonly recipients: readonly string[];
  readonly events: readonly string[];
  readonly digest: 'weekly' | 'none';
  readonly description: string | null;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly updated_at: string;
};
export type EmailSubscriptionDelivery = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly recipient: string | null;
  readonly state: 'waiting' | 'delivered' | 'failed';
  readonly failure: 'attempts_exhausted' | 'disabled' | 'queue_full' | 'event_gone' | 'rejected' | null;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly EmailSubscriptionDelivery_attempts[];
  readonly created_at: string;
  readonly ended_at: string | null;
};
export type EmailSubscriptionDeliveryList = {
  readonly data: readonly EmailSubscriptionDelivery[];
  readonly next_cursor: string | null;
};
export type EmailSubscriptionDelivery_attempts = {
  readonly at: string;
  readonly status: number | null;
  readonly latency_ms: number;
  readonly error: 'not_configured' | 'timeout' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'authentication' | 'network' | null;
  readonly response: string | null;
};
export type EmailSubscriptionList = {
  readonly data: readonly EmailSubscription[];
  readonly next_cursor: string | null;
};
export type Enforcement = 'block' | 'alert';
export type ErrorCode = {
  readonly code: string;
  readonly statuses: readonly number[];
  readonly details: readonly string[];
  readonly retry: 'after_change' | 'after_interval' | 'after_window' | 'with_backoff' | 'never';
  readonly meaning: string;
};
export type ErrorCodeList = {
  readonly data: readonly ErrorCode[];
  readonly next_cursor: string | null;
  readonly gateway: readonly ErrorCode[];
};
export type Eval = {
  readonly id: string;
  readonly suite: string;
  readonly model: string;
  readonly score: number;
  readonly samples: number;
  readonly ran_at: string;
  readonly source: string | null;
  readonly created_at: string;
};
export type EvalList = {
  readonly data: readonly Eval[];
  readonly next_cursor: string | null;
};
export type EventType = {
  readonly type: string;
  readonly meaning: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example: Readonly<Record<string, unknown>>;
};
export type EventTypeList = {
  readonly data: readonly EventType[];
  readonly next_cursor: string | null;
};
export type ExportedConfiguration = {
  readonly org_id: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly omitted: readonly ExportedConfiguration_omitted[];
};
export type ExportedConfiguration_omitted = {
  readonly section: string;
  readonly required: string;
};
export type Forecast = {
  readonly scope: Readonly<Record<string, string>>;
  readonly method: 'none' | 'mean' | 'trend' | 'trend_and_weekday' | 'seasonal_naive' | 'weekday_mean' | 'smoothed_level' | 'holt_winters' | 'combined';
  readonly quality: ForecastQuality;
  readonly backtest: {
    readonly mean_absolute_error: string;
    readonly seasonal_naive_error: string | null;
    readonly origins: number;
    readonly days_ahead: number;
  } | null;
  readonly history: readonly Forecast_history[];
  readonly today: Forecast_today;
  readonly forecast: readonly Forecast_forecast[];
  readonly total: Forecast_total;
  readonly limits: readonly Forecast_limits[];
};
export type ForecastList = {
  readonly measure: 'spend' | 'runs' | 'tokens';
  readonly unit: 'usd' | 'tokens' | 'requests';
  readonly timezone: string;
  readonly horizon_days: number;
  readonly coverage: number;
  readonly data: readonly Forecast[];
};
export type ForecastQuality = 'none' | 'low' | 'fair' | 'good';
export type Forecast_forecast = {
  readonly date: string;
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
};
export type Forecast_history = {
  readonly date: string;
  readonly value: string;
};
export type Forecast_limits = {
  readonly limit_id: string;
  readonly kind: LimitKind;
  readonly match: Readonly<Record<string, string>>;
  readonly unit: 'usd' | 'tokens' | 'requests';
  readonly limit: string;
  readonly used: string;
  readonly window_start: string | null;
  readonly window_end: string | null;
  readonly expires_at: string | null;
  readonly runs_out_on: string | null;
  readonly earliest_on: string | null;
  readonly latest_on: string | null;
  readonly runs_out_in_window: boolean;
  readonly expected_at_window_end: string | null;
};
export type Forecast_today = {
  readonly date: string;
  readonly value: string;
};
export type Forecast_total = {
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
};
export type Gateway = {
  readonly default_max_output_tokens: number;
  readonly min_output_tokens: number;
  readonly unseen_input: 'hold' | 'refuse';
  readonly unseen_input_tokens: number | null;
  readonly unknown_tokenizer: 'estimate' | 'bytes';
  readonly max_tool_calls: number;
  readonly unpriced_tool_call_usd: string | null;
  readonly hold: GatewayHold;
  readonly on_limit: GatewayOnLimit;
  readonly on_abort: GatewayOnAbort;
  readonly customer_from_body: boolean;
  readonly updated_at: string | null;
};
export type GatewayCall = {
  readonly decision_id: string;
  readonly run_id: string | null;
  readonly started_at: string;
  readonly state: 'waiting' | 'streaming' | 'draining' | 'settling';
  readonly key_id: string;
  readonly member_id: string | null;
  readonly model: string;
  readonly operation: 'chat' | 'responses' | 'embeddings' | 'messages';
  readonly stream: boolean;
  readonly connection_id: string | null;
  readonly connection_name: string | null;
  readonly attempts: number;
  readonly held_usd: string;
  readonly input_tokens: number;
  readonly max_output_tokens: number;
  readonly output_tokens: number | null;
  readonly output_tokens_at_most: number;
};
export type GatewayCallList = {
  readonly data: readonly GatewayCall[];
  readonly next_cursor: string | null;
  readonly process_id: string;
  readonly processes: number;
};
export type GatewayHold = 'worst_case' | 'expected';
export type GatewayOnAbort = 'drain' | 'close';
export type GatewayOnLimit = 'refuse' | 'fit' | 'fallback';
export type Hold = {
  readonly decision_id: string;
  readonly run_id: string | null;
  readonly surface: 'edge' | 'run';
  readonly held_usd: string;
  readonly tokens: number;
  readonly key_id: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly deployment: string | null;
  readonly department: string | null;
  readonly team: string | null;
  readonly customer_id: string | null;
  readonly chain_id: string | null;
  readonly member_id: string | null;
  readonly project: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly admitted_at: string;
  readonly expires_at: string;
  readonly limits: readonly Hold_limits[];
};
export type HoldList = {
  readonly data: readonly Hold[];
  readonly next_cursor: string | null;
};
export type Hold_limits = {
  readonly limit_id: string;
  readonly amount: string | number;
};
export type Installation = {
  readonly status: 'ok' | 'warn' | 'fail';
  readonly checks: readonly Installation_checks[];
  readonly version: string;
  readonly engine: 'embedded' | 'postgres';
  readonly database_version: string;
  readonly region: string | null;
  readonly process_started_at: string;
  readonly processes: readonly Installation_processes[];
  readonly migrations: Installation_migrations;
  readonly queues: Installation_queues;
  readonly holds: Installation_holds;
  readonly spools: Installation_spools;
  readonly ledger_drift_usd: number;
  readonly retention_failing_orgs: number;
  readonly prices: Installation_prices;
  readonly database_connections: Installation_database_connections;
  readonly jobs: readonly Installation_jobs[];
};
export type Installation_checks = {
  readonly id: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly finding: string;
  readonly remedy: string;
};
export type Installation_database_connections = {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
};
export type Installation_holds = {
  readonly open: number;
  readonly overdue: number;
  readonly overdue_seconds: number;
};
export type Installation_jobs = {
  readonly id: string;
  readonly every_seconds: number;
  readonly last_started_at: string | null;
  readonly last_ended_at: string | null;
  readonly running: boolean;
  readonly failures: number;
  readonly last_error: string | null;
  readonly last_failed_at: string | null;
};
export type Installation_migrations = {
  readonly applied: number;
  readonly last_applied: string | null;
  readonly last_applied_at: string | null;
  readonly due: readonly string[];
  readonly postponed: readonly string[];
};
export type Installation_prices = {
  readonly newest_at: string | null;
  readonly changes_pending: number;
};
export type Installation_processes = {
  readonly id: string;
  readonly version: string | null;
  readonly seen_at: string;
  readonly current: boolean;
};
export type Installation_queues = {
  readonly events_waiting: number;
  readonly events_oldest_seconds: number;
  readonly webhook_deliveries_waiting: number;
  readonly webhook_overdue_seconds: number;
};
export type Installation_spools = {
  readonly fail_open_decisions: number;
  readonly fail_open_bytes: number;
  readonly gateway_settlements: number;
};
export type IpAllowList = {
  readonly cidrs: readonly string[];
};
export type Key = {
  readonly id: string;
  readonly org_id: string | null;
  readonly name: string;
  readonly role: KeyRole;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly status: KeyStatus;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly rotated_from: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly attribution: Key_attribution;
  readonly attribution_locked: readonly AttributionField[];
};
export type KeyList = {
  readonly data: readonly Key[];
  readonly next_cursor: string | null;
};
export type KeyRole = 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
export type KeyStatus = 'active' | 'not_yet_valid' | 'expired' | 'revoked';
export type KeyWithSecret = {
  readonly id: string;
  readonly org_id: string | null;
  readonly name: string;
  readonly role: KeyRole;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly status: KeyStatus;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly rotated_from: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly attribution: Key_attribution;
  readonly attribution_locked: readonly AttributionField[];
  readonly secret: string;
};
export type Key_attribution = {
  readonly member_id?: string;
  readonly team?: string;
  readonly department?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly customer_id?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
};
export type LedgerReconciliation = {
  readonly balanced: boolean;
  readonly drift_usd: string;
  readonly checked_at: string;
  readonly totals: LedgerReconciliation_totals;
  readonly counters_checked: number;
  readonly counters: readonly LedgerReconciliation_counters[];
};
export type LedgerReconciliation_counters = {
  readonly key: string;
  readonly limit_id: string;
  readonly kind: LimitKind;
  readonly unit: LimitUnit;
  readonly window_start: string | null;
  readonly window_end: string | null;
  readonly settled: string | number;
  readonly settled_by_entries: string | number | null;
  readonly held: string | number;
  readonly held_by_holds: string | number;
  readonly drift: string | number;
};
export type LedgerReconciliation_totals = {
  readonly cost_usd: LedgerReconciliation_totals_cost_usd;
  readonly tokens: LedgerReconciliation_totals_cost_usd;
  readonly runs: LedgerReconciliation_totals_cost_usd;
  readonly uncovered_usd: LedgerReconciliation_totals_uncovered_usd;
  readonly credits_usd: LedgerReconciliation_totals_credits_usd;
  readonly prepaid_usd: LedgerReconciliation_totals_credits_usd;
};
export type LedgerReconciliation_totals_cost_usd = {
  readonly entries: string;
  readonly runs: string;
  readonly usage: string;
};
export type LedgerReconciliation_totals_credits_usd = {
  readonly entries: string;
  readonly tallies: string;
};
export type LedgerReconciliation_totals_uncovered_usd = {
  readonly entries: string;
  readonly runs: string;
};
export type Limit = {
  readonly id: string;
  readonly kind: LimitKind;
  readonly name: string | null;
  readonly unit: LimitUnit;
  readonly match: Readonly<Record<string, string>>;
  readonly enforcement: 'block' | 'alert';
  readonly limit: string | number;
  readonly standing: LimitValue_standing | null;
  readonly state: 'ok' | 'near' | 'exhausted' | null;
  readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
  readonly window_seconds: number | null;
  readonly timezone: string | null;
  readonly alert_thresholds: readonly number[];
  readonly owner: string | null;
  readonly expires_at: string | null;
  readonly created_at: string;
};
export type LimitKind = 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
export type LimitList = {
  readonly data: readonly Limit[];
  readonly next_cursor: string | null;
};
export type LimitPeriod = 'day' | 'week' | 'month' | 'quarter' | 'year';
export type LimitUnit = 'usd' | 'tokens' | 'requests' | 'concurrent';
export type LimitValue = {
  readonly values: Readonly<Record<string, string>>;
  readonly standing: LimitValue_standing;
  readonly state: 'ok' | 'near' | 'exhausted';
};
export type LimitValueList = {
  readonly data: readonly LimitValue[];
  readonly next_cursor: string | null;
};
export type LimitValue_standing = {
  readonly settled: string | number;
  readonly held: string | number;
  readonly remaining: string | number;
  readonly window_start: string | null;
  readonly window_end: string | null;
};
export type LimitWithHistory = {
  readonly id: string;
  readonly kind: LimitKind;
  readonly name: string | null;
  readonly unit: LimitUnit;
  readonly match: Readonly<Record<string, string>>;
  readonly enforcement: 'block' | 'alert';
  readonly limit: string | number;
  readonly standing: LimitValue_standing | null;
  readonly state: 'ok' | 'near' | 'exhausted' | null;
  readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
  readonly window_seconds: number | null;
  readonly timezone: string | null;
  readonly alert_thresholds: readonly number[];
  readonly owner: string | null;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly windows: readonly LimitWithHistory_windows[];
  readonly alerts: readonly LimitWithHistory_alerts[];
};
export type LimitWithHistory_alerts = {
  readonly threshold: number | null;
  readonly at: string;
  readonly window_start: string | null;
  readonly value: string | null;
};
export type LimitWithHistory_windows = {
  readonly window_start: string;
  readonly window_end: string;
  readonly settled: string | number;
};
export type LinearForecast = {
  readonly deployment: string;
  readonly teams: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
  readonly per_team: LinearForecast_per_team;
  readonly teams_observed: number;
  readonly history: LinearForecast_history;
};
export type LinearForecast_history = {
  readonly from: string;
  readonly to: string;
  readonly runs: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
};
export type LinearForecast_per_team = {
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
};
export type Member = {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: MemberRole;
  readonly status: MemberStatus;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly link_expires_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly joined_at: string | null;
  readonly last_sign_in_at: string | null;
  readonly removed_at: string | null;
};
export type MemberList = {
  readonly data: readonly Member[];
  readonly next_cursor: string | null;
};
export type MemberRole = 'viewer' | 'member' | 'admin' | 'owner';
export type MemberStatus = 'invited' | 'active' | 'removed';
export type MemberWithSignInLink = {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: MemberRole;
  readonly status: MemberStatus;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly link_expires_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly joined_at: string | null;
  readonly last_sign_in_at: string | null;
  readonly removed_at: string | null;
  readonly sign_in_url: string | null;
  readonly emailed: boolean;
};
export type Model = {
  readonly model: string;
  readonly provider: string | null;
  readonly price_version: string;
  readonly source: 'model' | 'org' | 'discount';
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly context_tokens: number | null;
  readonly max_output_tokens: number | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly aliases: readonly string[];
  readonly patterns: readonly string[];
  readonly latency_p50_ms: number | null;
  readonly latency_p95_ms: number | null;
};
export type ModelList = {
  readonly data: readonly Model[];
  readonly next_cursor: string | null;
};
export type ModelPrice = {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly follows_updates: boolean;
  readonly source: string | null;
  readonly effective_from: string;
  readonly created_at: string;
  readonly context_tokens: number | null;
  readonly max_output_tokens: number | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly aliases: readonly string[];
  readonly patterns: readonly string[];
};
export type ModelPriceHistory = {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly follows_updates: boolean;
  readonly source: string | null;
  readonly effective_from: string;
  readonly created_at: string;
  readonly context_tokens: number | null;
  readonly max_output_tokens: number | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly aliases: readonly string[];
  readonly patterns: readonly string[];
  readonly versions: readonly ModelPriceHistory_versions[];
};
export type ModelPriceHistory_versions = {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly follows_updates: boolean;
  readonly source: string | null;
  readonly effective_from: string;
  readonly created_at: string;
};
export type ModelPriceList = {
  readonly data: readonly ModelPrice[];
  readonly next_cursor: string | null;
};
export type ModelResolution = {
  readonly model: string;
  readonly priced_as: string | null;
  readonly provider: string | null;
  readonly price_version: string | null;
  readonly source: 'model' | 'org' | 'discount' | null;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly on_unpriced: 'refuse' | 'hold_default' | 'record' | null;
  readonly steps: readonly ModelResolution_steps[];
};
export type ModelResolution_steps = {
  readonly step: 'org_price' | 'exact' | 'alias' | 'pattern' | 'without_prefix' | 'without_date';
  readonly name: string;
  readonly model: string | null;
  readonly matched: boolean;
};
export type Model_modifiers = {
  readonly tier?: string;
  readonly above_input_tokens?: number;
  readonly cache_write_ttl?: '1h';
  readonly region?: string;
  readonly multiplier?: string;
  readonly input_usd_per_million?: string;
  readonly cached_input_usd_per_million?: string;
  readonly cache_write_usd_per_million?: string;
  readonly output_usd_per_million?: string;
  readonly audio_input_usd_per_million?: string;
  readonly audio_output_usd_per_million?: string;
  readonly image_usd?: string;
  readonly request_usd?: string;
};
export type OnUnpriced = 'refuse' | 'hold_default' | 'record';
export type OnUnsettled = 'release' | 'post_held';
export type Org = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
  readonly home_region: string | null;
  readonly residency_mode: 'forward' | 'strict';
  readonly on_unsettled: OnUnsettled;
  readonly status: 'active' | 'suspended';
  readonly suspension_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type OrgList = {
  readonly data: readonly Org[];
  readonly next_cursor: string | null;
};
export type OrgPlan = {
  readonly plan_id: string | null;
  readonly plan: OrgPlan_plan;
  readonly assigned_at: string | null;
};
export type OrgPlan_plan = {
  readonly id: string;
  readonly name: string;
  readonly monthly_runs: number | null;
  readonly monthly_tokens: number | null;
  readonly overage_policy: OveragePolicy;
  readonly created_at: string;
} | null;
export type OrgPrice = {
  readonly id: string;
  readonly org_id: string;
  readonly model: string;
  readonly status: PriceStatus;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly effective_from: string;
  readonly ended_at: string | null;
  readonly created_at: string;
};
export type OrgPriceHistory = {
  readonly id: string;
  readonly org_id: string;
  readonly model: string;
  readonly status: PriceStatus;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly effective_from: string;
  readonly ended_at: string | null;
  readonly created_at: string;
  readonly versions: readonly OrgPrice[];
};
export type OrgPriceList = {
  readonly data: readonly OrgPrice[];
  readonly next_cursor: string | null;
};
export type OrgRateLimits = {
  readonly read_rpm: number | null;
  readonly policies: readonly RateLimitPolicy[];
};
export type OrgSummary = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly status: 'active' | 'suspended';
  readonly created_at: string;
  readonly month_start: string;
  readonly spend_usd: string;
  readonly runs: number;
  readonly prepaid_balance_usd: string | null;
  readonly nearest_limit: OrgSummary_nearest_limit;
  readonly last_active_at: string | null;
  readonly as_of: string | null;
};
export type OrgSummaryList = {
  readonly data: readonly OrgSummary[];
  readonly next_cursor: string | null;
};
export type OrgSummary_nearest_limit = {
  readonly kind: LimitKind;
  readonly used_percent: number;
} | null;
export type OrgWebhookSecret = {
  readonly secret: string;
  readonly fingerprint: string;
  readonly created_at: string;
};
export type OveragePolicy = 'block' | 'allow';
export type Plan = {
  readonly id: string;
  readonly name: string;
  readonly monthly_runs: number | null;
  readonly monthly_tokens: number | null;
  readonly overage_policy: OveragePolicy;
  readonly created_at: string;
};
export type PlanList = {
  readonly data: readonly Plan[];
  readonly next_cursor: string | null;
};
export type PlatformRetentionPolicy = {
  readonly audit_days: number | null;
  readonly legal_hold: boolean;
  readonly updated_at: string | null;
  readonly failing_since: string | null;
  readonly failing: readonly RetainedKind[];
  readonly last_run: RetentionRun | null;
};
export type Policy = {
  readonly id: string;
  readonly version: number;
  readonly effect: PolicyEffect;
  readonly models: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expression: string | null;
  readonly priority: number;
  readonly reason: string;
  readonly enabled: boolean;
  readonly owner: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type PolicyEffect = 'allow' | 'block' | 'require_approval';
export type PolicyEvaluation = {
  readonly verdict: PolicyVerdict;
  readonly rule_id: string | null;
  readonly reason: string | null;
  readonly attempted: string | null;
  readonly considered: readonly PolicyEvaluation_considered[];
};
export type PolicyEvaluation_considered = {
  readonly rule_id: string;
  readonly priority: number;
  readonly effect: PolicyEffect;
  readonly outcome: 'decided' | 'passed_over' | 'failed' | 'not_reached' | 'disabled';
  readonly explanation: string;
};
export type PolicyList = {
  readonly data: readonly Policy[];
  readonly next_cursor: string | null;
};
export type PolicySimulation = {
  readonly runs: number;
  readonly unchanged: number;
  readonly changed: number;
  readonly draft: PolicySimulation_draft;
  readonly changes: readonly PolicySimulation_changes[];
};
export type PolicySimulation_changes = {
  readonly run_id: string;
  readonly model: string;
  readonly action: string | null;
  readonly charged_at: string;
  readonly now: PolicySimulation_changes_now;
  readonly draft: PolicySimulation_changes_now;
};
export type PolicySimulation_changes_now = {
  readonly verdict: PolicyVerdict;
  readonly rule_id: string | null;
  readonly reason: string | null;
};
export type PolicySimulation_draft = {
  readonly allow: number;
  readonly block: number;
  readonly require_approval: number;
  readonly error: number;
};
export type PolicyVariable = {
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
  readonly example: string;
};
export type PolicyVariableList = {
  readonly data: readonly PolicyVariable[];
  readonly next_cursor: string | null;
};
export type PolicyVerdict = 'allow' | 'block' | 'require_approval' | 'error';
export type PolicyVersion = {
  readonly version: number;
  readonly changed_at: string;
  readonly changed_by: string;
  readonly deleted: boolean;
  readonly policy: Policy;
};
export type PolicyVersionList = {
  readonly data: readonly PolicyVersion[];
  readonly next_cursor: string | null;
};
export type Prepaid = {
  readonly id: string | null;
  readonly enabled: boolean;
  readonly topped_up_usd: string;
};
export type PrepaidTopUp = {
  readonly id: string;
  readonly amount_usd: string;
  readonly reference: string | null;
  readonly created_at: string;
};
export type PrepaidTopUpList = {
  readonly data: readonly PrepaidTopUp[];
  readonly next_cursor: string | null;
};
export type PriceChange = {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: 'pending' | 'approved' | 'rejected' | 'superseded';
  readonly priced_as: string | null;
  readonly current_price_version: string;
  readonly rates: readonly PriceChange_rates[];
  readonly effective_from: string | null;
  readonly source: string;
  readonly created_at: string;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly price_version: string | null;
};
export type PriceChangeList = {
  readonly data: readonly PriceChange[];
  readonly next_cursor: string | null;
};
export type PriceChange_rates = {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly change_percent: number | null;
};
export type PriceStatus = 'in_force' | 'scheduled' | 'past' | 'withdrawn';
export type PriceUpdate = {
  readonly dry_run: boolean;
  readonly effective_from: string;
  readonly counts: PriceUpdate_counts;
  readonly models: readonly PriceUpdate_models[];
};
export type PriceUpdate_counts = {
  readonly added: number;
  readonly changed: number;
  readonly pending: number;
  readonly kept: number;
  readonly skipped: number;
  readonly unchanged: number;
};
export type PriceUpdate_models = {
  readonly model: string;
  readonly provider: string | null;
  readonly status: 'added' | 'changed' | 'pending' | 'kept' | 'skipped' | 'unchanged';
  readonly reason: 'operator_price' | 'name_of_operator_price' | 'rejected' | 'no_price' | 'too_many_versions' | null;
  readonly priced_as: string | null;
  readonly rates: readonly PriceChange_rates[];
  readonly price_version: string | null;
  readonly change_id: string | null;
  readonly source: string;
};
export type RateLimitKind = 'rate' | 'quota';
export type RateLimitPolicy = {
  readonly id: string;
  readonly name: string;
  readonly unit: RateLimitUnit;
  readonly limit: string | number;
  readonly kind: RateLimitKind;
  readonly window_seconds: number;
  readonly match: RateLimitPolicy_match;
  readonly burst: string | number | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type RateLimitPolicyList = {
  readonly data: readonly RateLimitPolicy[];
  readonly next_cursor: string | null;
  readonly read_rpm: number | null;
};
export type RateLimitPolicy_match = {
  readonly key_id?: string;
  readonly model?: string;
  readonly customer_id?: string;
  readonly route_class?: 'read' | 'write' | 'runs' | 'edge';
};
export type RateLimitUnit = 'usd' | 'tokens' | 'requests' | 'concurrent';
export type Refusal = {
  readonly id: string;
  readonly code: 'rate_limited' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'content_safety_blocked' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'no_model_passes_eval';
  readonly message: string;
  readonly operation: string;
  readonly key_id: string;
  readonly model: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly limit_id: string | null;
  readonly cause: {
    readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits' | 'policy' | 'detector';
    readonly id: string;
    readonly name: string | null;
    readonly owner: string | null;
    readonly deleted: boolean;
  } | null;
  readonly trace_id: string | null;
  readonly count: number;
  readonly first_at: string;
  readonly last_at: string;
};
export type RefusalList = {
  readonly data: readonly Refusal[];
  readonly next_cursor: string | null;
};
export type RefusalWithTraceIds = {
  readonly id: string;
  readonly code: 'rate_limited' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'content_safety_blocked' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'no_model_passes_eval';
  readonly message: string;
  readonly operation: string;
  readonly key_id: string;
  readonly model: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly limit_id: string | null;
  readonly cause: {
    readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits' | 'policy' | 'detector';
    readonly id: string;
    readonly name: string | null;
    readonly owner: string | null;
    readonly deleted: boolean;
  } | null;
  readonly trace_id: string | null;
  readonly count: number;
  readonly first_at: string;
  readonly last_at: string;
  readonly trace_ids: readonly string[];
};
export type Residency = {
  readonly home_region: string | null;
  readonly mode: 'forward' | 'strict';
};
export type RetainedKind = 'runs' | 'contents' | 'ledger_entries' | 'audit_entries' | 'support_access' | 'deliveries' | 'events';
export type RetentionPolicy = {
  readonly runs_days: number | null;
  readonly content_days: number;
  readonly audit_days: number | null;
  readonly deliveries_days: number;
  readonly idempotency_days: number;
  readonly legal_hold: boolean;
  readonly updated_at: string | null;
  readonly failing_since: string | null;
  readonly failing: readonly RetainedKind[];
  readonly last_run: RetentionRun | null;
};
export type RetentionRun = {
  readonly id: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly deleted: RetentionRun_deleted;
};
export type RetentionRunList = {
  readonly data: readonly RetentionRun[];
  readonly next_cursor: string | null;
};
export type RetentionRun_deleted = {
  readonly runs: number;
  readonly contents: number;
  readonly ledger_entries: number;
  readonly audit_entries: number;
  readonly support_access: number;
  readonly deliveries: number;
  readonly events: number;
};
export type RotatedWebhookSigning = {
  readonly event_version: WebhookEventVersion;
  readonly fingerprint: string | null;
  readonly created_at: string | null;
  readonly age_seconds: number | null;
  readonly overlap_ends_at: string | null;
  readonly previous_fingerprint: string | null;
  readonly secret: string;
};
export type RoutingDecision = {
  readonly model: string;
  readonly provider: string | null;
  readonly expected_cost_usd: string;
  readonly score: number | null;
  readonly latency_ms: number | null;
  readonly fallback: boolean;
  readonly considered: readonly RoutingDecision_considered[];
  readonly not_checked: readonly ('safety' | 'chain')[];
  readonly decision_id?: string;
  readonly expires_at?: string;
  readonly held_usd?: string;
};
export type RoutingDecision_considered = {
  readonly model: string;
  readonly reason: 'not_best' | 'no_price' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'not_in_region' | 'context_too_small' | 'output_too_long' | 'capability_missing' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'rate_limited' | 'not_evaluated' | 'evaluation_too_old' | 'too_few_samples' | 'score_too_low';
  readonly rank: number | null;
  readonly expected_cost_usd: string | null;
  readonly score: number | null;
  readonly latency_ms: number | null;
  readonly rule_id: string | null;
};
export type RoutingObjective = 'cost' | 'latency' | 'quality';
export type RoutingPolicy = {
  readonly candidates: readonly string[];
  readonly suite: string;
  readonly min_score: number;
  readonly min_samples: number;
  readonly max_age_days: number;
  readonly objective: RoutingObjective;
  readonly weights: RoutingPolicy_weights;
  readonly fallbacks: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
};
export type RoutingPolicy_weights = {
  readonly cost: number;
  readonly latency: number;
  readonly quality: number;
} | null;
export type Run = {
  readonly id: string;
  readonly external_id: string | null;
  readonly model: string;
  readonly served_model: string | null;
  readonly status: 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly provider: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly deployment: string | null;
  readonly department: string | null;
  readonly team: string | null;
  readonly customer_id: string | null;
  readonly chain_id: string | null;
  readonly member_id: string | null;
  readonly project: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly parent_run_id: string | null;
  readonly depth: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens: number;
  readonly output_tokens: number;
  readonly service_tier: string | null;
  readonly region: string | null;
  readonly units: Readonly<Record<string, number>>;
  readonly cost_usd: string | null;
  readonly adjustment_usd: string;
  readonly uncovered_usd: string;
  readonly value_usd: string | null;
  readonly latency_ms: number | null;
  readonly price_version: string | null;
  readonly priced_as: string | null;
  readonly price_source: 'price' | 'default_rates' | 'none' | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly content: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly decision_id: string | null;
  readonly held_usd: string | null;
  readonly expires_at: string | null;
  readonly marks: readonly ('over_hold' | 'late' | 'degraded' | 'backfill' | 'unpriced' | 'usage_missing' | 'unsettled' | 'usage_estimated' | 'truncated' | 'flagged')[];
  readonly flagged_by: readonly string[];
  readonly key_id: string;
  readonly charged_at: string;
  readonly created_at: string;
};
export type RunAdjustment = {
  readonly id: string;
  readonly run_id: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly uncovered_usd: string;
  readonly created_at: string;
  readonly actor: RunAdjustment_actor;
  readonly run: Run;
};
export type RunAdjustmentEntry = {
  readonly id: string;
  readonly run_id: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly uncovered_usd: string;
  readonly created_at: string;
  readonly actor: RunAdjustmentEntry_actor;
};
export type RunAdjustmentEntryList = {
  readonly data: readonly RunAdjustmentEntry[];
  readonly next_cursor: string | null;
};
export type RunAdjustmentEntry_actor = {
  readonly kind: string;
  readonly id: string;
} | null;
export type RunAdjustment_actor = {
  readonly kind: string;
  readonly id: string;
};
export type RunList = {
  readonly data: readonly Run[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly count?: RunList_count;
};
export type RunList_count = {
  readonly value: number;
  readonly exact: boolean;
};
export type SafetyAction = 'block' | 'flag';
export type SafetyDetector = {
  readonly id: string;
  readonly name: string;
  readonly kind: 'built_in' | 'regex' | 'words';
  readonly description: string | null;
  readonly enabled: boolean;
  readonly action: SafetyAction;
  readonly threshold: number;
  readonly pattern: string | null;
  readonly words: readonly string[] | null;
  readonly looks_at_characters: number;
  readonly created_at: string | null;
  readonly updated_at: string | null;
};
export type SafetyDetectorList = {
  readonly data: readonly SafetyDetector[];
  readonly next_cursor: string | null;
};
export type SafetyTest = {
  readonly verdict: 'pass' | 'flag' | 'block';
  readonly content_characters: number;
  readonly findings: readonly SafetyTest_findings[];
};
export type SafetyTest_findings = {
  readonly detector: string;
  readonly detector_id: string;
  readonly enabled: boolean;
  readonly action: SafetyAction;
  readonly fires: boolean;
  readonly matches: readonly SafetyTest_findings_matches[];
};
export type SafetyTest_findings_matches = {
  readonly start: number;
  readonly end: number;
  readonly sample: string;
};
export type SecretRotation = {
  readonly key_id: string;
  readonly complete: boolean;
  readonly seen: number;
  readonly reencrypted: number;
  readonly unreadable: number;
  readonly next_cursor: string | null;
};
export type Session = {
  readonly id: string;
  readonly method: 'key' | 'link' | 'invitation' | 'oidc' | 'saml';
  readonly key_id: string | null;
  readonly member_id: string | null;
  readonly name: string;
  readonly role: KeyRole;
  readonly address: string;
  readonly user_agent: string;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly current: boolean;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
  readonly ended_at: string | null;
};
export type SessionList = {
  readonly data: readonly Session[];
  readonly next_cursor: string | null;
};
export type Snapshot = {
  readonly id: string;
  readonly created_at: string;
  readonly bytes: number;
  readonly open_holds: number;
  readonly paused_ms: number;
};
export type SpendCap = {
  readonly id: string;
  readonly cap_usd: string;
  readonly timezone: string | null;
  readonly alert_thresholds: readonly number[];
  readonly owner: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type Sso = {
  readonly kind: 'oidc' | 'saml';
  readonly issuer: string | null;
  readonly client_id: string | null;
  readonly client_secret_set: boolean;
  readonly scope: string | null;
  readonly idp_entity_id: string | null;
  readonly idp_sso_url: string | null;
  readonly idp_certificate: string | null;
  readonly groups_attribute: string;
  readonly role_mapping: readonly Sso_role_mapping[];
  readonly default_role: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly allowed_email_domains: readonly string[];
  readonly just_in_time: boolean;
  readonly required: boolean;
  readonly login_url: string;
  readonly redirect_url: string | null;
  readonly org_redirect_url: string | null;
  readonly sp_entity_id: string | null;
  readonly acs_url: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};
export type SsoEndpoints = {
  readonly oidc: SsoEndpoints_oidc;
  readonly saml: SsoEndpoints_saml;
};
export type SsoEndpoints_oidc = {
  readonly login_url: string;
  readonly redirect_url: string;
  readonly org_redirect_url: string;
};
export type SsoEndpoints_saml = {
  readonly login_url: string;
  readonly sp_entity_id: string;
  readonly acs_url: string;
};
export type SsoTest = {
  readonly id: string;
  readonly kind: 'oidc' | 'saml';
  readonly status: 'pending' | 'started' | 'finished';
  readonly result: SsoTest_result;
  readonly created_at: string;
  readonly expires_at: string;
};
export type SsoTestWithUrl = {
  readonly id: string;
  readonly kind: 'oidc' | 'saml';
  readonly status: 'pending' | 'started' | 'finished';
  readonly result: SsoTest_result;
  readonly created_at: string;
  readonly expires_at: string;
  readonly start_url: string;
};
export type SsoTest_result = {
  readonly outcome: 'allowed' | 'refused' | 'failed';
  readonly reason: string | null;
  readonly detail: string | null;
  readonly subject: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly groups: readonly string[];
  readonly role: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly member: 'existing' | 'new' | null;
  readonly claims: Readonly<Record<string, unknown>>;
} | null;
export type Sso_role_mapping = {
  readonly group: string;
  readonly role: MemberRole;
};
export type Statement = {
  readonly id: string;
  readonly provider: string;
  readonly sources: readonly string[];
  readonly period_start: string;
  readonly period_end: string;
  readonly digest: string;
  readonly lines: number;
  readonly billed_usd: string;
  readonly project_dimension: string | null;
  readonly gateway_key_ids: readonly string[] | null;
  readonly drift_threshold_usd: string;
  readonly compared_at: string | null;
  readonly difference_usd: string | null;
  readonly drift_usd: string | null;
  readonly reconciled_at: string | null;
  readonly reconciled_runs: number;
  readonly reconciled_usd: string;
  readonly created_at: string;
};
export type StatementComparison = {
  readonly statement_id: string;
  readonly timezone: string;
  readonly total: StatementComparison_total;
  readonly data: readonly StatementDifference[];
  readonly next_cursor: string | null;
};
export type StatementComparison_total = {
  readonly billed_usd: string;
  readonly recorded_usd: string;
  readonly difference_usd: string;
  readonly causes: readonly StatementComparison_total_causes[];
};
export type StatementComparison_total_causes = {
  readonly cause: DifferenceCause;
  readonly usd: string;
  readonly rows: number;
};
export type StatementDifference = {
  readonly day: string;
  readonly model: string;
  readonly project: string | null;
  readonly billed: StatementDifference_billed;
  readonly recorded: StatementDifference_billed;
  readonly difference: StatementDifference_billed;
  readonly causes: readonly StatementDifference_causes[];
};
export type StatementDifference_billed = {
  readonly usd: string;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly output_tokens: number | null;
};
export type StatementDifference_causes = {
  readonly cause: DifferenceCause;
  readonly usd: string;
  readonly tokens: number | null;
  readonly provider_key_ids: readonly string[];
};
export type StatementList = {
  readonly data: readonly Statement[];
  readonly next_cursor: string | null;
};
export type SupportAccess = {
  readonly id: string;
  readonly at: string;
  readonly kind: 'grant_created' | 'grant_approved' | 'grant_denied' | 'grant_revoked' | 'session_opened' | 'request';
  readonly grant_id: string;
  readonly session_id: string | null;
  readonly actor_id: string;
  readonly method: string | null;
  readonly path: string | null;
  readonly operation: string | null;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly address: string | null;
  readonly trace_id: string | null;
};
export type SupportAccessList = {
  readonly data: readonly SupportAccess[];
  readonly next_cursor: string | null;
};
export type SupportAccessSettings = {
  readonly allowed: boolean;
  readonly approval_required: boolean;
};
export type SupportGrant = {
  readonly id: string;
  readonly org_id: string;
  readonly scope: readonly string[];
  readonly reason: string;
  readonly status: 'pending' | 'active' | 'denied' | 'expired' | 'revoked';
  readonly created_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly needs_approval: boolean;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly revoked_by: string | null;
  readonly revoked_at: string | null;
};
export type SupportGrantList = {
  readonly data: readonly SupportGrant[];
  readonly next_cursor: string | null;
};
export type SupportSession = {
  readonly id: string;
  readonly grant_id: string;
  readonly org_id: string;
  readonly scope: readonly string[];
  readonly operator_key_id: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly token: string;
};
export type TestEmails = {
  readonly data: readonly EmailSubscriptionDelivery[];
};
export type UnpricedModel = {
  readonly model: string;
  readonly runs: number;
  readonly repriced_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly first_used_at: string;
  readonly last_used_at: string;
  readonly priced_as: string | null;
};
export type UnpricedModelList = {
  readonly data: readonly UnpricedModel[];
  readonly next_cursor: string | null;
};
export type UnpricedModelTotal = {
  readonly model: string;
  readonly organizations: number;
  readonly runs: number;
  readonly repriced_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly first_used_at: string;
  readonly last_used_at: string;
};
export type UnpricedModelTotalList = {
  readonly data: readonly UnpricedModelTotal[];
  readonly next_cursor: string | null;
};
export type UnpricedPolicy = {
  readonly on_unpriced: OnUnpriced;
  readonly id: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly updated_at: string | null;
};
export type Usage = {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly previous?: Usage_previous;
  readonly total: Usage_total;
  readonly data: readonly UsageRow[];
  readonly next_cursor: string | null;
};
export type UsageRow = {
  readonly key_id?: string | null;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly workflow?: string | null;
  readonly deployment?: string | null;
  readonly department?: string | null;
  readonly team?: string | null;
  readonly customer_id?: string | null;
  readonly status?: string | null;
  readonly member_id?: string | null;
  readonly project?: string | null;
  readonly tags?: Readonly<Record<string, string | null>>;
  readonly hour?: string;
  readonly day?: string;
  readonly month?: string;
  readonly runs: number;
  readonly failed_runs: number;
  readonly failure_rate: number | null;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly return_usd: string;
  readonly return_ratio: number | null;
  readonly latency_p50_ms: number | null;
  readonly latency_p90_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly latency_p99_ms: number | null;
  readonly previous?: Usage_total_previous;
  readonly change?: Usage_total_change;
};
export type UsageSeries = {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly interval: 'hour' | 'day' | 'month';
  readonly points: readonly string[];
  readonly series: readonly UsageSeries_series[];
};
export type UsageSeries_series = {
  readonly kind: 'all' | 'value' | 'unset' | 'other';
  readonly value: string | null;
  readonly points: readonly UsageSeries_series_points[];
};
export type UsageSeries_series_points = {
  readonly runs: number;
  readonly failed_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly latency_p95_ms?: number | null;
} | null;
export type UsageValues = {
  readonly from: string;
  readonly to: string;
  readonly fields: UsageValues_fields;
  readonly tags: Readonly<Record<string, UsageValues_fields_key_id>>;
};
export type UsageValues_fields = {
  readonly key_id: UsageValues_fields_key_id;
  readonly model: UsageValues_fields_key_id;
  readonly provider: UsageValues_fields_key_id;
  readonly workflow: UsageValues_fields_key_id;
  readonly deployment: UsageValues_fields_key_id;
  readonly department: UsageValues_fields_key_id;
  readonly team: UsageValues_fields_key_id;
  readonly customer_id: UsageValues_fields_key_id;
  readonly status: UsageValues_fields_key_id;
  readonly member_id: UsageValues_fields_key_id;
  readonly project: UsageValues_fields_key_id;
};
export type UsageValues_fields_key_id = {
  readonly values: readonly string[];
  readonly more: boolean;
};
export type Usage_previous = {
  readonly from: string;
  readonly to: string;
};
export type Usage_total = {
  readonly runs: number;
  readonly failed_runs: number;
  readonly failure_rate: number | null;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly return_usd: string;
  readonly return_ratio: number | null;
  readonly latency_p50_ms: number | null;
  readonly latency_p90_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly latency_p99_ms: number | null;
  readonly previous?: Usage_total_previous;
  readonly change?: Usage_total_change;
};
export type Usage_total_change = {
  readonly runs: number;
  readonly runs_ratio: number | null;
  readonly cost_usd: string;
  readonly cost_ratio: number | null;
};
export type Usage_total_previous = {
  readonly runs: number;
  readonly failed_runs: number;
  readonly failure_rate: number | null;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly return_usd: string;
  readonly return_ratio: number | null;
  readonly latency_p50_ms: number | null;
  readonly latency_p90_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly latency_p99_ms: number | null;
};
export type Webhook = {
  readonly id: string;
  readonly url: string;
  readonly format: 'json' | 'slack' | 'teams';
  readonly events: readonly string[];
  readonly description: string | null;
  readonly status: 'active' | 'paused' | 'disabled';
  readonly disabled_reason: 'gone' | 'failing' | null;
  readonly disabled_at: string | null;
  readonly event_version: WebhookEventVersion;
  readonly created_at: string;
  readonly updated_at: string;
};
export type WebhookDelivery = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly state: 'waiting' | 'delivered' | 'failed';
  readonly failure: 'attempts_exhausted' | 'gone' | 'disabled' | 'queue_full' | 'event_gone' | null;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly WebhookDelivery_attempts[];
  readonly created_at: string;
  readonly ended_at: string | null;
};
export type WebhookDeliveryList = {
  readonly data: readonly WebhookDelivery[];
  readonly next_cursor: string | null;
};
export type WebhookDelivery_attempts = {
  readonly at: string;
  readonly status: number | null;
  readonly latency_ms: number;
  readonly error: 'timeout' | 'address_not_allowed' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'invalid_answer' | 'network' | null;
  readonly response: string | null;
};
export type WebhookEventVersion = 1 | 2;
export type WebhookList = {
  readonly data: readonly Webhook[];
  readonly next_cursor: string | null;
};
export type WebhookPayload = {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly org_id: string;
  readonly data: Readonly<Record<string, unknown>>;
};
export type WebhookRedelivery = {
  readonly redelivering: number;
  readonly more: boolean;
  readonly next_cursor: string | null;
};
export type WebhookSigning = {
  readonly event_version: WebhookEventVersion;
  readonly fingerprint: string | null;
  readonly created_at: string | null;
  readonly age_seconds: number | null;
  readonly overlap_ends_at: string | null;
  readonly previous_fingerprint: string | null;
};
export type WebhookWithSecret = {
  readonly id: string;
  readonly url: string;
  readonly format: 'json' | 'slack' | 'teams';
  readonly events: readonly string[];
  readonly description: string | null;
  readonly status: 'active' | 'paused' | 'disabled';
  readonly disabled_reason: 'gone' | 'failing' | null;
  readonly disabled_at: string | null;
  readonly event_version: WebhookEventVersion;
  readonly created_at: string;
  readonly updated_at: string;
  readonly secret?: string;
};

export interface Responses {
  readonly 'approvals.approve': ApprovalSummary;
  readonly 'approvals.deny': ApprovalSummary;
  readonly 'approvals.list': ApprovalSummaryList;
  readonly 'approvals.read': Approval;
  readonly 'audit.checkpoints.create': AuditCheckpoint;
  readonly 'audit.checkpoints.list': AuditCheckpointList;
  readonly 'audit.list': AuditEntryList;
  readonly 'audit.signing_key': AuditSigningKey;
  readonly 'audit.verify': AuditVerification;
  readonly 'benchmark_participation.put': BenchmarkParticipation;
  readonly 'benchmark_participation.read': BenchmarkParticipation;
  readonly 'benchmarks.create_cohort': Cohort;
  readonly 'benchmarks.list_cohorts': CohortList;
  readonly 'benchmarks.read_cohort': CohortFigures;
  readonly 'budgets.change': Budget;
  readonly 'budgets.create': Budget;
  readonly 'budgets.list': BudgetList;
  readonly 'budgets.read': Budget;
  readonly 'capacity_scenarios.change': CapacityScenario;
  readonly 'capacity_scenarios.create': CapacityScenario;
  readonly 'capacity_scenarios.list': CapacityScenarioList;
  readonly 'capacity_scenarios.read': CapacityScenario;
  readonly 'chain_budget.put': ChainBudget;
  readonly 'chain_budget.read': ChainBudget;
  readonly 'configuration.apply': AppliedConfiguration;
  readonly 'configuration.plan': ConfigurationPlan;
  readonly 'configuration.read': ExportedConfiguration;
  readonly 'connections.change': Connection;
  readonly 'connections.create': Connection;
  readonly 'connections.list': ConnectionList;
  readonly 'connections.read': Connection;
  readonly 'connections.rotate': Connection;
  readonly 'console_links.make': ConsoleLink;
  readonly 'credit_packs.change': CreditPack;
  readonly 'credit_packs.create': CreditPack;
  readonly 'credit_packs.list': CreditPackList;
  readonly 'credit_packs.read': CreditPack;
  readonly 'customer_limits.change': CustomerLimit;
  readonly 'customer_limits.create': CustomerLimit;
  readonly 'customer_limits.list': CustomerLimitList;
  readonly 'customer_limits.read': CustomerLimit;
  readonly 'customers.erasures.list': CustomerErasureList;
  readonly 'customers.list': CustomerList;
  readonly 'decisions.extend': Hold;
  readonly 'decisions.increase': Hold;
  readonly 'deprecations.own_usage': DeprecationUsageList;
  readonly 'deprecations.usage': DeprecationUsageList;
  readonly 'edge.decide': Decision;
  readonly 'email_subscriptions.change': EmailSubscription;
  readonly 'email_subscriptions.create': EmailSubscription;
  readonly 'email_subscriptions.deliveries.list': EmailSubscriptionDeliveryList;
  readonly 'email_subscriptions.deliveries.redeliver': EmailSubscriptionDelivery;
  readonly 'email_subscriptions.list': EmailSubscriptionList;
  readonly 'email_subscriptions.read': EmailSubscription;
  readonly 'email_subscriptions.test': TestEmails;
  readonly 'evals.create': Eval;
  readonly 'evals.list': EvalList;
  readonly 'evals.read': Eval;
  readonly 'forecasts.capacity': CapacityForecast;
  readonly 'forecasts.linear': LinearForecast;
  readonly 'forecasts.list': ForecastList;
  readonly 'gateway.calls.list': GatewayCallList;
  readonly 'gateway.put': Gateway;
  readonly 'gateway.read': Gateway;
  readonly 'holds.extend': Hold;
  readonly 'holds.increase': Hold;
  readonly 'holds.list': HoldList;
  readonly 'installation.read': Installation;
  readonly 'keys.change': Key;
  readonly 'keys.list': KeyList;
  readonly 'keys.mint': KeyWithSecret;
  readonly 'keys.read': Key;
  readonly 'keys.rotate': KeyWithSecret;
  readonly 'ledger.reconciliation': LedgerReconciliation;
  readonly 'limits.list': LimitList;
  readonly 'limits.read': LimitWithHistory;
  readonly 'limits.values': LimitValueList;
  readonly 'members.change': Member;
  readonly 'members.invite': MemberWithSignInLink;
  readonly 'members.list': MemberList;
  readonly 'members.read': Member;
  readonly 'members.sign_in_link': MemberWithSignInLink;
  readonly 'meta.deprecations': readonly {
    readonly route: string;
    readonly since: string;
    readonly sunset: string;
    readonly replacement?: string;
    readonly documentation: string;
  }[];
  readonly 'meta.errors': ErrorCodeList;
  readonly 'meta.events': EventTypeList;
  readonly 'meta.openapi': Readonly<Record<string, unknown>>;
  readonly 'models.list': ModelList;
  readonly 'models.org_prices.list': OrgPriceList;
  readonly 'models.org_prices.put': OrgPrice;
  readonly 'models.org_prices.read': OrgPriceHistory;
  readonly 'models.prices.list': ModelPriceList;
  readonly 'models.prices.put': ModelPrice;
  readonly 'models.prices.read': ModelPriceHistory;
  readonly 'models.resolve': ModelResolution;
  readonly 'operator_keys.list': KeyList;
  readonly 'operator_keys.mint': KeyWithSecret;
  readonly 'operator_keys.read': Key;
  readonly 'operator_keys.rotate': KeyWithSecret;
  readonly 'operator_sessions.list': SessionList;
  readonly 'org.change': Org;
  readonly 'org.ip_allow_list.put': IpAllowList;
  readonly 'org.ip_allow_list.read': IpAllowList;
  readonly 'org.read': Org;
  readonly 'orgs.change': Org;
  readonly 'orgs.configuration.apply': AppliedConfiguration;
  readonly 'orgs.configuration.plan': ConfigurationPlan;
  readonly 'orgs.configuration.read': ExportedConfiguration;
  readonly 'orgs.create': Org;
  readonly 'orgs.keys.mint': KeyWithSecret;
  readonly 'orgs.list': OrgList;
  readonly 'orgs.plan.put': OrgPlan;
  readonly 'orgs.plan.read': OrgPlan;
  readonly 'orgs.prepaid.put': Prepaid;
  readonly 'orgs.prepaid.read': Prepaid;
  readonly 'orgs.prepaid.top_up': PrepaidTopUp;
  readonly 'orgs.prepaid.top_ups.list': PrepaidTopUpList;
  readonly 'orgs.rate_limits.put': OrgRateLimits;
  readonly 'orgs.rate_limits.read': OrgRateLimits;
  readonly 'orgs.read': Org;
  readonly 'orgs.reinstate': Org;
  readonly 'orgs.summaries.list': OrgSummaryList;
  readonly 'orgs.summary.read': OrgSummary;
  readonly 'orgs.suspend': Org;
  readonly 'plan.read': OrgPlan;
  readonly 'plans.create': Plan;
  readonly 'plans.list': PlanList;
  readonly 'plans.read': Plan;
  readonly 'platform_audit.checkpoints.create': AuditCheckpoint;
  readonly 'platform_audit.checkpoints.list': AuditCheckpointList;
  readonly 'platform_audit.list': AuditEntryList;
  readonly 'platform_audit.signing_key.rotate': AuditSigningKey;
  readonly 'platform_audit.verify': AuditVerification;
  readonly 'platform_retention.put': PlatformRetentionPolicy;
  readonly 'platform_retention.read': PlatformRetentionPolicy;
  readonly 'policies.change': Policy;
  readonly 'policies.create': Policy;
  readonly 'policies.evaluate': PolicyEvaluation;
  readonly 'policies.list': PolicyList;
  readonly 'policies.read': Policy;
  readonly 'policies.simulate': PolicySimulation;
  readonly 'policies.variables': PolicyVariableList;
  readonly 'policies.versions': PolicyVersionList;
  readonly 'prepaid.read': Prepaid;
  readonly 'price_changes.approve': PriceChange;
  readonly 'price_changes.list': PriceChangeList;
  readonly 'price_changes.read': PriceChange;
  readonly 'price_changes.reject': PriceChange;
  readonly 'price_updates.create': PriceUpdate;
  readonly 'rate_limit_policies.list': RateLimitPolicyList;
  readonly 'refusals.list': RefusalList;
  readonly 'refusals.read': RefusalWithTraceIds;
  readonly 'residency.put': Residency;
  readonly 'residency.read': Residency;
  readonly 'retention_policy.put': RetentionPolicy;
  readonly 'retention_policy.read': RetentionPolicy;
  readonly 'retention_policy.runs.list': RetentionRunList;
  readonly 'routing.decide': RoutingDecision;
  readonly 'routing_policy.put': RoutingPolicy;
  readonly 'routing_policy.read': RoutingPolicy;
  readonly 'runs.adjust': RunAdjustment;
  readonly 'runs.adjustments.list': RunAdjustmentEntryList;
  readonly 'runs.complete': Run;
  readonly 'runs.create': Run;
  readonly 'runs.create_bulk': BulkResult;
  readonly 'runs.list': RunList;
  readonly 'runs.read': Run;
  readonly 'runs.reprice': RunAdjustment;
  readonly 'safety_detectors.change': SafetyDetector;
  readonly 'safety_detectors.create': SafetyDetector;
  readonly 'safety_detectors.list': SafetyDetectorList;
  readonly 'safety_detectors.read': SafetyDetector;
  readonly 'safety_detectors.test': SafetyTest;
  readonly 'secrets.rotate': SecretRotation;
  readonly 'sessions.list': SessionList;
  readonly 'snapshots.create': Snapshot;
  readonly 'spend_cap.put': SpendCap;
  readonly 'spend_cap.read': SpendCap;
  readonly 'sso.endpoints': SsoEndpoints;
  readonly 'sso.put': Sso;
  readonly 'sso.read': Sso;
  readonly 'sso.tests.create': SsoTestWithUrl;
  readonly 'sso.tests.read': SsoTest;
  readonly 'statements.compare': StatementComparison;
  readonly 'statements.create': Statement;
  readonly 'statements.list': StatementList;
  readonly 'statements.read': Statement;
  readonly 'statements.reconcile': Statement;
  readonly 'support.grants.create': SupportGrant;
  readonly 'support.grants.list': SupportGrantList;
  readonly 'support.grants.read': SupportGrant;
  readonly 'support.sessions.open': SupportSession;
  readonly 'support_access.grants.approve': SupportGrant;
  readonly 'support_access.grants.deny': SupportGrant;
  readonly 'support_access.grants.list': SupportGrantList;
  readonly 'support_access.list': SupportAccessList;
  readonly 'support_access.settings.put': SupportAccessSettings;
  readonly 'support_access.settings.read': SupportAccessSettings;
  readonly 'unpriced_models.list': UnpricedModelList;
  readonly 'unpriced_models.totals': UnpricedModelTotalList;
  readonly 'unpriced_policy.put': UnpricedPolicy;
  readonly 'unpriced_policy.read': UnpricedPolicy;
  readonly 'usage.read': Usage;
  readonly 'usage.series': UsageSeries;
  readonly 'usage.values': UsageValues;
  readonly 'webhooks.change': Webhook;
  readonly 'webhooks.create': WebhookWithSecret;
  readonly 'webhooks.deliveries.list': WebhookDeliveryList;
  readonly 'webhooks.deliveries.payload': WebhookPayload;
  readonly 'webhooks.deliveries.read': WebhookDelivery;
  readonly 'webhooks.deliveries.redeliver': WebhookDelivery;
  readonly 'webhooks.list': WebhookList;
  readonly 'webhooks.org_secret.read': OrgWebhookSecret;
  readonly 'webhooks.org_secret.rotate': OrgWebhookSecret;
  readonly 'webhooks.pause': Webhook;
  readonly 'webhooks.read': Webhook;
  readonly 'webhooks.redeliver': WebhookRedelivery;
  readonly 'webhooks.resume': Webhook;
  readonly 'webhooks.signing.read': WebhookSigning;
  readonly 'webhooks.signing.rotate': RotatedWebhookSigning;
  readonly 'webhooks.test': WebhookDelivery;
}

export type OperationId = keyof Responses;

/** The type of the rows of a list. */
export type Item<Id extends OperationId> = Responses[Id] extends { readonly data: readonly (infer Row)[] } ? Row : never;
