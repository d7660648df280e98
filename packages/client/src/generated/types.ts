// biome-ignore-all format: written by scripts/generate.ts
// biome-ignore-all assist/source/organizeImports: written by scripts/generate.ts
/** The resources, requests, lists and events of the API. Generated from the OpenAPI document: do not edit, run `npm run generate`. */

export interface AdjustRun {
  readonly amount_usd: string;
  readonly reason: string;
}

export interface AppliedConfiguration {
  readonly org_id: string | null;
  readonly changes: readonly AppliedConfiguration_changes[];
  readonly unchanged: number;
  readonly not_in_file: readonly AppliedConfiguration_not_in_file[];
  readonly secrets: readonly AppliedConfiguration_secrets[];
}

export interface AppliedConfiguration_changes {
  readonly action: 'create' | 'update' | 'delete';
  readonly section: string;
  readonly label: string;
  readonly name: string;
  readonly id: string | null;
  readonly fields: readonly AppliedConfiguration_changes_fields[];
}

export interface AppliedConfiguration_changes_fields {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface AppliedConfiguration_not_in_file {
  readonly section: string;
  readonly name: string;
  readonly id: string;
}

export interface AppliedConfiguration_secrets {
  readonly section: string;
  readonly name: string;
  readonly id: string;
  readonly secret: string;
}

export interface Approval {
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
}

export interface ApprovalApprovedEvent {
  readonly id: string;
  readonly type: 'approval.approved';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ApprovalEventData;
}

export interface ApprovalDeniedEvent {
  readonly id: string;
  readonly type: 'approval.denied';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ApprovalEventData;
}

export interface ApprovalEventData {
  readonly id: string;
  readonly state: string;
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
  readonly ended_because: string | null;
}

export interface ApprovalExpiredEvent {
  readonly id: string;
  readonly type: 'approval.expired';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ApprovalEventData;
}

export interface ApprovalRequestedEvent {
  readonly id: string;
  readonly type: 'approval.requested';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ApprovalEventData;
}

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'used';

export interface ApprovalSummary {
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
}

export interface ApprovalSummaryList {
  readonly data: readonly ApprovalSummary[];
  readonly next_cursor: string | null;
}

export interface ApprovalUsedUpEvent {
  readonly id: string;
  readonly type: 'approval.used_up';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ApprovalEventData;
}

export interface ApproveApproval {
  readonly uses?: number;
  readonly until?: string;
  readonly reason?: string;
}

export interface ApproveRaiseRequest {
  readonly amount_usd?: string;
  readonly until?: string;
  readonly reason?: string;
}

export type AttributionField = 'member_id' | 'team' | 'department' | 'workflow' | 'deployment' | 'customer_id' | 'project' | 'tags';

export interface AuditCheckpoint {
  readonly id: string;
  readonly org_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
  readonly token: string;
}

export interface AuditCheckpointEvent {
  readonly id: string;
  readonly type: 'audit.checkpoint';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: AuditEventData;
}

export interface AuditCheckpointList {
  readonly data: readonly AuditCheckpoint[];
  readonly next_cursor: string | null;
}

export interface AuditEntry {
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
}

export interface AuditEntryList {
  readonly data: readonly AuditEntry[];
  readonly next_cursor: string | null;
}

export interface AuditEntry_actor {
  readonly kind: string;
  readonly id: string;
}

export interface AuditEntry_target {
  readonly kind: string;
  readonly id: string;
}

export interface AuditEventData {
  readonly id: string;
  readonly org_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
  readonly token: string;
}

export interface AuditSigningKey {
  readonly id: string;
  readonly algorithm: 'Ed25519';
  readonly public_key: string;
  readonly created_at: string;
  readonly previous: readonly AuditSigningKey_previous[];
}

export interface AuditSigningKey_previous {
  readonly id: string;
  readonly algorithm: 'Ed25519';
  readonly public_key: string;
  readonly created_at: string;
  readonly retired_at: string;
}

export interface AuditVerification {
  readonly valid: boolean;
  readonly checked_entries: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly removed_until_seq: number | null;
  readonly checkpoints_checked: number;
  readonly kept_checkpoint: 'checked' | 'removed_by_retention' | null;
  readonly findings: readonly AuditVerification_findings[];
  readonly head: AuditVerification_head;
}

export interface AuditVerification_findings {
  readonly kind: 'entry_changed' | 'entry_missing' | 'entry_moved' | 'tail_missing' | 'chain_rewritten' | 'head_wrong' | 'head_invalid' | 'anchor_invalid' | 'checkpoint_invalid' | 'key_invalid';
  readonly seq: number;
  readonly until_seq: number;
  readonly message: string;
}

export interface AuditVerification_head {
  readonly seq: number;
  readonly hash: string;
  readonly token: string;
}

export interface BenchmarkParticipation {
  readonly enabled: boolean;
  readonly industry: string | null;
  readonly size_band: string | null;
  readonly updated_at: string | null;
}

export interface Budget {
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
}

export interface BudgetCreatedEvent {
  readonly id: string;
  readonly type: 'budget.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: BudgetEventData;
}

export interface BudgetDeletedEvent {
  readonly id: string;
  readonly type: 'budget.deleted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: BudgetEventData;
}

export interface BudgetEventData {
  readonly id: string;
  readonly period: string;
  readonly limit_usd: string;
  readonly enforcement: string;
  readonly updated_at: string;
  readonly name: string;
  readonly scope_kind: string;
  readonly scope_id: string | null;
}

export interface BudgetList {
  readonly data: readonly Budget[];
  readonly next_cursor: string | null;
}

export interface BudgetUpdatedEvent {
  readonly id: string;
  readonly type: 'budget.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: BudgetEventData;
}

export interface BulkResult {
  readonly accepted: number;
  readonly runs: readonly BulkResult_runs[];
  readonly known: readonly BulkResult_runs[];
  readonly errors?: readonly BulkResult_errors[];
}

export interface BulkResult_errors {
  readonly index: number;
  readonly code: string;
  readonly message: string;
  readonly fields: readonly BulkResult_errors_fields[];
  readonly details: Readonly<Record<string, unknown>>;
}

export interface BulkResult_errors_fields {
  readonly field: string;
  readonly code: string;
  readonly message?: string;
}

export interface BulkResult_runs {
  readonly index: number;
  readonly id: string;
  readonly external_id: string | null;
}

export interface CapacityForecast {
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
}

export interface CapacityForecast_days {
  readonly date: string;
  readonly cost_usd: CapacityForecast_total_band_cost_usd;
  readonly runs: CapacityForecast_total_band_runs;
  readonly tokens: CapacityForecast_total_band_runs;
}

export interface CapacityForecast_history {
  readonly from: string | null;
  readonly to: string | null;
  readonly days: number;
  readonly runs: number;
  readonly tokens: number;
  readonly cost_usd: string;
}

export interface CapacityForecast_teams {
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
}

export interface CapacityForecast_teams_points {
  readonly teams: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
  readonly return_low_usd: string;
  readonly return_high_usd: string;
}

export interface CapacityForecast_total {
  readonly cost_usd: string;
  readonly runs: number;
  readonly tokens: number;
}

export interface CapacityForecast_total_band {
  readonly cost_usd: CapacityForecast_total_band_cost_usd;
  readonly runs: CapacityForecast_total_band_runs;
  readonly tokens: CapacityForecast_total_band_runs;
}

export interface CapacityForecast_total_band_cost_usd {
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
}

export interface CapacityForecast_total_band_runs {
  readonly expected: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface CapacityScenario {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly changes: CapacityScenario_changes;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface CapacityScenarioList {
  readonly data: readonly CapacityScenario[];
  readonly next_cursor: string | null;
}

export interface CapacityScenario_changes {
  readonly growth_percent_per_month?: number;
  readonly teams?: number;
  readonly model_mix?: readonly CapacityScenario_changes_model_mix[];
  readonly price_changes?: readonly CapacityScenario_changes_price_changes[];
  readonly seasonality?: CapacityScenario_changes_seasonality;
  readonly new_deployment?: CapacityScenario_changes_new_deployment;
}

export interface CapacityScenario_changes_model_mix {
  readonly from_model: string;
  readonly to_model: string;
  readonly percent: number;
}

export interface CapacityScenario_changes_new_deployment {
  readonly name: string;
  readonly daily_cost_usd: string;
  readonly daily_runs?: number;
  readonly daily_tokens?: number;
  readonly starts_on?: string;
  readonly ramp_days?: number;
}

export interface CapacityScenario_changes_price_changes {
  readonly model?: string;
  readonly percent: number;
  readonly from?: string;
}

export interface CapacityScenario_changes_seasonality {
  readonly weekday_percents?: readonly number[];
  readonly periods?: readonly CapacityScenario_changes_seasonality_periods[];
}

export interface CapacityScenario_changes_seasonality_periods {
  readonly from: string;
  readonly to: string;
  readonly percent: number;
}

export interface ChainBudget {
  readonly max_cost_usd: string | null;
  readonly max_depth: number | null;
  readonly max_tokens: number | null;
}

export interface ChainBudgetEventData {
  readonly max_cost_usd: string | null;
  readonly max_depth: number | null;
  readonly max_tokens: number | null;
}

export interface ChainBudgetUpdatedEvent {
  readonly id: string;
  readonly type: 'chain_budget.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ChainBudgetEventData;
}

export interface ChangeBudget {
  readonly name?: string;
  readonly period?: LimitPeriod;
  readonly limit_usd?: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface ChangeCapacityScenario {
  readonly name?: string;
  readonly description?: string | null;
  readonly changes?: ChangeCapacityScenario_changes;
}

export interface ChangeCapacityScenario_changes {
  readonly growth_percent_per_month?: number;
  readonly teams?: number;
  readonly model_mix?: readonly ChangeCapacityScenario_changes_model_mix[];
  readonly price_changes?: readonly ChangeCapacityScenario_changes_price_changes[];
  readonly seasonality?: ChangeCapacityScenario_changes_seasonality;
  readonly new_deployment?: ChangeCapacityScenario_changes_new_deployment;
}

export interface ChangeCapacityScenario_changes_model_mix {
  readonly from_model: string;
  readonly to_model: string;
  readonly percent: number;
}

export interface ChangeCapacityScenario_changes_new_deployment {
  readonly name: string;
  readonly daily_cost_usd: string;
  readonly daily_runs?: number;
  readonly daily_tokens?: number;
  readonly starts_on?: string;
  readonly ramp_days?: number;
}

export interface ChangeCapacityScenario_changes_price_changes {
  readonly model?: string;
  readonly percent: number;
  readonly from?: string;
}

export interface ChangeCapacityScenario_changes_seasonality {
  readonly weekday_percents?: readonly number[];
  readonly periods?: readonly ChangeCapacityScenario_changes_seasonality_periods[];
}

export interface ChangeCapacityScenario_changes_seasonality_periods {
  readonly from: string;
  readonly to: string;
  readonly percent: number;
}

export interface ChangeConnection {
  readonly name?: string;
  readonly base_url?: string;
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: ChangeConnection_credentials;
  readonly region?: string | null;
  readonly models?: readonly string[] | null;
  readonly priority?: number;
  readonly weight?: number;
  readonly timeouts?: ChangeConnection_timeouts;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deployment_models?: Readonly<Record<string, string>>;
}

export interface ChangeConnection_credentials {
  readonly source: 'assume_role' | 'environment' | 'federation' | 'instance' | 'managed_identity' | 'metadata' | 'static' | 'web_identity';
  readonly role_arn?: string;
  readonly external_id?: string;
  readonly session_tags?: Readonly<Record<string, string>> | null;
  readonly access_key_id?: string;
  readonly audience?: string;
  readonly subject?: 'token_file' | 'aws';
  readonly service_account?: string;
  readonly tenant_id?: string;
  readonly client_id?: string;
  readonly identity_provider_id?: string;
  readonly service_account_id?: string;
  readonly federation_rule_id?: string;
  readonly organization_id?: string;
  readonly workspace_id?: string;
  readonly secret_access_key?: string;
  readonly session_token?: string;
  readonly service_account_key?: string;
  readonly client_secret?: string;
  readonly client_certificate?: string;
}

export interface ChangeConnection_timeouts {
  readonly connect_ms?: number;
  readonly first_byte_ms?: number;
  readonly idle_ms?: number;
  readonly total_ms?: number;
}

export interface ChangeCreditPack {
  readonly name?: string | null;
  readonly expires_at?: string | null;
}

export interface ChangeCustomerLimit {
  readonly period?: LimitPeriod;
  readonly limit_usd?: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface ChangeEmailSubscription {
  readonly recipients?: readonly string[];
  readonly events?: readonly string[];
  readonly digest?: 'weekly' | 'none';
  readonly description?: string | null;
  readonly enabled?: boolean;
}

export interface ChangeKey {
  readonly name?: string;
  readonly attribution?: ChangeKey_attribution;
  readonly attribution_locked?: readonly AttributionField[];
  readonly hold?: 'worst_case' | 'expected' | 'paced' | null;
  readonly reserve_for_running?: number | null;
}

export interface ChangeKey_attribution {
  readonly member_id?: string | null;
  readonly team?: string;
  readonly department?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly customer_id?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface ChangeMember {
  readonly name?: string;
  readonly role?: MemberRole;
}

export interface ChangeOrg {
  readonly name?: string;
  readonly slug?: string;
  readonly timezone?: string;
  readonly home_region?: string | null;
  readonly on_unsettled?: OnUnsettled;
}

export interface ChangeOwnOrg {
  readonly name?: string;
  readonly slug?: string;
  readonly timezone?: string;
  readonly on_unsettled?: OnUnsettled;
}

export interface ChangePolicy {
  readonly effect?: PolicyEffect;
  readonly models?: readonly string[] | null;
  readonly actions?: readonly string[] | null;
  readonly expression?: string | null;
  readonly priority?: number;
  readonly reason?: string;
  readonly enabled?: boolean;
  readonly owner?: string | null;
}

export interface ChangeSafetyDetector {
  readonly name?: string;
  readonly pattern?: string;
  readonly words?: readonly string[];
  readonly threshold?: number;
  readonly action?: SafetyAction;
  readonly enabled?: boolean;
}

export interface ChangeWebhook {
  readonly url?: string;
  readonly format?: 'json' | 'slack' | 'teams';
  readonly events?: readonly string[];
  readonly description?: string | null;
}

export interface Cohort {
  readonly id: string;
  readonly name: string;
  readonly criteria: Cohort_criteria;
  readonly created_at: string;
}

export interface CohortFigures {
  readonly id: string;
  readonly name: string;
  readonly criteria: Cohort_criteria;
  readonly created_at: string;
  readonly release: CohortFigures_release;
  readonly contributing_orgs: number;
  readonly minimum_cohort_size: number;
  readonly metrics: CohortFigures_metrics;
  readonly model_mix: readonly CohortFigures_model_mix[];
}

export interface CohortFigures_metrics {
  readonly cost_per_run_usd: CohortFigures_metrics_cost_per_run_usd;
  readonly cost_per_1k_tokens_usd: CohortFigures_metrics_cost_per_run_usd;
  readonly output_ratio: CohortFigures_metrics_output_ratio;
  readonly failure_rate: CohortFigures_metrics_output_ratio;
  readonly latency_p50_ms: CohortFigures_metrics_output_ratio;
  readonly latency_p95_ms: CohortFigures_metrics_output_ratio;
}

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

export interface CohortFigures_model_mix {
  readonly model: string;
  readonly share: number;
  readonly own_share: number;
}

export interface CohortFigures_release {
  readonly week: string;
  readonly from: string;
  readonly until: string;
}

export interface CohortList {
  readonly data: readonly Cohort[];
  readonly next_cursor: string | null;
}

export interface Cohort_criteria {
  readonly industry: string | null;
  readonly size_band: string | null;
}

export interface CompleteRun {
  readonly status?: 'succeeded' | 'failed' | 'cancelled';
  readonly served_model?: string;
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly cached_image_input_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly service_tier?: string;
  readonly region?: string;
  readonly cache_write_1h_tokens?: number;
  readonly units?: Readonly<Record<string, number>>;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly audio_input_tokens?: number;
  readonly image_input_tokens?: number;
  readonly audio_output_tokens?: number;
  readonly images?: number;
  readonly other_models?: readonly CompleteRun_other_models[];
  readonly cost_usd?: string;
  readonly stated_cost_usd?: string;
  readonly value_usd?: string;
  readonly latency_ms?: number;
  readonly finished_at?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CompleteRun_other_models {
  readonly model: string;
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly cached_image_input_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly cache_write_1h_tokens?: number;
  readonly image_input_tokens?: number;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
}

export interface Configuration {
  readonly version?: number;
  readonly org?: ChangeOrg;
  readonly budgets?: readonly Configuration_budgets[];
  readonly spend_cap?: Configuration_spend_cap;
  readonly chain_budget?: PutChainBudget;
  readonly customer_limits?: readonly Configuration_customer_limits[];
  readonly rate_limits?: PutOrgRateLimit;
  readonly prices?: readonly Configuration_prices[];
  readonly unpriced_models?: PutUnpricedPolicy;
  readonly policies?: readonly Configuration_policies[];
  readonly safety_detectors?: readonly Configuration_safety_detectors[];
  readonly routing_policy?: Configuration_routing_policy;
  readonly connections?: readonly Configuration_connections[];
  readonly gateway?: PutGateway;
  readonly webhooks?: readonly Configuration_webhooks[];
  readonly email_subscriptions?: readonly Configuration_email_subscriptions[];
  readonly retention_policy?: PutRetentionPolicy;
  readonly sso?: Configuration_sso;
  readonly members?: readonly Configuration_members[];
  readonly keys?: readonly Configuration_keys[];
  readonly ip_allow_list?: Configuration_ip_allow_list;
}

export interface ConfigurationPlan {
  readonly org_id: string | null;
  readonly changes: readonly AppliedConfiguration_changes[];
  readonly unchanged: number;
  readonly not_in_file: readonly AppliedConfiguration_not_in_file[];
  readonly plan_digest: string;
}

export interface Configuration_budgets {
  readonly id?: string;
  readonly name: string;
  readonly scope_kind: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | string;
  readonly scope_id?: string;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface Configuration_connections {
  readonly id?: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url?: string;
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: ChangeConnection_credentials;
  readonly region?: string | null;
  readonly models?: readonly string[] | null;
  readonly priority?: number;
  readonly weight?: number;
  readonly timeouts?: ChangeConnection_timeouts;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deployment_models?: Readonly<Record<string, string>>;
}

export interface Configuration_customer_limits {
  readonly id?: string;
  readonly customer_id: string;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface Configuration_email_subscriptions {
  readonly id?: string;
  readonly recipients: readonly string[];
  readonly events?: readonly string[];
  readonly digest?: 'weekly' | 'none';
  readonly description?: string | null;
  readonly enabled?: boolean;
}

export interface Configuration_ip_allow_list {
  readonly cidrs: readonly string[];
}

export interface Configuration_keys {
  readonly id?: string;
  readonly name: string;
  readonly role: MemberRole;
  readonly scopes: readonly ('org:read' | 'org:write' | 'keys:read' | 'keys:write' | 'runs:read' | 'runs:write' | 'budgets:read' | 'budgets:write' | 'customers:read' | 'customers:write' | 'credits:read' | 'credits:write' | 'policies:read' | 'policies:write' | 'routing:read' | 'routing:write' | 'webhooks:read' | 'webhooks:write' | 'audit:read' | 'audit:write' | 'benchmarks:read' | 'benchmarks:write' | 'forecasts:read' | 'forecasts:write' | 'edge:decide' | 'runs:backfill' | 'connections:read' | 'connections:write' | 'gateway:call')[];
  readonly not_before?: string;
  readonly expires_at?: string;
  readonly attribution?: ChangeKey_attribution;
  readonly attribution_locked?: readonly AttributionField[];
  readonly hold?: 'worst_case' | 'expected' | 'paced' | null;
  readonly reserve_for_running?: number | null;
}

export interface Configuration_members {
  readonly id?: string;
  readonly email: string;
  readonly name?: string;
  readonly role: MemberRole;
}

export interface Configuration_policies {
  readonly id?: string;
  readonly effect: PolicyEffect;
  readonly models?: readonly string[];
  readonly actions?: readonly string[];
  readonly expression?: string;
  readonly priority: number;
  readonly reason: string;
  readonly enabled?: boolean;
  readonly owner?: string | null;
}

export interface Configuration_prices {
  readonly id?: string;
  readonly model: string;
  readonly discount_percent?: string | null;
  readonly input_usd_per_million?: string | null;
  readonly cached_input_usd_per_million?: string | null;
  readonly cached_image_input_usd_per_million?: string | null;
  readonly cache_write_usd_per_million?: string | null;
  readonly output_usd_per_million?: string | null;
  readonly audio_input_usd_per_million?: string | null;
  readonly image_input_usd_per_million?: string | null;
  readonly audio_output_usd_per_million?: string | null;
  readonly image_usd?: string | null;
  readonly request_usd?: string | null;
  readonly modifiers?: readonly PutModelPrice_modifiers[] | null;
  readonly units?: Readonly<Record<string, string>> | null;
  readonly effective_from?: string;
}

export type Configuration_routing_policy = {
  readonly candidates: readonly string[];
  readonly suite: string;
  readonly min_score: number;
  readonly max_age_days: number;
  readonly objective: RoutingObjective;
  readonly min_samples?: number;
  readonly weights?: PutRoutingPolicy_weights;
  readonly fallbacks?: readonly string[];
} | null;

export interface Configuration_safety_detectors {
  readonly id?: string;
  readonly name: string;
  readonly kind: 'built_in' | 'regex' | 'words';
  readonly pattern?: string;
  readonly words?: readonly string[];
  readonly threshold?: number;
  readonly action: SafetyAction;
  readonly enabled?: boolean;
}

export type Configuration_spend_cap = {
  readonly cap_usd: string;
  readonly timezone?: string | null;
  readonly alert_thresholds?: readonly number[];
  readonly owner?: string | null;
} | null;

export type Configuration_sso = {
  readonly kind?: 'oidc' | 'saml';
  readonly issuer?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly scope?: string;
  readonly idp_entity_id?: string;
  readonly idp_sso_url?: string;
  readonly idp_certificate?: string;
  readonly groups_attribute?: string;
  readonly role_mapping?: readonly CreateSsoTest_settings_role_mapping[];
  readonly default_role?: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly allowed_email_domains?: readonly string[];
  readonly just_in_time?: boolean;
  readonly required?: boolean;
} | null;

export interface Configuration_webhooks {
  readonly id?: string;
  readonly url: string;
  readonly format?: 'json' | 'slack' | 'teams';
  readonly events?: readonly string[];
  readonly description?: string | null;
}

export interface Connection {
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url: string;
  readonly api_key_last_four: string | null;
  readonly api_key_env: string | null;
  readonly api_key_set_at: string;
  readonly credentials: {
    readonly source: 'assume_role' | 'environment' | 'federation' | 'instance' | 'managed_identity' | 'metadata' | 'static' | 'web_identity';
    readonly role_arn?: string;
    readonly external_id?: string;
    readonly session_tags?: Readonly<Record<string, string>> | null;
    readonly access_key_id?: string;
    readonly audience?: string;
    readonly subject?: string;
    readonly service_account?: string;
    readonly tenant_id?: string;
    readonly client_id?: string;
    readonly identity_provider_id?: string;
    readonly service_account_id?: string;
    readonly federation_rule_id?: string;
    readonly organization_id?: string;
    readonly workspace_id?: string;
  } | null;
  readonly region: string | null;
  readonly previous_key_until: string | null;
  readonly models: readonly string[] | null;
  readonly priority: number;
  readonly weight: number;
  readonly timeouts: Connection_timeouts;
  readonly headers: Readonly<Record<string, string>>;
  readonly deployment_models: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly formats: readonly string[];
  readonly breaker: Connection_breaker;
  readonly credential_state: {
    readonly is_failing: boolean;
    readonly renewed_at: string | null;
    readonly expires_at: string | null;
    readonly last_failure: {
      readonly at: string;
      readonly reason: string;
    } | null;
  } | null;
}

export type ConnectionKind = 'openai' | 'anthropic' | 'openai_compatible' | 'azure_openai' | 'gemini' | 'vertex' | 'bedrock';

export interface ConnectionList {
  readonly data: readonly Connection[];
  readonly next_cursor: string | null;
}

export interface Connection_breaker {
  readonly state: 'closed' | 'open' | 'half_open';
  readonly consecutive_failures: number;
  readonly retry_at: string | null;
  readonly last_failure: {
    readonly at: string;
    readonly reason: 'status' | 'timeout' | 'unreachable' | 'key_unavailable';
    readonly status: number | null;
  } | null;
}

export interface Connection_timeouts {
  readonly connect_ms: number;
  readonly first_byte_ms: number;
  readonly idle_ms: number;
  readonly total_ms: number;
}

export interface ConsoleLink {
  readonly url: string;
  readonly org_id: string | null;
  readonly role: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly expires_at: string;
}

export interface CreateBudget {
  readonly name: string;
  readonly scope_kind: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | string;
  readonly scope_id?: string;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface CreateCapacityScenario {
  readonly name: string;
  readonly description?: string;
  readonly changes: ChangeCapacityScenario_changes;
}

export interface CreateCohort {
  readonly name: string;
  readonly criteria: CreateCohort_criteria;
}

export interface CreateCohort_criteria {
  readonly industry?: string | null;
  readonly size_band?: string | null;
}

export interface CreateConnection {
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url?: string;
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: ChangeConnection_credentials;
  readonly region?: string | null;
  readonly models?: readonly string[] | null;
  readonly priority?: number;
  readonly weight?: number;
  readonly timeouts?: ChangeConnection_timeouts;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deployment_models?: Readonly<Record<string, string>>;
}

export interface CreateCreditPack {
  readonly customer_id: string;
  readonly amount_usd: string;
  readonly expires_at?: string | null;
  readonly name?: string | null;
}

export interface CreateCustomerLimit {
  readonly customer_id: string;
  readonly period: LimitPeriod;
  readonly limit_usd: string;
  readonly enforcement?: Enforcement;
  readonly alert_thresholds?: readonly number[];
  readonly timezone?: string | null;
  readonly owner?: string | null;
}

export interface CreateEmailSubscription {
  readonly recipients: readonly string[];
  readonly events?: readonly string[];
  readonly digest?: 'weekly' | 'none';
  readonly description?: string | null;
  readonly enabled?: boolean;
}

export interface CreateEval {
  readonly suite: string;
  readonly model: string;
  readonly score: number;
  readonly samples: number;
  readonly ran_at?: string;
  readonly source?: string;
}

export interface CreateOrg {
  readonly name: string;
  readonly slug?: string;
  readonly timezone?: string;
  readonly home_region?: string | null;
}

export interface CreatePlan {
  readonly name: string;
  readonly monthly_runs?: number | null;
  readonly monthly_tokens?: number | null;
  readonly overage_policy: OveragePolicy;
}

export interface CreatePolicy {
  readonly effect: PolicyEffect;
  readonly models?: readonly string[];
  readonly actions?: readonly string[];
  readonly expression?: string;
  readonly priority: number;
  readonly reason: string;
  readonly enabled?: boolean;
  readonly owner?: string | null;
}

export interface CreatePriceUpdate {
  readonly catalog: CreatePriceUpdate_catalog;
  readonly dry_run?: boolean;
  readonly effective_from?: string;
  readonly apply_large_changes?: boolean;
  readonly keep_missing_rates?: boolean;
}

export interface CreatePriceUpdate_catalog {
  readonly schema: number;
  readonly date: string;
  readonly sources: Readonly<Record<string, {
    readonly name: string;
    readonly url: string;
  }>>;
  readonly models: readonly CreatePriceUpdate_catalog_models[];
}

export interface CreatePriceUpdate_catalog_models {
  readonly model: string;
  readonly provider: string;
  readonly aliases?: readonly string[];
  readonly patterns?: readonly string[];
  readonly source: string;
  readonly as_of: string;
  readonly source_url?: string;
  readonly rates?: CreatePriceUpdate_catalog_models_rates;
  readonly tiers?: Readonly<Record<string, {
    readonly input_usd_per_million?: string;
    readonly cached_input_usd_per_million?: string;
    readonly cached_image_input_usd_per_million?: string;
    readonly cache_write_usd_per_million?: string;
    readonly output_usd_per_million?: string;
    readonly audio_input_usd_per_million?: string;
    readonly image_input_usd_per_million?: string;
    readonly audio_output_usd_per_million?: string;
    readonly image_usd?: string;
    readonly request_usd?: string;
    readonly cache_write_1h_usd_per_million?: string;
    readonly multiplier?: string;
  }>>;
  readonly long_context?: readonly CreatePriceUpdate_catalog_models_long_context[];
  readonly regions?: Readonly<Record<string, string>>;
  readonly units?: Readonly<Record<string, string>>;
  readonly context_tokens?: number;
  readonly max_output_tokens?: number;
  readonly capabilities?: readonly string[];
  readonly deprecated_on?: string;
}

export interface CreatePriceUpdate_catalog_models_long_context {
  readonly input_usd_per_million?: string;
  readonly cached_input_usd_per_million?: string;
  readonly cached_image_input_usd_per_million?: string;
  readonly cache_write_usd_per_million?: string;
  readonly output_usd_per_million?: string;
  readonly audio_input_usd_per_million?: string;
  readonly image_input_usd_per_million?: string;
  readonly audio_output_usd_per_million?: string;
  readonly image_usd?: string;
  readonly request_usd?: string;
  readonly cache_write_1h_usd_per_million?: string;
  readonly above_input_tokens: number;
  readonly tiers?: Readonly<Record<string, CreatePriceUpdate_catalog_models_rates>>;
}

export interface CreatePriceUpdate_catalog_models_rates {
  readonly input_usd_per_million?: string;
  readonly cached_input_usd_per_million?: string;
  readonly cached_image_input_usd_per_million?: string;
  readonly cache_write_usd_per_million?: string;
  readonly output_usd_per_million?: string;
  readonly audio_input_usd_per_million?: string;
  readonly image_input_usd_per_million?: string;
  readonly audio_output_usd_per_million?: string;
  readonly image_usd?: string;
  readonly request_usd?: string;
  readonly cache_write_1h_usd_per_million?: string;
}

export interface CreateRaise {
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly scope_id?: string;
}

export interface CreateRaiseRequest {
  readonly limit_id: string;
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly scope_id?: string;
}

export interface CreateRun {
  readonly external_id?: string;
  readonly model: string;
  readonly status?: 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly provider?: string;
  readonly action?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly department?: string;
  readonly team?: string;
  readonly customer_id?: string;
  readonly chain_id?: string;
  readonly member_id?: string;
  readonly project?: string;
  readonly parent_run_id?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly served_model?: string;
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly cached_image_input_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly service_tier?: string;
  readonly region?: string;
  readonly cache_write_1h_tokens?: number;
  readonly units?: Readonly<Record<string, number>>;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly audio_input_tokens?: number;
  readonly image_input_tokens?: number;
  readonly audio_output_tokens?: number;
  readonly images?: number;
  readonly other_models?: readonly CompleteRun_other_models[];
  readonly cost_usd?: string;
  readonly stated_cost_usd?: string;
  readonly value_usd?: string;
  readonly latency_ms?: number;
  readonly finished_at?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly estimated_cost_usd?: string;
  readonly max_output_tokens?: number;
  readonly expires_in_seconds?: number;
  readonly started_at?: string;
  readonly content?: string;
  readonly decision_id?: string;
}

export interface CreateRuns {
  readonly runs: readonly CreateRun[];
}

export interface CreateSafetyDetector {
  readonly name: string;
  readonly kind: 'regex' | 'words';
  readonly pattern?: string;
  readonly words?: readonly string[];
  readonly threshold?: number;
  readonly action: SafetyAction;
  readonly enabled?: boolean;
}

export interface CreateSsoTest {
  readonly settings?: CreateSsoTest_settings;
}

export interface CreateSsoTest_settings {
  readonly kind?: 'oidc' | 'saml';
  readonly issuer?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly scope?: string;
  readonly idp_entity_id?: string;
  readonly idp_sso_url?: string;
  readonly idp_certificate?: string;
  readonly groups_attribute?: string;
  readonly role_mapping?: readonly CreateSsoTest_settings_role_mapping[];
  readonly default_role?: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly allowed_email_domains?: readonly string[];
  readonly just_in_time?: boolean;
  readonly required?: boolean;
}

export interface CreateSsoTest_settings_role_mapping {
  readonly group: string;
  readonly role: MemberRole;
}

export interface CreateStatement {
  readonly pages?: readonly CreateStatement_pages[];
  readonly csv?: string;
  readonly project_dimension?: string;
  readonly gateway_key_ids?: readonly string[];
  readonly drift_threshold_usd?: string;
}

export type CreateStatement_pages = Readonly<Record<string, never>>;

export interface CreateSupportGrant {
  readonly org_id: string;
  readonly scope: readonly ('org:read' | 'keys:read' | 'runs:read' | 'runs:write' | 'budgets:read' | 'budgets:write' | 'customers:read' | 'customers:write' | 'credits:read' | 'credits:write' | 'policies:read' | 'policies:write' | 'routing:read' | 'routing:write' | 'webhooks:read' | 'audit:read' | 'audit:write' | 'benchmarks:read' | 'benchmarks:write' | 'forecasts:read' | 'forecasts:write' | 'edge:decide' | 'runs:backfill' | 'connections:read')[];
  readonly reason: string;
  readonly expires_at: string;
}

export interface CreateWebhook {
  readonly url: string;
  readonly format?: 'json' | 'slack' | 'teams';
  readonly events?: readonly string[];
  readonly description?: string | null;
  readonly create_secret?: boolean;
}

export interface CreditPack {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string | null;
  readonly amount_usd: string;
  readonly expires_at: string | null;
  readonly status: 'live' | 'expired' | 'voided';
  readonly created_at: string;
  readonly updated_at: string;
}

export interface CreditPackCreatedEvent {
  readonly id: string;
  readonly type: 'credit_pack.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CreditPackEventData;
}

export interface CreditPackEventData {
  readonly id: string;
  readonly customer_id: string;
  readonly amount_usd: string;
  readonly expires_at: string | null;
  readonly status: string;
}

export interface CreditPackList {
  readonly data: readonly CreditPack[];
  readonly next_cursor: string | null;
}

export interface CreditPackUpdatedEvent {
  readonly id: string;
  readonly type: 'credit_pack.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CreditPackEventData;
}

export interface CreditPackVoidedEvent {
  readonly id: string;
  readonly type: 'credit_pack.voided';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CreditPackEventData;
}

export interface Customer {
  readonly customer_id: string;
  readonly cost_usd: string;
  readonly runs: number;
  readonly limits: readonly Customer_limits[];
  readonly credits_usd: string | null;
  readonly period?: Customer_period;
}

export interface CustomerErasure {
  readonly id: string;
  readonly pseudonym: string;
  readonly state: 'erasing' | 'erased';
  readonly requested_at: string;
  readonly finished_at: string | null;
  readonly changed: number;
}

export interface CustomerErasureList {
  readonly data: readonly CustomerErasure[];
  readonly next_cursor: string | null;
}

export interface CustomerLimit {
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
}

export interface CustomerLimitCreatedEvent {
  readonly id: string;
  readonly type: 'customer_limit.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CustomerLimitEventData;
}

export interface CustomerLimitDeletedEvent {
  readonly id: string;
  readonly type: 'customer_limit.deleted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CustomerLimitEventData;
}

export interface CustomerLimitEventData {
  readonly id: string;
  readonly period: string;
  readonly limit_usd: string;
  readonly enforcement: string;
  readonly updated_at: string;
  readonly customer_id: string;
}

export interface CustomerLimitList {
  readonly data: readonly CustomerLimit[];
  readonly next_cursor: string | null;
}

export interface CustomerLimitUpdatedEvent {
  readonly id: string;
  readonly type: 'customer_limit.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: CustomerLimitEventData;
}

export interface CustomerList {
  readonly data: readonly Customer[];
  readonly next_cursor: string | null;
}

export interface Customer_limits {
  readonly id: string;
  readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year';
  readonly limit_usd: string;
  readonly spent_usd: string;
}

export interface Customer_period {
  readonly cost_usd: string;
  readonly runs: number;
  readonly last_active_on: string | null;
  readonly trend?: readonly string[];
}

export interface Decision {
  readonly decision: 'allow';
  readonly decision_id: string;
  readonly expires_at: string;
  readonly held_usd: string;
  readonly max_output_tokens: number | null;
  readonly limits: readonly Decision_limits[];
  readonly not_checked: readonly ('policies' | 'safety' | 'plan' | 'chain' | 'credits')[];
  readonly degraded?: boolean;
}

export interface DecisionRequest {
  readonly model: string;
  readonly provider?: string;
  readonly action?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly department?: string;
  readonly team?: string;
  readonly customer_id?: string;
  readonly chain_id?: string;
  readonly member_id?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly input_tokens?: number;
  readonly images?: number;
  readonly service_tier?: string;
  readonly region?: string;
  readonly cache_write_1h_tokens?: number;
  readonly units?: Readonly<Record<string, number>>;
  readonly estimated_cost_usd?: string;
  readonly max_output_tokens?: number;
  readonly expires_in_seconds?: number;
  readonly fit?: boolean;
  readonly min_output_tokens?: number;
}

export interface Decision_limits {
  readonly id: string;
  readonly kind: 'rate' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer';
  readonly unit: LimitUnit;
  readonly remaining: string | number;
  readonly resets_at: string | null;
}

export interface DeprecationUsage {
  readonly route: string;
  readonly org_id: string | null;
  readonly org_name: string | null;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly calls: number;
  readonly first_called_at: string;
  readonly last_called_at: string;
}

export interface DeprecationUsageList {
  readonly data: readonly DeprecationUsage[];
  readonly next_cursor: string | null;
}

export type DifferenceCause = 'missing' | 'unsettled' | 'late' | 'price' | 'time_zone' | 'unknown' | 'rounding';

export interface DigestEventData {
  readonly week_start: string;
  readonly week_end: string;
  readonly timezone: string;
  readonly spend_usd: string;
  readonly previous_spend_usd: string;
  readonly runs: number;
  readonly previous_runs: number;
  readonly top_customers: readonly DigestEventData_top_customers[];
  readonly top_models: readonly DigestEventData_top_models[];
  readonly top_kinds: readonly DigestEventData_top_kinds[];
  readonly cache_savings_usd: string;
  readonly limits_near: readonly DigestEventData_limits_near[];
  readonly blocked_requests: number;
  readonly blocked_by: readonly DigestEventData_blocked_by[];
  readonly unpriced_models: readonly DigestEventData_unpriced_models[];
  readonly expiring_keys: readonly DigestEventData_expiring_keys[];
}

export interface DigestEventData_blocked_by {
  readonly code: string;
  readonly requests: number;
}

export interface DigestEventData_expiring_keys {
  readonly key_id: string;
  readonly name: string;
  readonly expires_at: string;
}

export interface DigestEventData_limits_near {
  readonly limit_id: string;
  readonly kind: string;
  readonly name: string | null;
  readonly match: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly limit: string | number;
  readonly used: string | number;
  readonly used_percent: number;
}

export interface DigestEventData_top_customers {
  readonly customer_id: string;
  readonly usd: string;
  readonly previous_usd: string;
}

export interface DigestEventData_top_kinds {
  readonly kind: string;
  readonly usd: string;
  readonly previous_usd: string;
}

export interface DigestEventData_top_models {
  readonly model: string;
  readonly usd: string;
  readonly previous_usd: string;
}

export interface DigestEventData_unpriced_models {
  readonly model: string;
  readonly runs: number;
}

export interface DigestWeeklyEvent {
  readonly id: string;
  readonly type: 'digest.weekly';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: DigestEventData;
}

export interface EdgeDecisionsImportedEvent {
  readonly id: string;
  readonly type: 'edge.decisions_imported';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: EdgeEventData;
}

export interface EdgeEventData {
  readonly decisions: number;
  readonly held_usd: string;
  readonly reduced: number;
  readonly first_decided_at: string;
  readonly last_decided_at: string;
}

export interface EmailSubscription {
  readonly id: string;
  readonly recipients: readonly string[];
  readonly events: readonly string[];
  readonly digest: 'weekly' | 'none';
  readonly description: string | null;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface EmailSubscriptionDelivery {
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
}

export interface EmailSubscriptionDeliveryList {
  readonly data: readonly EmailSubscriptionDelivery[];
  readonly next_cursor: string | null;
}

export interface EmailSubscriptionDelivery_attempts {
  readonly at: string;
  readonly status: number | null;
  readonly latency_ms: number;
  readonly error: 'not_configured' | 'timeout' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'authentication' | 'network' | null;
  readonly response: string | null;
}

export interface EmailSubscriptionList {
  readonly data: readonly EmailSubscription[];
  readonly next_cursor: string | null;
}

export type Enforcement = 'block' | 'alert';

export interface ErrorCode {
  readonly code: string;
  readonly statuses: readonly number[];
  readonly details: readonly string[];
  readonly retry: 'after_change' | 'after_interval' | 'after_window' | 'with_backoff' | 'never';
  readonly meaning: string;
}

export interface ErrorCodeList {
  readonly data: readonly ErrorCode[];
  readonly next_cursor: string | null;
  readonly gateway: readonly ErrorCode[];
}

export interface Eval {
  readonly id: string;
  readonly suite: string;
  readonly model: string;
  readonly score: number;
  readonly samples: number;
  readonly ran_at: string;
  readonly source: string | null;
  readonly created_at: string;
}

export interface EvalDeletedEvent {
  readonly id: string;
  readonly type: 'eval.deleted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: EvalEventData;
}

export interface EvalEventData {
  readonly id: string;
  readonly suite: string;
  readonly model: string;
  readonly score: number;
  readonly samples: number;
  readonly ran_at: string;
  readonly source: string | null;
}

export interface EvalList {
  readonly data: readonly Eval[];
  readonly next_cursor: string | null;
}

export interface EvalRecordedEvent {
  readonly id: string;
  readonly type: 'eval.recorded';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: EvalEventData;
}

export interface EvaluatePolicy {
  readonly model: string;
  readonly provider?: string;
  readonly action?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly department?: string;
  readonly team?: string;
  readonly customer_id?: string;
  readonly member_id?: string;
  readonly project?: string;
  readonly cost_usd?: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly tags?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly key_id?: string;
  readonly role?: 'viewer' | 'member' | 'admin' | 'owner';
  readonly at?: string;
  readonly rules?: readonly CreatePolicy[];
}

export interface EventType {
  readonly type: string;
  readonly meaning: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example: Readonly<Record<string, unknown>>;
}

export interface EventTypeList {
  readonly data: readonly EventType[];
  readonly next_cursor: string | null;
}

export interface ExportedConfiguration {
  readonly org_id: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly omitted: readonly ExportedConfiguration_omitted[];
}

export interface ExportedConfiguration_omitted {
  readonly section: string;
  readonly required: string;
}

export interface ExtendHold {
  readonly seconds: number;
}

export interface Forecast {
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
}

export interface ForecastList {
  readonly measure: 'spend' | 'runs' | 'tokens';
  readonly unit: 'usd' | 'tokens' | 'requests';
  readonly timezone: string;
  readonly horizon_days: number;
  readonly coverage: number;
  readonly data: readonly Forecast[];
}

export type ForecastQuality = 'none' | 'low' | 'fair' | 'good';

export interface Forecast_forecast {
  readonly date: string;
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
}

export interface Forecast_history {
  readonly date: string;
  readonly value: string;
}

export interface Forecast_limits {
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
}

export interface Forecast_today {
  readonly date: string;
  readonly value: string;
}

export interface Forecast_total {
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
}

export interface Gateway {
  readonly default_max_output_tokens: number;
  readonly min_output_tokens: number;
  readonly unseen_input: 'hold' | 'refuse';
  readonly unseen_input_tokens: number | null;
  readonly unknown_tokenizer: 'estimate' | 'bytes';
  readonly max_tool_calls: number;
  readonly unpriced_tool_call_usd: string | null;
  readonly hold: GatewayHold;
  readonly reserve_for_running: number;
  readonly plain_calls: GatewayPlainCalls;
  readonly on_limit: GatewayOnLimit;
  readonly on_abort: GatewayOnAbort;
  readonly customer_from_body: boolean;
  readonly updated_at: string | null;
}

export interface GatewayCall {
  readonly decision_id: string;
  readonly run_id: string | null;
  readonly started_at: string;
  readonly state: 'waiting' | 'streaming' | 'draining' | 'settling';
  readonly key_id: string;
  readonly member_id: string | null;
  readonly model: string;
  readonly operation: 'chat' | 'responses' | 'embeddings' | 'messages' | 'gemini' | 'gemini_embeddings' | 'vertex_embeddings' | 'converse';
  readonly stream: boolean;
  readonly connection_id: string | null;
  readonly connection_name: string | null;
  readonly attempts: number;
  readonly held_usd: string;
  readonly input_tokens: number;
  readonly max_output_tokens: number;
  readonly output_tokens: number | null;
  readonly output_tokens_at_most: number;
}

export interface GatewayCallList {
  readonly data: readonly GatewayCall[];
  readonly next_cursor: string | null;
  readonly process_id: string;
  readonly processes: number;
}

export interface GatewayEventData {
  readonly model: string;
  readonly connection_id: string;
  readonly run_id: string | null;
  readonly output_tokens: number;
  readonly assumed_output_tokens: number;
  readonly duration_ms: number;
}

export type GatewayHold = 'worst_case' | 'expected' | 'paced';

export type GatewayOnAbort = 'drain' | 'close';

export type GatewayOnLimit = 'refuse' | 'fit' | 'fallback';

export interface GatewayPaceExceededEvent {
  readonly id: string;
  readonly type: 'gateway.pace_exceeded';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: GatewayEventData;
}

export type GatewayPlainCalls = 'as_sent' | 'streamed';

export interface Hold {
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
}

export interface HoldList {
  readonly data: readonly Hold[];
  readonly next_cursor: string | null;
}

export interface Hold_limits {
  readonly limit_id: string;
  readonly amount: string | number;
}

export interface IncreaseHold {
  readonly output_tokens?: number;
  readonly cost_usd?: string;
  readonly tokens?: number;
}

export interface Installation {
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
  readonly credentials_failing: number;
  readonly ledger_drift_usd: number;
  readonly retention_failing_orgs: number;
  readonly prices: Installation_prices;
  readonly database_connections: Installation_database_connections;
  readonly jobs: readonly Installation_jobs[];
}

export interface Installation_checks {
  readonly id: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly finding: string;
  readonly remedy: string;
}

export interface Installation_database_connections {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
}

export interface Installation_holds {
  readonly open: number;
  readonly overdue: number;
  readonly overdue_seconds: number;
}

export interface Installation_jobs {
  readonly id: string;
  readonly every_seconds: number;
  readonly last_started_at: string | null;
  readonly last_ended_at: string | null;
  readonly running: boolean;
  readonly failures: number;
  readonly last_error: string | null;
  readonly last_failed_at: string | null;
}

export interface Installation_migrations {
  readonly applied: number;
  readonly last_applied: string | null;
  readonly last_applied_at: string | null;
  readonly due: readonly string[];
  readonly postponed: readonly string[];
}

export interface Installation_prices {
  readonly newest_at: string | null;
  readonly changes_pending: number;
}

export interface Installation_processes {
  readonly id: string;
  readonly version: string | null;
  readonly seen_at: string;
  readonly current: boolean;
}

export interface Installation_queues {
  readonly events_waiting: number;
  readonly events_oldest_seconds: number;
  readonly webhook_deliveries_waiting: number;
  readonly webhook_overdue_seconds: number;
}

export interface Installation_spools {
  readonly fail_open_decisions: number;
  readonly fail_open_bytes: number;
  readonly gateway_settlements: number;
}

export interface InviteMember {
  readonly email: string;
  readonly name?: string;
  readonly role: MemberRole;
}

export interface IpAllowList {
  readonly cidrs: readonly string[];
}

export interface Key {
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
  readonly hold?: 'worst_case' | 'expected' | 'paced';
  readonly reserve_for_running?: number;
}

export interface KeyCreatedEvent {
  readonly id: string;
  readonly type: 'key.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: KeyEventData;
}

export interface KeyEventData {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly status: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly rotated_from: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly attribution?: KeyEventData_attribution;
  readonly attribution_locked?: readonly string[];
}

export type KeyEventData_attribution = Readonly<Record<string, never>>;

export interface KeyExpiringEvent {
  readonly id: string;
  readonly type: 'key.expiring';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: KeyExpiringEventData;
}

export interface KeyExpiringEventData {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly status: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly rotated_from: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly attribution?: KeyEventData_attribution;
  readonly attribution_locked?: readonly string[];
  readonly days_left: number;
}

export interface KeyList {
  readonly data: readonly Key[];
  readonly next_cursor: string | null;
}

export interface KeyRevokedEvent {
  readonly id: string;
  readonly type: 'key.revoked';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: KeyEventData;
}

export type KeyRole = 'viewer' | 'member' | 'admin' | 'owner' | 'operator';

export interface KeyRotatedEvent {
  readonly id: string;
  readonly type: 'key.rotated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: KeyEventData;
}

export interface KeyRule {
  readonly lifetime_days_max: number | null;
  readonly unused_days_max: number | null;
  readonly updated_at: string | null;
}

export type KeyStatus = 'active' | 'not_yet_valid' | 'expired' | 'revoked';

export interface KeyUpdatedEvent {
  readonly id: string;
  readonly type: 'key.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: KeyEventData;
}

export interface KeyWithSecret {
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
  readonly hold?: 'worst_case' | 'expected' | 'paced';
  readonly reserve_for_running?: number;
  readonly secret: string;
}

export interface Key_attribution {
  readonly member_id?: string;
  readonly team?: string;
  readonly department?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly customer_id?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface LedgerReconciliation {
  readonly balanced: boolean;
  readonly drift_usd: string;
  readonly checked_at: string;
  readonly totals: LedgerReconciliation_totals;
  readonly counters_checked: number;
  readonly counters: readonly LedgerReconciliation_counters[];
}

export interface LedgerReconciliation_counters {
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
  readonly growth: string | number;
  readonly growth_by_holds: string | number;
  readonly drift: string | number;
}

export interface LedgerReconciliation_totals {
  readonly cost_usd: LedgerReconciliation_totals_cost_usd;
  readonly tokens: LedgerReconciliation_totals_cost_usd;
  readonly runs: LedgerReconciliation_totals_cost_usd;
  readonly uncovered_usd: LedgerReconciliation_totals_uncovered_usd;
  readonly credits_usd: LedgerReconciliation_totals_credits_usd;
  readonly prepaid_usd: LedgerReconciliation_totals_credits_usd;
}

export interface LedgerReconciliation_totals_cost_usd {
  readonly entries: string;
  readonly runs: string;
  readonly usage: string;
}

export interface LedgerReconciliation_totals_credits_usd {
  readonly entries: string;
  readonly tallies: string;
}

export interface LedgerReconciliation_totals_uncovered_usd {
  readonly entries: string;
  readonly runs: string;
}

export interface Limit {
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
}

export interface LimitEventData {
  readonly limit_id: string;
  readonly kind: string;
  readonly match: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly limit: string | number;
  readonly window_start: string;
  readonly window_end: string | null;
  readonly matched: Readonly<Record<string, string>>;
  readonly threshold_percent: number;
  readonly settled: string | number;
}

export interface LimitExhaustedEvent {
  readonly id: string;
  readonly type: 'limit.exhausted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: LimitExhaustedEventData;
}

export interface LimitExhaustedEventData {
  readonly limit_id: string;
  readonly kind: string;
  readonly match: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly limit: string | number;
  readonly window_start: string;
  readonly window_end: string | null;
  readonly matched: Readonly<Record<string, string>>;
  readonly used: string | number;
  readonly scope: LimitExhaustedEventData_scope;
  readonly code: string;
}

export interface LimitExhaustedEventData_scope {
  readonly customer_id: string | null;
  readonly chain_id: string | null;
  readonly key_id: string;
  readonly model: string | null;
}

export interface LimitExhaustionForecastEvent {
  readonly id: string;
  readonly type: 'limit.exhaustion_forecast';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: LimitExhaustionForecastEventData;
}

export interface LimitExhaustionForecastEventData {
  readonly limit_id: string;
  readonly kind: string;
  readonly match: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly limit: string | number;
  readonly window_start: string;
  readonly window_end: string | null;
  readonly used: string | number;
  readonly runs_out_on: string;
  readonly earliest_on: string | null;
  readonly latest_on: string | null;
  readonly expected_at_window_end: string | null;
}

export type LimitKind = 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';

export interface LimitList {
  readonly data: readonly Limit[];
  readonly next_cursor: string | null;
}

export type LimitPeriod = 'day' | 'week' | 'month' | 'quarter' | 'year';

export interface LimitThresholdReachedEvent {
  readonly id: string;
  readonly type: 'limit.threshold_reached';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: LimitEventData;
}

export type LimitUnit = 'usd' | 'tokens' | 'requests' | 'concurrent';

export interface LimitValue {
  readonly values: Readonly<Record<string, string>>;
  readonly standing: LimitValue_standing;
  readonly state: 'ok' | 'near' | 'exhausted';
}

export interface LimitValueList {
  readonly data: readonly LimitValue[];
  readonly next_cursor: string | null;
}

export interface LimitValue_standing {
  readonly settled: string | number;
  readonly held: string | number;
  readonly remaining: string | number;
  readonly raised_usd: string | null;
  readonly raised_until: string | null;
  readonly window_start: string | null;
  readonly window_end: string | null;
}

export interface LimitWithHistory {
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
}

export interface LimitWithHistory_alerts {
  readonly threshold: number | null;
  readonly at: string;
  readonly window_start: string | null;
  readonly value: string | null;
}

export interface LimitWithHistory_windows {
  readonly window_start: string;
  readonly window_end: string;
  readonly settled: string | number;
}

export interface LinearForecast {
  readonly deployment: string;
  readonly teams: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
  readonly per_team: LinearForecast_per_team;
  readonly teams_observed: number;
  readonly history: LinearForecast_history;
}

export interface LinearForecast_history {
  readonly from: string;
  readonly to: string;
  readonly runs: number;
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
}

export interface LinearForecast_per_team {
  readonly value_usd: string;
  readonly cost_usd: string;
  readonly return_usd: string;
}

export interface MakeConsoleLink {
  readonly org_id?: string;
  readonly role?: 'viewer' | 'member' | 'admin' | 'owner';
}

export interface Member {
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
}

export interface MemberEventData {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: string;
  readonly status: string;
  readonly created_at: string;
  readonly joined_at: string | null;
  readonly removed_at: string | null;
}

export interface MemberInvitedEvent {
  readonly id: string;
  readonly type: 'member.invited';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: MemberEventData;
}

export interface MemberJoinedEvent {
  readonly id: string;
  readonly type: 'member.joined';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: MemberEventData;
}

export interface MemberList {
  readonly data: readonly Member[];
  readonly next_cursor: string | null;
}

export interface MemberRemovedEvent {
  readonly id: string;
  readonly type: 'member.removed';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: MemberEventData;
}

export type MemberRole = 'viewer' | 'member' | 'admin' | 'owner';

export type MemberStatus = 'invited' | 'active' | 'removed';

export interface MemberUpdatedEvent {
  readonly id: string;
  readonly type: 'member.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: MemberEventData;
}

export interface MemberWithSignInLink {
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
}

export interface MintKey {
  readonly name: string;
  readonly role: MemberRole;
  readonly scopes: readonly ('org:read' | 'org:write' | 'keys:read' | 'keys:write' | 'runs:read' | 'runs:write' | 'budgets:read' | 'budgets:write' | 'customers:read' | 'customers:write' | 'credits:read' | 'credits:write' | 'policies:read' | 'policies:write' | 'routing:read' | 'routing:write' | 'webhooks:read' | 'webhooks:write' | 'audit:read' | 'audit:write' | 'benchmarks:read' | 'benchmarks:write' | 'forecasts:read' | 'forecasts:write' | 'edge:decide' | 'runs:backfill' | 'connections:read' | 'connections:write' | 'gateway:call')[];
  readonly not_before?: string;
  readonly expires_at?: string;
  readonly attribution?: ChangeKey_attribution;
  readonly attribution_locked?: readonly AttributionField[];
  readonly hold?: 'worst_case' | 'expected' | 'paced' | null;
  readonly reserve_for_running?: number | null;
}

export interface MintOperatorKey {
  readonly name: string;
  readonly not_before?: string;
  readonly expires_at?: string;
}

export interface Model {
  readonly model: string;
  readonly provider: string | null;
  readonly price_version: string;
  readonly source: 'model' | 'org' | 'discount';
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
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
}

export interface ModelEventData {
  readonly model: string;
  readonly run_id: string;
  readonly runs: number;
  readonly used_before: string | null;
}

export interface ModelList {
  readonly data: readonly Model[];
  readonly next_cursor: string | null;
}

export interface ModelPrice {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
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
}

export interface ModelPriceHistory {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
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
}

export interface ModelPriceHistory_versions {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: PriceStatus;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly follows_updates: boolean;
  readonly source: string | null;
  readonly effective_from: string;
  readonly created_at: string;
}

export interface ModelPriceList {
  readonly data: readonly ModelPrice[];
  readonly next_cursor: string | null;
}

export interface ModelResolution {
  readonly model: string;
  readonly priced_as: string | null;
  readonly provider: string | null;
  readonly price_version: string | null;
  readonly source: 'model' | 'org' | 'discount' | null;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly on_unpriced: 'refuse' | 'hold_default' | 'record' | null;
  readonly steps: readonly ModelResolution_steps[];
}

export interface ModelResolution_steps {
  readonly step: 'org_price' | 'at_host' | 'exact' | 'alias' | 'pattern' | 'without_prefix' | 'any_host' | 'without_date';
  readonly name: string;
  readonly model: string | null;
  readonly matched: boolean;
}

export interface ModelUnpricedEvent {
  readonly id: string;
  readonly type: 'model.unpriced';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ModelEventData;
}

export interface Model_modifiers {
  readonly tier?: string;
  readonly above_input_tokens?: number;
  readonly cache_write_ttl?: '1h';
  readonly region?: string;
  readonly multiplier?: string;
  readonly input_usd_per_million?: string;
  readonly cached_input_usd_per_million?: string;
  readonly cached_image_input_usd_per_million?: string;
  readonly cache_write_usd_per_million?: string;
  readonly output_usd_per_million?: string;
  readonly audio_input_usd_per_million?: string;
  readonly image_input_usd_per_million?: string;
  readonly audio_output_usd_per_million?: string;
  readonly image_usd?: string;
  readonly request_usd?: string;
}

export type OnUnpriced = 'refuse' | 'hold_default' | 'record';

export type OnUnsettled = 'release' | 'post_held';

export interface Org {
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
}

export interface OrgCreatedEvent {
  readonly id: string;
  readonly type: 'org.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgEventData;
}

export interface OrgEventData {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly status: string;
  readonly suspension_reason: string | null;
  readonly updated_at: string;
}

export interface OrgIpAllowListUpdatedEvent {
  readonly id: string;
  readonly type: 'org.ip_allow_list_updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgIpAllowListUpdatedEventData;
}

export interface OrgIpAllowListUpdatedEventData {
  readonly cidrs: readonly string[];
}

export interface OrgList {
  readonly data: readonly Org[];
  readonly next_cursor: string | null;
}

export interface OrgPlan {
  readonly plan_id: string | null;
  readonly plan: OrgPlan_plan;
  readonly assigned_at: string | null;
}

export type OrgPlan_plan = {
  readonly id: string;
  readonly name: string;
  readonly monthly_runs: number | null;
  readonly monthly_tokens: number | null;
  readonly overage_policy: OveragePolicy;
  readonly created_at: string;
} | null;

export interface OrgPrice {
  readonly id: string;
  readonly org_id: string;
  readonly model: string;
  readonly status: PriceStatus;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly effective_from: string;
  readonly ended_at: string | null;
  readonly created_at: string;
}

export interface OrgPriceEventData {
  readonly model: string;
}

export interface OrgPriceHistory {
  readonly id: string;
  readonly org_id: string;
  readonly model: string;
  readonly status: PriceStatus;
  readonly discount_percent: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly modifiers: readonly Model_modifiers[];
  readonly units: Readonly<Record<string, string>>;
  readonly effective_from: string;
  readonly ended_at: string | null;
  readonly created_at: string;
  readonly versions: readonly OrgPrice[];
}

export interface OrgPriceList {
  readonly data: readonly OrgPrice[];
  readonly next_cursor: string | null;
}

export interface OrgPriceRemovedEvent {
  readonly id: string;
  readonly type: 'org_price.removed';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgPriceEventData;
}

export interface OrgPriceUpdatedEvent {
  readonly id: string;
  readonly type: 'org_price.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgPriceEventData;
}

export interface OrgRateLimits {
  readonly read_rpm: number | null;
  readonly policies: readonly RateLimitPolicy[];
}

export interface OrgReinstatedEvent {
  readonly id: string;
  readonly type: 'org.reinstated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgEventData;
}

export interface OrgResidencyUpdatedEvent {
  readonly id: string;
  readonly type: 'org.residency_updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgResidencyUpdatedEventData;
}

export interface OrgResidencyUpdatedEventData {
  readonly home_region: string | null;
  readonly mode: string;
}

export interface OrgRetentionPolicyUpdatedEvent {
  readonly id: string;
  readonly type: 'org.retention_policy_updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgRetentionPolicyUpdatedEventData;
}

export interface OrgRetentionPolicyUpdatedEventData {
  readonly runs_days: number | null;
  readonly content_days: number;
  readonly audit_days: number | null;
  readonly deliveries_days: number;
  readonly idempotency_days: number;
  readonly legal_hold: boolean;
  readonly updated_at: string | null;
}

export interface OrgSummary {
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
}

export interface OrgSummaryList {
  readonly data: readonly OrgSummary[];
  readonly next_cursor: string | null;
}

export type OrgSummary_nearest_limit = {
  readonly kind: LimitKind;
  readonly used_percent: number;
} | null;

export interface OrgSuspendedEvent {
  readonly id: string;
  readonly type: 'org.suspended';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgEventData;
}

export interface OrgUnpricedPolicyUpdatedEvent {
  readonly id: string;
  readonly type: 'org.unpriced_policy_updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgUnpricedPolicyUpdatedEventData;
}

export interface OrgUnpricedPolicyUpdatedEventData {
  readonly on_unpriced: string;
  readonly id: string | null;
  readonly input_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly updated_at: string | null;
}

export interface OrgUpdatedEvent {
  readonly id: string;
  readonly type: 'org.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: OrgEventData;
}

export interface OrgWebhookSecret {
  readonly secret: string;
  readonly fingerprint: string;
  readonly created_at: string;
}

export type OveragePolicy = 'block' | 'allow';

export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly monthly_runs: number | null;
  readonly monthly_tokens: number | null;
  readonly overage_policy: OveragePolicy;
  readonly created_at: string;
}

export interface PlanAssignedEvent {
  readonly id: string;
  readonly type: 'plan.assigned';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PlanEventData;
}

export interface PlanEventData {
  readonly plan_id: string | null;
  readonly assigned_at: string | null;
}

export interface PlanList {
  readonly data: readonly Plan[];
  readonly next_cursor: string | null;
}

export interface PlatformRetentionPolicy {
  readonly audit_days: number | null;
  readonly legal_hold: boolean;
  readonly updated_at: string | null;
  readonly failing_since: string | null;
  readonly failing: readonly RetainedKind[];
  readonly last_run: RetentionRun | null;
}

export interface Policy {
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
}

export interface PolicyBlockedEvent {
  readonly id: string;
  readonly type: 'policy.blocked';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PolicyEventData;
}

export type PolicyEffect = 'allow' | 'block' | 'require_approval';

export interface PolicyEvaluation {
  readonly verdict: PolicyVerdict;
  readonly rule_id: string | null;
  readonly reason: string | null;
  readonly attempted: string | null;
  readonly considered: readonly PolicyEvaluation_considered[];
}

export interface PolicyEvaluation_considered {
  readonly rule_id: string;
  readonly priority: number;
  readonly effect: PolicyEffect;
  readonly outcome: 'decided' | 'passed_over' | 'failed' | 'not_reached' | 'disabled';
  readonly explanation: string;
}

export interface PolicyEventData {
  readonly rule_id: string;
  readonly reason: string;
  readonly attempted: string;
  readonly key_id: string;
  readonly model: string;
  readonly action: string | null;
}

export interface PolicyList {
  readonly data: readonly Policy[];
  readonly next_cursor: string | null;
}

export interface PolicySimulation {
  readonly runs: number;
  readonly unchanged: number;
  readonly changed: number;
  readonly draft: PolicySimulation_draft;
  readonly changes: readonly PolicySimulation_changes[];
}

export interface PolicySimulation_changes {
  readonly run_id: string;
  readonly model: string;
  readonly action: string | null;
  readonly charged_at: string;
  readonly now: PolicySimulation_changes_now;
  readonly draft: PolicySimulation_changes_now;
}

export interface PolicySimulation_changes_now {
  readonly verdict: PolicyVerdict;
  readonly rule_id: string | null;
  readonly reason: string | null;
}

export interface PolicySimulation_draft {
  readonly allow: number;
  readonly block: number;
  readonly require_approval: number;
  readonly error: number;
}

export interface PolicyVariable {
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
  readonly example: string;
}

export interface PolicyVariableList {
  readonly data: readonly PolicyVariable[];
  readonly next_cursor: string | null;
}

export type PolicyVerdict = 'allow' | 'block' | 'require_approval' | 'error';

export interface PolicyVersion {
  readonly version: number;
  readonly changed_at: string;
  readonly changed_by: string;
  readonly deleted: boolean;
  readonly policy: Policy;
}

export interface PolicyVersionList {
  readonly data: readonly PolicyVersion[];
  readonly next_cursor: string | null;
}

export interface Prepaid {
  readonly id: string | null;
  readonly enabled: boolean;
  readonly topped_up_usd: string;
}

export interface PrepaidEventData {
  readonly enabled: boolean;
  readonly topped_up_usd: string;
}

export interface PrepaidTopUp {
  readonly id: string;
  readonly amount_usd: string;
  readonly reference: string | null;
  readonly created_at: string;
}

export interface PrepaidTopUpList {
  readonly data: readonly PrepaidTopUp[];
  readonly next_cursor: string | null;
}

export interface PrepaidToppedUpEvent {
  readonly id: string;
  readonly type: 'prepaid.topped_up';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PrepaidToppedUpEventData;
}

export interface PrepaidToppedUpEventData {
  readonly id: string;
  readonly amount_usd: string;
  readonly reference: string | null;
  readonly created_at: string;
}

export interface PrepaidUpdatedEvent {
  readonly id: string;
  readonly type: 'prepaid.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PrepaidEventData;
}

export interface PriceChange {
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
}

export interface PriceChangeList {
  readonly data: readonly PriceChange[];
  readonly next_cursor: string | null;
}

export interface PriceChangePendingEvent {
  readonly id: string;
  readonly type: 'price.change_pending';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PriceChangePendingEventData;
}

export interface PriceChangePendingEventData {
  readonly pending: number;
  readonly changes: readonly PriceChangePendingEventData_changes[];
}

export interface PriceChangePendingEventData_changes {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly rates: readonly PriceChangePendingEventData_changes_rates[];
  readonly source: string;
}

export interface PriceChangePendingEventData_changes_rates {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly change_percent: number | null;
}

export interface PriceChange_rates {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly change_percent: number | null;
}

export interface PriceEventData {
  readonly run_id: string;
  readonly model: string;
  readonly decision_id: string | null;
  readonly posted_usd: string;
  readonly charged_at: string;
}

export interface PriceMissingEvent {
  readonly id: string;
  readonly type: 'price.missing';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: PriceEventData;
}

export type PriceStatus = 'in_force' | 'scheduled' | 'past' | 'withdrawn';

export interface PriceUpdate {
  readonly dry_run: boolean;
  readonly effective_from: string;
  readonly counts: PriceUpdate_counts;
  readonly models: readonly PriceUpdate_models[];
}

export interface PriceUpdate_counts {
  readonly added: number;
  readonly changed: number;
  readonly pending: number;
  readonly kept: number;
  readonly skipped: number;
  readonly unchanged: number;
}

export interface PriceUpdate_models {
  readonly model: string;
  readonly provider: string | null;
  readonly status: 'added' | 'changed' | 'pending' | 'kept' | 'skipped' | 'unchanged';
  readonly reason: 'operator_price' | 'name_of_operator_price' | 'rejected' | 'no_price' | 'too_many_versions' | null;
  readonly priced_as: string | null;
  readonly rates: readonly PriceChange_rates[];
  readonly price_version: string | null;
  readonly change_id: string | null;
  readonly source: string;
}

export interface PutBenchmarkParticipation {
  readonly enabled: boolean;
  readonly industry?: string | null;
  readonly size_band?: string | null;
}

export interface PutChainBudget {
  readonly max_cost_usd?: string | null;
  readonly max_depth?: number | null;
  readonly max_tokens?: number | null;
}

export interface PutGateway {
  readonly default_max_output_tokens?: number;
  readonly min_output_tokens?: number;
  readonly unseen_input?: 'hold' | 'refuse';
  readonly unseen_input_tokens?: number | null;
  readonly unknown_tokenizer?: 'estimate' | 'bytes';
  readonly max_tool_calls?: number;
  readonly unpriced_tool_call_usd?: string | null;
  readonly hold?: GatewayHold;
  readonly reserve_for_running?: number;
  readonly plain_calls?: GatewayPlainCalls;
  readonly on_limit?: GatewayOnLimit;
  readonly on_abort?: GatewayOnAbort;
  readonly customer_from_body?: boolean;
}

export interface PutKeyRule {
  readonly lifetime_days_max: number | null;
  readonly unused_days_max: number | null;
}

export interface PutModelPrice {
  readonly provider?: string | null;
  readonly input_usd_per_million: string;
  readonly cached_input_usd_per_million?: string | null;
  readonly cached_image_input_usd_per_million?: string | null;
  readonly cache_write_usd_per_million?: string | null;
  readonly output_usd_per_million?: string | null;
  readonly audio_input_usd_per_million?: string | null;
  readonly image_input_usd_per_million?: string | null;
  readonly audio_output_usd_per_million?: string | null;
  readonly image_usd?: string | null;
  readonly request_usd?: string | null;
  readonly modifiers?: readonly PutModelPrice_modifiers[] | null;
  readonly units?: Readonly<Record<string, string>> | null;
  readonly effective_from?: string;
  readonly follows_updates?: boolean;
  readonly context_tokens?: number | null;
  readonly max_output_tokens?: number | null;
  readonly regions?: readonly string[] | null;
  readonly capabilities?: readonly string[] | null;
  readonly aliases?: readonly string[] | null;
  readonly patterns?: readonly string[] | null;
}

export interface PutModelPrice_modifiers {
  readonly tier?: string;
  readonly above_input_tokens?: number;
  readonly cache_write_ttl?: '1h';
  readonly region?: string;
  readonly multiplier?: string;
  readonly input_usd_per_million?: string;
  readonly cached_input_usd_per_million?: string;
  readonly cached_image_input_usd_per_million?: string;
  readonly cache_write_usd_per_million?: string;
  readonly output_usd_per_million?: string;
  readonly audio_input_usd_per_million?: string;
  readonly image_input_usd_per_million?: string;
  readonly audio_output_usd_per_million?: string;
  readonly image_usd?: string;
  readonly request_usd?: string;
}

export interface PutOrgIpAllowList {
  readonly cidrs: readonly string[];
  readonly force?: boolean;
}

export interface PutOrgPlan {
  readonly plan_id: string | null;
}

export interface PutOrgPrepaid {
  readonly enabled: boolean;
}

export interface PutOrgPrice {
  readonly discount_percent?: string | null;
  readonly input_usd_per_million?: string | null;
  readonly cached_input_usd_per_million?: string | null;
  readonly cached_image_input_usd_per_million?: string | null;
  readonly cache_write_usd_per_million?: string | null;
  readonly output_usd_per_million?: string | null;
  readonly audio_input_usd_per_million?: string | null;
  readonly image_input_usd_per_million?: string | null;
  readonly audio_output_usd_per_million?: string | null;
  readonly image_usd?: string | null;
  readonly request_usd?: string | null;
  readonly modifiers?: readonly PutModelPrice_modifiers[] | null;
  readonly units?: Readonly<Record<string, string>> | null;
  readonly effective_from?: string;
}

export interface PutOrgRateLimit {
  readonly read_rpm?: number | null;
  readonly policies?: readonly PutOrgRateLimit_policies[];
}

export interface PutOrgRateLimit_policies {
  readonly name: string;
  readonly unit: RateLimitUnit;
  readonly limit: string | number;
  readonly kind: RateLimitKind;
  readonly window_seconds?: number;
  readonly match?: PutOrgRateLimit_policies_match;
  readonly burst?: string | number | null;
}

export interface PutOrgRateLimit_policies_match {
  readonly key_id?: string;
  readonly model?: string;
  readonly customer_id?: string;
  readonly route_class?: 'read' | 'write' | 'runs' | 'edge';
}

export interface PutPlatformRetention {
  readonly audit_days?: number | null;
  readonly legal_hold?: boolean;
}

export interface PutResidency {
  readonly home_region: string | null;
  readonly mode?: 'forward' | 'strict';
}

export interface PutRetentionPolicy {
  readonly runs_days?: number | null;
  readonly content_days?: number;
  readonly audit_days?: number | null;
  readonly deliveries_days?: number;
  readonly idempotency_days?: number;
  readonly legal_hold?: boolean;
}

export interface PutRoutingPolicy {
  readonly candidates: readonly string[];
  readonly suite: string;
  readonly min_score: number;
  readonly max_age_days: number;
  readonly objective: RoutingObjective;
  readonly min_samples?: number;
  readonly weights?: PutRoutingPolicy_weights;
  readonly fallbacks?: readonly string[];
}

export interface PutRoutingPolicy_weights {
  readonly cost?: number;
  readonly latency?: number;
  readonly quality?: number;
}

export interface PutSpendCap {
  readonly cap_usd: string;
  readonly timezone?: string | null;
  readonly alert_thresholds?: readonly number[];
  readonly owner?: string | null;
}

export interface PutSso {
  readonly kind?: 'oidc' | 'saml';
  readonly issuer?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly scope?: string;
  readonly idp_entity_id?: string;
  readonly idp_sso_url?: string;
  readonly idp_certificate?: string;
  readonly groups_attribute?: string;
  readonly role_mapping?: readonly CreateSsoTest_settings_role_mapping[];
  readonly default_role?: 'viewer' | 'member' | 'admin' | 'owner' | null;
  readonly allowed_email_domains?: readonly string[];
  readonly just_in_time?: boolean;
  readonly required?: boolean;
}

export interface PutSupportAccessSetting {
  readonly allowed: boolean;
  readonly approval_required: boolean;
}

export interface PutUnpricedPolicy {
  readonly on_unpriced: OnUnpriced;
  readonly input_usd_per_million?: string | null;
  readonly cached_input_usd_per_million?: string | null;
  readonly cached_image_input_usd_per_million?: string | null;
  readonly cache_write_usd_per_million?: string | null;
  readonly output_usd_per_million?: string | null;
  readonly audio_input_usd_per_million?: string | null;
  readonly image_input_usd_per_million?: string | null;
  readonly audio_output_usd_per_million?: string | null;
  readonly image_usd?: string | null;
  readonly request_usd?: string | null;
}

export interface Raise {
  readonly id: string;
  readonly limit_id: string;
  readonly limit_kind: LimitKind;
  readonly limit_name: string | null;
  readonly scope_id: string | null;
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly state: 'active' | 'ended';
  readonly created_by: string;
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly ended_by: string | null;
  readonly request_id: string | null;
}

export interface RaiseApprovedEvent {
  readonly id: string;
  readonly type: 'raise.approved';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RaiseRequestedEventData;
}

export interface RaiseCreatedEvent {
  readonly id: string;
  readonly type: 'raise.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RaiseEventData;
}

export interface RaiseDeniedEvent {
  readonly id: string;
  readonly type: 'raise.denied';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RaiseRequestedEventData;
}

export interface RaiseEndedEvent {
  readonly id: string;
  readonly type: 'raise.ended';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RaiseEventData;
}

export interface RaiseEventData {
  readonly id: string;
  readonly limit_id: string;
  readonly limit_kind: string;
  readonly limit_name: string | null;
  readonly scope_id: string | null;
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly state: string;
  readonly created_by: string;
  readonly request_id: string | null;
  readonly ended_at: string | null;
  readonly ended_by: string | null;
}

export interface RaiseList {
  readonly data: readonly Raise[];
  readonly next_cursor: string | null;
}

export interface RaiseRequest {
  readonly id: string;
  readonly state: 'pending' | 'approved' | 'denied' | 'lapsed';
  readonly limit_id: string;
  readonly limit_kind: LimitKind;
  readonly limit_name: string | null;
  readonly scope_id: string | null;
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly decision_reason: string | null;
  readonly raise_id: string | null;
}

export interface RaiseRequestList {
  readonly data: readonly RaiseRequest[];
  readonly next_cursor: string | null;
}

export interface RaiseRequestedEvent {
  readonly id: string;
  readonly type: 'raise.requested';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RaiseRequestedEventData;
}

export interface RaiseRequestedEventData {
  readonly id: string;
  readonly state: string;
  readonly limit_id: string;
  readonly limit_kind: string;
  readonly limit_name: string | null;
  readonly scope_id: string | null;
  readonly amount_usd: string;
  readonly until: string;
  readonly reason: string;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly raise_id: string | null;
}

export type RateLimitKind = 'rate' | 'quota';

export interface RateLimitPolicy {
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
}

export interface RateLimitPolicyList {
  readonly data: readonly RateLimitPolicy[];
  readonly next_cursor: string | null;
  readonly read_rpm: number | null;
}

export interface RateLimitPolicy_match {
  readonly key_id?: string;
  readonly model?: string;
  readonly customer_id?: string;
  readonly route_class?: 'read' | 'write' | 'runs' | 'edge';
}

export type RateLimitUnit = 'usd' | 'tokens' | 'requests' | 'concurrent';

export interface RateLimitsEventData {
  readonly read_rpm: number | null;
  readonly policies: readonly RateLimitsEventData_policies[];
}

export interface RateLimitsEventData_policies {
  readonly id: string;
  readonly name: string;
}

export interface RateLimitsUpdatedEvent {
  readonly id: string;
  readonly type: 'rate_limits.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RateLimitsEventData;
}

export interface RedeliverWebhook {
  readonly from: string;
  readonly to?: string;
  readonly state?: 'failed' | 'delivered';
  readonly cursor?: string;
}

export interface Refusal {
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
}

export interface RefusalList {
  readonly data: readonly Refusal[];
  readonly next_cursor: string | null;
}

export interface RefusalWithTraceIds {
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
}

export interface Residency {
  readonly home_region: string | null;
  readonly mode: 'forward' | 'strict';
}

export type RetainedKind = 'runs' | 'contents' | 'ledger_entries' | 'audit_entries' | 'support_access' | 'deliveries' | 'events';

export interface RetentionPolicy {
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
}

export interface RetentionRun {
  readonly id: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly deleted: RetentionRun_deleted;
}

export interface RetentionRunList {
  readonly data: readonly RetentionRun[];
  readonly next_cursor: string | null;
}

export interface RetentionRun_deleted {
  readonly runs: number;
  readonly contents: number;
  readonly ledger_entries: number;
  readonly audit_entries: number;
  readonly support_access: number;
  readonly deliveries: number;
  readonly events: number;
}

export interface RotateConnection {
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: ChangeConnection_credentials;
  readonly overlap_seconds?: number;
}

export interface RotateKey {
  readonly overlap_seconds?: number;
  readonly expires_at?: string;
}

export interface RotateSecret {
  readonly cursor?: string;
}

export interface RotateWebhookSigning {
  readonly force?: boolean;
}

export interface RotatedWebhookSigning {
  readonly event_version: WebhookEventVersion;
  readonly fingerprint: string | null;
  readonly created_at: string | null;
  readonly age_seconds: number | null;
  readonly overlap_ends_at: string | null;
  readonly previous_fingerprint: string | null;
  readonly secret: string;
}

export interface RoutingDecision {
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
}

export interface RoutingDecision_considered {
  readonly model: string;
  readonly reason: 'not_best' | 'no_price' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'not_in_region' | 'context_too_small' | 'output_too_long' | 'capability_missing' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'rate_limited' | 'not_evaluated' | 'evaluation_too_old' | 'too_few_samples' | 'score_too_low';
  readonly rank: number | null;
  readonly expected_cost_usd: string | null;
  readonly score: number | null;
  readonly latency_ms: number | null;
  readonly rule_id: string | null;
}

export type RoutingObjective = 'cost' | 'latency' | 'quality';

export interface RoutingPolicy {
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
}

export interface RoutingPolicyDeletedEvent {
  readonly id: string;
  readonly type: 'routing_policy.deleted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RoutingPolicyEventData;
}

export interface RoutingPolicyEventData {
  readonly candidates: readonly string[];
  readonly suite: string;
  readonly min_score: number;
  readonly min_samples: number;
  readonly max_age_days: number;
  readonly objective: string;
  readonly fallbacks: readonly string[];
  readonly updated_at: string;
}

export interface RoutingPolicyUpdatedEvent {
  readonly id: string;
  readonly type: 'routing_policy.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RoutingPolicyEventData;
}

export type RoutingPolicy_weights = {
  readonly cost: number;
  readonly latency: number;
  readonly quality: number;
} | null;

export interface RoutingRequest {
  readonly input_tokens: number;
  readonly max_output_tokens: number;
  readonly action?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly department?: string;
  readonly team?: string;
  readonly customer_id?: string;
  readonly chain_id?: string;
  readonly member_id?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly capabilities?: readonly string[];
  readonly region?: string;
  readonly service_tier?: string;
  readonly hold?: boolean;
  readonly expires_in_seconds?: number;
}

export interface Run {
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
  readonly cost_parts: readonly Run_cost_parts[] | null;
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
}

export interface RunAdjustedEvent {
  readonly id: string;
  readonly type: 'run.adjusted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RunAdjustedEventData;
}

export interface RunAdjustedEventData {
  readonly id: string;
  readonly run_id: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly customer_id: string | null;
  readonly actor: RunAdjustedEventData_actor;
  readonly uncovered_usd: string;
  readonly adjustment_usd: string;
  readonly price_version: string | null;
  readonly created_at: string;
}

export interface RunAdjustedEventData_actor {
  readonly kind: string;
  readonly id: string;
}

export interface RunAdjustment {
  readonly id: string;
  readonly run_id: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly uncovered_usd: string;
  readonly created_at: string;
  readonly actor: RunAdjustment_actor;
  readonly run: Run;
}

export interface RunAdjustmentEntry {
  readonly id: string;
  readonly run_id: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly uncovered_usd: string;
  readonly created_at: string;
  readonly actor: RunAdjustmentEntry_actor;
}

export interface RunAdjustmentEntryList {
  readonly data: readonly RunAdjustmentEntry[];
  readonly next_cursor: string | null;
}

export type RunAdjustmentEntry_actor = {
  readonly kind: string;
  readonly id: string;
} | null;

export interface RunAdjustment_actor {
  readonly kind: string;
  readonly id: string;
}

export interface RunEventData {
  readonly id: string;
  readonly external_id: string | null;
  readonly model: string;
  readonly status: string;
  readonly workflow: string | null;
  readonly deployment: string | null;
  readonly department: string | null;
  readonly team: string | null;
  readonly customer_id: string | null;
  readonly member_id: string | null;
  readonly project: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly chain_id: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string | null;
  readonly decision_id: string | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly marks: readonly string[];
}

export interface RunFinishedEvent {
  readonly id: string;
  readonly type: 'run.finished';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RunEventData;
}

export interface RunList {
  readonly data: readonly Run[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly count?: RunList_count;
}

export interface RunList_count {
  readonly value: number;
  readonly exact: boolean;
}

export interface RunUnsettledEvent {
  readonly id: string;
  readonly type: 'run.unsettled';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: RunUnsettledEventData;
}

export interface RunUnsettledEventData {
  readonly run_id: string;
  readonly decision_id: string;
  readonly model: string;
  readonly key_id: string;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly posted_usd: string;
  readonly charged_at: string;
}

export interface Run_cost_parts {
  readonly kind: string;
  readonly quantity: number;
  readonly cost_usd: string;
}

export type SafetyAction = 'block' | 'flag';

export interface SafetyDetector {
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
}

export interface SafetyDetectorList {
  readonly data: readonly SafetyDetector[];
  readonly next_cursor: string | null;
}

export interface SafetyTest {
  readonly verdict: 'pass' | 'flag' | 'block';
  readonly content_characters: number;
  readonly findings: readonly SafetyTest_findings[];
}

export interface SafetyTest_findings {
  readonly detector: string;
  readonly detector_id: string;
  readonly enabled: boolean;
  readonly action: SafetyAction;
  readonly fires: boolean;
  readonly matches: readonly SafetyTest_findings_matches[];
}

export interface SafetyTest_findings_matches {
  readonly start: number;
  readonly end: number;
  readonly sample: string;
}

export interface SecretRotation {
  readonly key_id: string;
  readonly complete: boolean;
  readonly seen: number;
  readonly reencrypted: number;
  readonly unreadable: number;
  readonly next_cursor: string | null;
}

export interface Session {
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
}

export interface SessionList {
  readonly data: readonly Session[];
  readonly next_cursor: string | null;
}

export interface SimulatePolicy {
  readonly rules: readonly CreatePolicy[];
  readonly runs?: number;
}

export interface Snapshot {
  readonly id: string;
  readonly created_at: string;
  readonly bytes: number;
  readonly open_holds: number;
  readonly paused_ms: number;
}

export interface SpendCap {
  readonly id: string;
  readonly cap_usd: string;
  readonly timezone: string | null;
  readonly alert_thresholds: readonly number[];
  readonly owner: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface SpendCapDeletedEvent {
  readonly id: string;
  readonly type: 'spend_cap.deleted';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SpendCapEventData;
}

export interface SpendCapEventData {
  readonly id: string;
  readonly cap_usd: string;
  readonly updated_at: string;
}

export interface SpendCapUpdatedEvent {
  readonly id: string;
  readonly type: 'spend_cap.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SpendCapEventData;
}

export interface Sso {
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
}

export interface SsoEndpoints {
  readonly oidc: SsoEndpoints_oidc;
  readonly saml: SsoEndpoints_saml;
}

export interface SsoEndpoints_oidc {
  readonly login_url: string;
  readonly redirect_url: string;
  readonly org_redirect_url: string;
}

export interface SsoEndpoints_saml {
  readonly login_url: string;
  readonly sp_entity_id: string;
  readonly acs_url: string;
}

export interface SsoEventData {
  readonly kind: string | null;
  readonly required: boolean;
  readonly updated_at: string | null;
}

export interface SsoTest {
  readonly id: string;
  readonly kind: 'oidc' | 'saml';
  readonly status: 'pending' | 'started' | 'finished';
  readonly result: SsoTest_result;
  readonly created_at: string;
  readonly expires_at: string;
}

export interface SsoTestWithUrl {
  readonly id: string;
  readonly kind: 'oidc' | 'saml';
  readonly status: 'pending' | 'started' | 'finished';
  readonly result: SsoTest_result;
  readonly created_at: string;
  readonly expires_at: string;
  readonly start_url: string;
}

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

export interface SsoUpdatedEvent {
  readonly id: string;
  readonly type: 'sso.updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SsoEventData;
}

export interface Sso_role_mapping {
  readonly group: string;
  readonly role: MemberRole;
}

export interface Statement {
  readonly id: string;
  readonly provider: string;
  readonly sources: readonly string[];
  readonly not_compared: readonly Statement_not_compared[];
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
}

export interface StatementComparison {
  readonly statement_id: string;
  readonly timezone: string;
  readonly total: StatementComparison_total;
  readonly data: readonly StatementDifference[];
  readonly next_cursor: string | null;
}

export interface StatementComparison_total {
  readonly billed_usd: string;
  readonly recorded_usd: string;
  readonly difference_usd: string;
  readonly causes: readonly StatementComparison_total_causes[];
}

export interface StatementComparison_total_causes {
  readonly cause: DifferenceCause;
  readonly usd: string;
  readonly rows: number;
  readonly kinds: readonly StatementComparison_total_causes_kinds[];
}

export interface StatementComparison_total_causes_kinds {
  readonly kind: 'uncached_input' | 'cached_input' | 'cache_write' | 'output';
  readonly usd: string;
}

export interface StatementDifference {
  readonly day: string;
  readonly model: string;
  readonly project: string | null;
  readonly billed: StatementDifference_billed;
  readonly recorded: StatementDifference_billed;
  readonly difference: StatementDifference_billed;
  readonly causes: readonly StatementDifference_causes[];
}

export interface StatementDifference_billed {
  readonly usd: string;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly output_tokens: number | null;
}

export interface StatementDifference_causes {
  readonly cause: DifferenceCause;
  readonly kind: 'uncached_input' | 'cached_input' | 'cache_write' | 'output' | null;
  readonly usd: string;
  readonly tokens: number | null;
  readonly provider_key_ids: readonly string[];
}

export interface StatementDriftEvent {
  readonly id: string;
  readonly type: 'statement.drift';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: StatementEventData;
}

export interface StatementEventData {
  readonly statement_id: string;
  readonly provider: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly billed_usd: string;
  readonly difference_usd: string;
  readonly drift_usd: string;
}

export interface StatementList {
  readonly data: readonly Statement[];
  readonly next_cursor: string | null;
}

export interface Statement_not_compared {
  readonly source: string;
  readonly reason: string;
}

export interface SupportAccess {
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
}

export interface SupportAccessList {
  readonly data: readonly SupportAccess[];
  readonly next_cursor: string | null;
}

export interface SupportAccessSettings {
  readonly allowed: boolean;
  readonly approval_required: boolean;
}

export interface SupportEventData {
  readonly id: string;
  readonly org_id: string;
  readonly scope: readonly string[];
  readonly reason: string;
  readonly status: string;
  readonly created_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly needs_approval: boolean;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly revoked_by: string | null;
  readonly revoked_at: string | null;
}

export interface SupportGrant {
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
}

export interface SupportGrantApprovedEvent {
  readonly id: string;
  readonly type: 'support.grant_approved';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportEventData;
}

export interface SupportGrantCreatedEvent {
  readonly id: string;
  readonly type: 'support.grant_created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportEventData;
}

export interface SupportGrantDeniedEvent {
  readonly id: string;
  readonly type: 'support.grant_denied';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportEventData;
}

export interface SupportGrantList {
  readonly data: readonly SupportGrant[];
  readonly next_cursor: string | null;
}

export interface SupportGrantRevokedEvent {
  readonly id: string;
  readonly type: 'support.grant_revoked';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportEventData;
}

export interface SupportSession {
  readonly id: string;
  readonly grant_id: string;
  readonly org_id: string;
  readonly scope: readonly string[];
  readonly operator_key_id: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly token: string;
}

export interface SupportSessionOpenedEvent {
  readonly id: string;
  readonly type: 'support.session_opened';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportSessionOpenedEventData;
}

export interface SupportSessionOpenedEventData {
  readonly id: string;
  readonly grant_id: string;
  readonly org_id: string;
  readonly scope: readonly string[];
  readonly operator_key_id: string;
  readonly created_at: string;
  readonly expires_at: string;
}

export interface SupportSettingsUpdatedEvent {
  readonly id: string;
  readonly type: 'support.settings_updated';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: SupportSettingsUpdatedEventData;
}

export interface SupportSettingsUpdatedEventData {
  readonly allowed: boolean;
  readonly approval_required: boolean;
}

export interface SuspendOrg {
  readonly reason?: string;
}

export interface TestEmails {
  readonly data: readonly EmailSubscriptionDelivery[];
}

export interface TestSafetyDetector {
  readonly content: string;
  readonly detectors?: readonly string[];
}

export interface ToolSignIn {
  readonly id: string;
  readonly member_id: string;
  readonly member_name: string;
  readonly client_id: string;
  readonly address: string;
  readonly user_agent: string;
  readonly session_id: string;
  readonly status: 'active' | 'expired' | 'ended';
  readonly created_at: string;
  readonly renewed_at: string | null;
  readonly expires_at: string;
  readonly ended_at: string | null;
  readonly end_reason: 'ended' | 'signed_out' | 'session_ended' | 'member_removed' | 'sso_changed' | 'refresh_token_reused' | null;
}

export interface ToolSignInCreatedEvent {
  readonly id: string;
  readonly type: 'tool_sign_in.created';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ToolSignInEventData;
}

export interface ToolSignInEndedEvent {
  readonly id: string;
  readonly type: 'tool_sign_in.ended';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: ToolSignInEventData;
}

export interface ToolSignInEventData {
  readonly id: string;
  readonly member_id: string;
  readonly member_name: string;
  readonly client_id: string;
  readonly address: string;
  readonly user_agent: string;
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly ended_at: string | null;
  readonly end_reason: string | null;
}

export interface ToolSignInList {
  readonly data: readonly ToolSignIn[];
  readonly next_cursor: string | null;
}

export interface TopUpOrgPrepaid {
  readonly amount_usd: string;
  readonly reference?: string | null;
}

export interface UnpricedModel {
  readonly model: string;
  readonly runs: number;
  readonly repriced_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly first_used_at: string;
  readonly last_used_at: string;
  readonly priced_as: string | null;
}

export interface UnpricedModelList {
  readonly data: readonly UnpricedModel[];
  readonly next_cursor: string | null;
}

export interface UnpricedModelTotal {
  readonly model: string;
  readonly organizations: number;
  readonly runs: number;
  readonly repriced_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly first_used_at: string;
  readonly last_used_at: string;
}

export interface UnpricedModelTotalList {
  readonly data: readonly UnpricedModelTotal[];
  readonly next_cursor: string | null;
}

export interface UnpricedPolicy {
  readonly on_unpriced: OnUnpriced;
  readonly id: string | null;
  readonly input_usd_per_million: string | null;
  readonly cached_input_usd_per_million: string | null;
  readonly cached_image_input_usd_per_million: string | null;
  readonly cache_write_usd_per_million: string | null;
  readonly output_usd_per_million: string | null;
  readonly audio_input_usd_per_million: string | null;
  readonly image_input_usd_per_million: string | null;
  readonly audio_output_usd_per_million: string | null;
  readonly image_usd: string | null;
  readonly request_usd: string | null;
  readonly updated_at: string | null;
}

export interface Usage {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly previous?: Usage_previous;
  readonly total: Usage_total;
  readonly data: readonly UsageRow[];
  readonly next_cursor: string | null;
}

export interface UsageRow {
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
  readonly kind?: string;
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
  readonly cache_savings_usd: string;
  readonly quantity: number | null;
  readonly previous?: Usage_total_previous;
  readonly change?: Usage_total_change;
}

export interface UsageSeries {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly interval: 'hour' | 'day' | 'month';
  readonly points: readonly string[];
  readonly series: readonly UsageSeries_series[];
}

export interface UsageSeries_series {
  readonly kind: 'all' | 'value' | 'unset' | 'other';
  readonly value: string | null;
  readonly points: readonly UsageSeries_series_points[];
}

export type UsageSeries_series_points = {
  readonly runs: number;
  readonly failed_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly cache_savings_usd: string;
  readonly latency_p95_ms?: number | null;
} | null;

export interface UsageValues {
  readonly from: string;
  readonly to: string;
  readonly fields: UsageValues_fields;
  readonly tags: Readonly<Record<string, UsageValues_fields_key_id>>;
}

export interface UsageValues_fields {
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
}

export interface UsageValues_fields_key_id {
  readonly values: readonly string[];
  readonly more: boolean;
}

export interface Usage_previous {
  readonly from: string;
  readonly to: string;
}

export interface Usage_total {
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
  readonly cache_savings_usd: string;
  readonly quantity: number | null;
  readonly previous?: Usage_total_previous;
  readonly change?: Usage_total_change;
}

export interface Usage_total_change {
  readonly runs: number;
  readonly runs_ratio: number | null;
  readonly cost_usd: string;
  readonly cost_ratio: number | null;
}

export interface Usage_total_previous {
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
  readonly cache_savings_usd: string;
  readonly quantity: number | null;
}

export interface Webhook {
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
}

export interface WebhookDelivery {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly state: 'waiting' | 'delivered' | 'failed';
  readonly failure: 'attempts_exhausted' | 'gone' | 'disabled' | 'queue_full' | 'event_gone' | null;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly WebhookDelivery_attempts[];
  readonly created_at: string;
  readonly ended_at: string | null;
}

export interface WebhookDeliveryList {
  readonly data: readonly WebhookDelivery[];
  readonly next_cursor: string | null;
}

export interface WebhookDelivery_attempts {
  readonly at: string;
  readonly status: number | null;
  readonly latency_ms: number;
  readonly error: 'timeout' | 'address_not_allowed' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'invalid_answer' | 'network' | null;
  readonly response: string | null;
}

export interface WebhookDisabledEvent {
  readonly id: string;
  readonly type: 'webhook.disabled';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: WebhookEventData;
}

export interface WebhookEventData {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: string;
  readonly disabled_reason: string | null;
  readonly disabled_at: string | null;
}

export type WebhookEventVersion = 1 | 2;

export interface WebhookList {
  readonly data: readonly Webhook[];
  readonly next_cursor: string | null;
}

export interface WebhookPayload {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly org_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface WebhookRedelivery {
  readonly redelivering: number;
  readonly more: boolean;
  readonly next_cursor: string | null;
}

export interface WebhookSigning {
  readonly event_version: WebhookEventVersion;
  readonly fingerprint: string | null;
  readonly created_at: string | null;
  readonly age_seconds: number | null;
  readonly overlap_ends_at: string | null;
  readonly previous_fingerprint: string | null;
}

export interface WebhookTestEvent {
  readonly id: string;
  readonly type: 'webhook.test';
  readonly created_at: string;
  readonly org_id: string;
  readonly data: WebhookTestEventData;
}

export interface WebhookTestEventData {
  readonly subscription_id: string;
  readonly message: string;
}

export interface WebhookWithSecret {
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
}

/** The details of each error code. */
export interface ErrorDetails {
  readonly bad_request: Readonly<Record<string, never>>;
  readonly unauthorized: Readonly<Record<string, never>>;
  readonly key_expired: Readonly<Record<string, never>>;
  readonly session_revoked: Readonly<Record<string, never>>;
  readonly forbidden: {
    readonly field?: string;
    readonly run_index?: number;
  };
  readonly missing_scope: {
    readonly required: string;
  };
  readonly ip_not_allowed: Readonly<Record<string, never>>;
  readonly org_suspended: Readonly<Record<string, never>>;
  readonly residency_violation: Readonly<Record<string, never>>;
  readonly policy_blocked: {
    readonly reason: string;
    readonly attempted: string;
    readonly rule_id: string;
  };
  readonly policy_approval_required: {
    readonly reason: string;
    readonly attempted: string;
    readonly rule_id: string;
    readonly approval_id: string;
  };
  readonly content_safety_blocked: {
    readonly detector: string;
    readonly detector_id?: string;
    readonly sample: string;
  };
  readonly support_scope_denied: {
    readonly reason: string;
    readonly scope: readonly string[];
    readonly method: string;
  };
  readonly not_found: Readonly<Record<string, never>>;
  readonly conflict: {
    readonly run_index?: number;
    readonly etag?: string;
  };
  readonly idempotency_key_conflict: Readonly<Record<string, never>>;
  readonly idempotency_key_processing: Readonly<Record<string, never>>;
  readonly gone: Readonly<Record<string, never>>;
  readonly payload_too_large: Readonly<Record<string, never>>;
  readonly validation_failed: {
    readonly fields: readonly {
      readonly field: string;
      readonly code: string;
      readonly message: string;
    }[];
  };
  readonly insufficient_cohort_size: {
    readonly minimum_cohort_size: number;
  };
  readonly spend_cap_exceeded: {
    readonly cap_usd: string;
    readonly spent_usd: string;
    readonly resets_at: string;
    readonly reason?: string;
    readonly held_usd?: string;
    readonly reserved_usd?: string;
    readonly raised_usd?: string;
    readonly raised_until?: string;
    readonly attempted_usd?: string;
  };
  readonly chain_budget_exceeded: {
    readonly reason: 'cost' | 'depth' | 'tokens';
    readonly current: string | number;
    readonly attempted: string | number;
    readonly limit: string | number;
  };
  readonly budget_exceeded: {
    readonly budget_id: string;
    readonly scope_kind: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | 'customer' | string;
    readonly limit_usd: string;
    readonly spent_usd: string;
    readonly period_start: string;
    readonly period_end: string;
    readonly held_usd?: string;
    readonly reserved_usd?: string;
    readonly raised_usd?: string;
    readonly raised_until?: string;
    readonly attempted_usd?: string;
  };
  readonly quota_exhausted: {
    readonly quota_kind: 'prepaid' | 'window';
    readonly unit: string;
    readonly limit: string | number;
    readonly used: string | number;
    readonly window_start: string | null;
    readonly window_end: string | null;
  };
  readonly credits_exhausted: {
    readonly available_usd: string;
    readonly attempted_usd: string;
  };
  readonly plan_limit_exceeded: {
    readonly limit_kind: 'runs' | 'tokens';
    readonly limit: number;
    readonly used: number;
  };
  readonly rate_limited: {
    readonly retry_after_seconds: number;
  };
  readonly policy_expression_error: {
    readonly rule_id: string;
  };
  readonly internal: Readonly<Record<string, never>>;
  readonly no_model_passes_eval: Readonly<Record<string, never>>;
  readonly service_unavailable: Readonly<Record<string, never>>;
}

export type ErrorCodeName = keyof ErrorDetails;

/** Every event that a webhook subscription can receive. */
export type PurserEvent = LimitThresholdReachedEvent | LimitExhaustedEvent | LimitExhaustionForecastEvent | RaiseCreatedEvent | RaiseEndedEvent | RaiseRequestedEvent | RaiseApprovedEvent | RaiseDeniedEvent | RunFinishedEvent | RunUnsettledEvent | RunAdjustedEvent | PriceMissingEvent | ModelUnpricedEvent | GatewayPaceExceededEvent | PriceChangePendingEvent | StatementDriftEvent | KeyCreatedEvent | KeyUpdatedEvent | KeyRotatedEvent | KeyRevokedEvent | KeyExpiringEvent | MemberInvitedEvent | MemberJoinedEvent | MemberUpdatedEvent | MemberRemovedEvent | ToolSignInCreatedEvent | ToolSignInEndedEvent | SsoUpdatedEvent | OrgCreatedEvent | OrgUpdatedEvent | OrgSuspendedEvent | OrgReinstatedEvent | OrgIpAllowListUpdatedEvent | OrgResidencyUpdatedEvent | SupportGrantCreatedEvent | SupportGrantApprovedEvent | SupportGrantDeniedEvent | SupportGrantRevokedEvent | SupportSessionOpenedEvent | SupportSettingsUpdatedEvent | BudgetCreatedEvent | BudgetUpdatedEvent | BudgetDeletedEvent | SpendCapUpdatedEvent | SpendCapDeletedEvent | ChainBudgetUpdatedEvent | CustomerLimitCreatedEvent | CustomerLimitUpdatedEvent | CustomerLimitDeletedEvent | CreditPackCreatedEvent | CreditPackUpdatedEvent | CreditPackVoidedEvent | PrepaidUpdatedEvent | PrepaidToppedUpEvent | PlanAssignedEvent | RateLimitsUpdatedEvent | OrgPriceUpdatedEvent | OrgPriceRemovedEvent | PolicyBlockedEvent | ApprovalRequestedEvent | ApprovalApprovedEvent | ApprovalDeniedEvent | ApprovalUsedUpEvent | ApprovalExpiredEvent | EdgeDecisionsImportedEvent | EvalRecordedEvent | EvalDeletedEvent | RoutingPolicyUpdatedEvent | RoutingPolicyDeletedEvent | OrgRetentionPolicyUpdatedEvent | OrgUnpricedPolicyUpdatedEvent | AuditCheckpointEvent | DigestWeeklyEvent | WebhookDisabledEvent | WebhookTestEvent;
