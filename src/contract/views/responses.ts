// biome-ignore-all format: written by scripts/generate.ts
/**
 * The JSON response of every operation of the API, by operation id. Generated from the response schemas: do not edit, run
 * `npm run generate`.
 */
export interface Responses {
  readonly 'approvals.approve': {
    readonly id: string;
    readonly state: 'pending' | 'approved' | 'denied' | 'expired' | 'used';
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
  readonly 'approvals.deny': Responses['approvals.approve'];
  readonly 'approvals.list': {
    readonly data: readonly Responses['approvals.approve'][];
    readonly next_cursor: string | null;
  };
  readonly 'approvals.read': {
    readonly id: string;
    readonly state: 'pending' | 'approved' | 'denied' | 'expired' | 'used';
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
  readonly 'audit.checkpoints.create': {
    readonly id: string;
    readonly org_id: string;
    readonly seq: number;
    readonly hash: string;
    readonly at: string;
    readonly token: string;
  };
  readonly 'audit.checkpoints.list': {
    readonly data: readonly Responses['audit.checkpoints.create'][];
    readonly next_cursor: string | null;
  };
  readonly 'audit.list': {
    readonly data: readonly {
      readonly id: string;
      readonly seq: number;
      readonly at: string;
      readonly actor: {
        readonly kind: string;
        readonly id: string;
      };
      readonly action: string;
      readonly outcome: 'success' | 'denied' | 'failure';
      readonly code: string | null;
      readonly target: {
        readonly kind: string;
        readonly id: string;
      };
      readonly before: Readonly<Record<string, unknown>> | null;
      readonly after: Readonly<Record<string, unknown>> | null;
      readonly detail: Readonly<Record<string, unknown>> | null;
      readonly address: string | null;
      readonly trace_id: string | null;
      readonly redacted: boolean;
      readonly previous_hash: string;
      readonly hash: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'audit.signing_key': {
    readonly id: string;
    readonly algorithm: 'Ed25519';
    readonly public_key: string;
    readonly created_at: string;
    readonly previous: readonly {
      readonly id: string;
      readonly algorithm: 'Ed25519';
      readonly public_key: string;
      readonly created_at: string;
      readonly retired_at: string;
    }[];
  };
  readonly 'audit.verify': {
    readonly valid: boolean;
    readonly checked_entries: number;
    readonly first_seq: number;
    readonly last_seq: number;
    readonly removed_until_seq: number | null;
    readonly checkpoints_checked: number;
    readonly kept_checkpoint: 'checked' | 'removed_by_retention' | null;
    readonly findings: readonly {
      readonly kind: 'entry_changed' | 'entry_missing' | 'entry_moved' | 'tail_missing' | 'chain_rewritten' | 'head_wrong' | 'head_invalid' | 'anchor_invalid' | 'checkpoint_invalid' | 'key_invalid';
      readonly seq: number;
      readonly until_seq: number;
      readonly message: string;
    }[];
    readonly head: {
      readonly seq: number;
      readonly hash: string;
      readonly token: string;
    };
  };
  readonly 'benchmark_participation.put': Responses['benchmark_participation.read'];
  readonly 'benchmark_participation.read': {
    readonly enabled: boolean;
    readonly industry: string | null;
    readonly size_band: string | null;
    readonly updated_at: string | null;
  };
  readonly 'benchmarks.create_cohort': {
    readonly id: string;
    readonly name: string;
    readonly criteria: {
      readonly industry: string | null;
      readonly size_band: string | null;
    };
    readonly created_at: string;
  };
  readonly 'benchmarks.list_cohorts': {
    readonly data: readonly Responses['benchmarks.create_cohort'][];
    readonly next_cursor: string | null;
  };
  readonly 'benchmarks.read_cohort': {
    readonly id: string;
    readonly name: string;
    readonly criteria: {
      readonly industry: string | null;
      readonly size_band: string | null;
    };
    readonly created_at: string;
    readonly release: {
      readonly week: string;
      readonly from: string;
      readonly until: string;
    };
    readonly contributing_orgs: number;
    readonly minimum_cohort_size: number;
    readonly metrics: {
      readonly cost_per_run_usd: {
        readonly q1: string;
        readonly median: string;
        readonly q3: string;
        readonly own: string | null;
        readonly own_quarter: number | null;
      } | null;
      readonly cost_per_1k_tokens_usd: {
        readonly q1: string;
        readonly median: string;
        readonly q3: string;
        readonly own: string | null;
        readonly own_quarter: number | null;
      } | null;
      readonly output_ratio: {
        readonly q1: number;
        readonly median: number;
        readonly q3: number;
        readonly own: number | null;
        readonly own_quarter: number | null;
      } | null;
      readonly failure_rate: {
        readonly q1: number;
        readonly median: number;
        readonly q3: number;
        readonly own: number | null;
        readonly own_quarter: number | null;
      } | null;
      readonly latency_p50_ms: {
        readonly q1: number;
        readonly median: number;
        readonly q3: number;
        readonly own: number | null;
        readonly own_quarter: number | null;
      } | null;
      readonly latency_p95_ms: {
        readonly q1: number;
        readonly median: number;
        readonly q3: number;
        readonly own: number | null;
        readonly own_quarter: number | null;
      } | null;
    };
    readonly model_mix: readonly {
      readonly model: string;
      readonly share: number;
      readonly own_share: number;
    }[];
  };
  readonly 'budgets.change': Responses['budgets.read'];
  readonly 'budgets.create': Responses['budgets.read'];
  readonly 'budgets.list': {
    readonly data: readonly Responses['budgets.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'budgets.read': {
    readonly id: string;
    readonly name: string;
    readonly scope_kind: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | string;
    readonly scope_id: string | null;
    readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year';
    readonly limit_usd: string;
    readonly enforcement: 'block' | 'alert';
    readonly alert_thresholds: readonly number[];
    readonly timezone: string | null;
    readonly owner: string | null;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'capacity_scenarios.change': Responses['capacity_scenarios.read'];
  readonly 'capacity_scenarios.create': Responses['capacity_scenarios.read'];
  readonly 'capacity_scenarios.list': {
    readonly data: readonly Responses['capacity_scenarios.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'capacity_scenarios.read': {
    readonly id: string;
    readonly name: string;
    readonly description: string | null;
    readonly changes: {
      readonly growth_percent_per_month?: number;
      readonly teams?: number;
      readonly model_mix?: readonly {
        readonly from_model: string;
        readonly to_model: string;
        readonly percent: number;
      }[];
      readonly price_changes?: readonly {
        readonly model?: string;
        readonly percent: number;
        readonly from?: string;
      }[];
      readonly seasonality?: {
        readonly weekday_percents?: readonly number[];
        readonly periods?: readonly {
          readonly from: string;
          readonly to: string;
          readonly percent: number;
        }[];
      };
      readonly new_deployment?: {
        readonly name: string;
        readonly daily_cost_usd: string;
        readonly daily_runs?: number;
        readonly daily_tokens?: number;
        readonly starts_on?: string;
        readonly ramp_days?: number;
      };
    };
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'chain_budget.put': Responses['chain_budget.read'];
  readonly 'chain_budget.read': {
    readonly max_cost_usd: string | null;
    readonly max_depth: number | null;
    readonly max_tokens: number | null;
  };
  readonly 'configuration.apply': {
    readonly org_id: string | null;
    readonly changes: readonly {
      readonly action: 'create' | 'update' | 'delete';
      readonly section: string;
      readonly label: string;
      readonly name: string;
      readonly id: string | null;
      readonly fields: readonly {
        readonly field: string;
        readonly before: unknown;
        readonly after: unknown;
      }[];
    }[];
    readonly unchanged: number;
    readonly not_in_file: readonly {
      readonly section: string;
      readonly name: string;
      readonly id: string;
    }[];
    readonly secrets: readonly {
      readonly section: string;
      readonly name: string;
      readonly id: string;
      readonly secret: string;
    }[];
  };
  readonly 'configuration.plan': {
    readonly org_id: string | null;
    readonly changes: readonly {
      readonly action: 'create' | 'update' | 'delete';
      readonly section: string;
      readonly label: string;
      readonly name: string;
      readonly id: string | null;
      readonly fields: readonly {
        readonly field: string;
        readonly before: unknown;
        readonly after: unknown;
      }[];
    }[];
    readonly unchanged: number;
    readonly not_in_file: readonly {
      readonly section: string;
      readonly name: string;
      readonly id: string;
    }[];
    readonly plan_digest: string;
  };
  readonly 'configuration.read': {
    readonly org_id: string;
    readonly configuration: Readonly<Record<string, unknown>>;
    readonly omitted: readonly {
      readonly section: string;
      readonly required: string;
    }[];
  };
  readonly 'connections.change': Responses['connections.read'];
  readonly 'connections.create': Responses['connections.read'];
  readonly 'connections.list': {
    readonly data: readonly Responses['connections.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'connections.read': {
    readonly id: string;
    readonly name: string;
    readonly kind: 'openai' | 'anthropic' | 'openai_compatible' | 'azure_openai';
    readonly base_url: string;
    readonly api_key_last_four: string | null;
    readonly api_key_env: string | null;
    readonly api_key_set_at: string;
    readonly previous_key_until: string | null;
    readonly models: readonly string[] | null;
    readonly priority: number;
    readonly weight: number;
    readonly timeouts: {
      readonly connect_ms: number;
      readonly first_byte_ms: number;
      readonly idle_ms: number;
      readonly total_ms: number;
    };
    readonly headers: Readonly<Record<string, string>>;
    readonly created_at: string;
    readonly updated_at: string;
    readonly breaker: {
      readonly state: 'closed' | 'open' | 'half_open';
      readonly consecutive_failures: number;
      readonly retry_at: string | null;
      readonly last_failure: {
        readonly at: string;
        readonly reason: 'status' | 'timeout' | 'unreachable' | 'key_unavailable';
        readonly status: number | null;
      } | null;
    };
  };
  readonly 'connections.rotate': Responses['connections.read'];
  readonly 'console_links.make': {
    readonly url: string;
    readonly org_id: string | null;
    readonly role: 'viewer' | 'member' | 'admin' | 'owner' | null;
    readonly expires_at: string;
  };
  readonly 'credit_packs.change': Responses['credit_packs.read'];
  readonly 'credit_packs.create': Responses['credit_packs.read'];
  readonly 'credit_packs.list': {
    readonly data: readonly Responses['credit_packs.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'credit_packs.read': {
    readonly id: string;
    readonly customer_id: string;
    readonly name: string | null;
    readonly amount_usd: string;
    readonly expires_at: string | null;
    readonly status: 'live' | 'expired' | 'voided';
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'customer_limits.change': Responses['customer_limits.read'];
  readonly 'customer_limits.create': Responses['customer_limits.read'];
  readonly 'customer_limits.list': {
    readonly data: readonly Responses['customer_limits.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'customer_limits.read': {
    readonly id: string;
    readonly customer_id: string;
    readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year';
    readonly limit_usd: string;
    readonly enforcement: 'block' | 'alert';
    readonly alert_thresholds: readonly number[];
    readonly timezone: string | null;
    readonly owner: string | null;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'customers.erasures.list': {
    readonly data: readonly {
      readonly id: string;
      readonly pseudonym: string;
      readonly state: 'erasing' | 'erased';
      readonly requested_at: string;
      readonly finished_at: string | null;
      readonly changed: number;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'customers.list': {
    readonly data: readonly {
      readonly customer_id: string;
      readonly cost_usd: string;
      readonly runs: number;
      readonly limits: readonly {
        readonly id: string;
        readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year';
        readonly limit_usd: string;
        readonly spent_usd: string;
      }[];
      readonly credits_usd: string | null;
      readonly period?: {
        readonly cost_usd: string;
        readonly runs: number;
        readonly last_active_on: string | null;
        readonly trend?: readonly string[];
      };
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'decisions.extend': {
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
    readonly limits: readonly {
      readonly limit_id: string;
      readonly amount: string | number;
    }[];
  };
  readonly 'decisions.increase': Responses['decisions.extend'];
  readonly 'deprecations.own_usage': {
    readonly data: readonly {
      readonly route: string;
      readonly org_id: string | null;
      readonly org_name: string | null;
      readonly key_id: string;
      readonly key_name: string | null;
      readonly calls: number;
      readonly first_called_at: string;
      readonly last_called_at: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'deprecations.usage': {
    readonly data: readonly {
      readonly route: string;
      readonly org_id: string | null;
      readonly org_name: string | null;
      readonly key_id: string;
      readonly key_name: string | null;
      readonly calls: number;
      readonly first_called_at: string;
      readonly last_called_at: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'edge.decide': {
    readonly decision: 'allow';
    readonly decision_id: string;
    readonly expires_at: string;
    readonly held_usd: string;
    readonly max_output_tokens: number | null;
    readonly limits: readonly {
      readonly id: string;
      readonly kind: 'rate' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer';
      readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
      readonly remaining: string | number;
      readonly resets_at: string | null;
    }[];
    readonly not_checked: readonly ('policies' | 'safety' | 'plan' | 'chain' | 'credits')[];
    readonly degraded?: boolean;
  };
  readonly 'email_subscriptions.change': Responses['email_subscriptions.read'];
  readonly 'email_subscriptions.create': Responses['email_subscriptions.read'];
  readonly 'email_subscriptions.deliveries.list': {
    readonly data: readonly Responses['email_subscriptions.deliveries.redeliver'][];
    readonly next_cursor: string | null;
  };
  readonly 'email_subscriptions.deliveries.redeliver': {
    readonly id: string;
    readonly event_id: string;
    readonly event_type: string;
    readonly recipient: string | null;
    readonly state: 'waiting' | 'delivered' | 'failed';
    readonly failure: 'attempts_exhausted' | 'disabled' | 'queue_full' | 'event_gone' | 'rejected' | null;
    readonly next_attempt_at: string | null;
    readonly attempts: readonly {
      readonly at: string;
      readonly status: number | null;
      readonly latency_ms: number;
      readonly error: 'not_configured' | 'timeout' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'authentication' | 'network' | null;
      readonly response: string | null;
    }[];
    readonly created_at: string;
    readonly ended_at: string | null;
  };
  readonly 'email_subscriptions.list': {
    readonly data: readonly Responses['email_subscriptions.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'email_subscriptions.read': {
    readonly id: string;
    readonly recipients: readonly string[];
    readonly events: readonly string[];
    readonly digest: 'weekly' | 'none';
    readonly description: string | null;
    readonly enabled: boolean;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'email_subscriptions.test': {
    readonly data: readonly Responses['email_subscriptions.deliveries.redeliver'][];
  };
  readonly 'evals.create': Responses['evals.read'];
  readonly 'evals.list': {
    readonly data: readonly Responses['evals.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'evals.read': {
    readonly id: string;
    readonly suite: string;
    readonly model: string;
    readonly score: number;
    readonly samples: number;
    readonly ran_at: string;
    readonly source: string | null;
    readonly created_at: string;
  };
  readonly 'forecasts.capacity': {
    readonly deployment: string | null;
    readonly horizon_days: number;
    readonly timezone: string;
    readonly method: 'none' | 'mean' | 'trend' | 'trend_and_weekday' | 'seasonal_naive' | 'weekday_mean' | 'smoothed_level' | 'holt_winters' | 'combined';
    readonly quality: 'none' | 'low' | 'fair' | 'good';
    readonly coverage: number;
    readonly history: {
      readonly from: string | null;
      readonly to: string | null;
      readonly days: number;
      readonly runs: number;
      readonly tokens: number;
      readonly cost_usd: string;
    };
    readonly total: {
      readonly cost_usd: string;
      readonly runs: number;
      readonly tokens: number;
    };
    readonly total_band: {
      readonly cost_usd: {
        readonly expected: string;
        readonly low: string | null;
        readonly high: string | null;
      };
      readonly runs: {
        readonly expected: number;
        readonly low: number | null;
        readonly high: number | null;
      };
      readonly tokens: {
        readonly expected: number;
        readonly low: number | null;
        readonly high: number | null;
      };
    };
    readonly days: readonly {
      readonly date: string;
      readonly cost_usd: {
        readonly expected: string;
        readonly low: string | null;
        readonly high: string | null;
      };
      readonly runs: {
        readonly expected: number;
        readonly low: number | null;
        readonly high: number | null;
      };
      readonly tokens: {
        readonly expected: number;
        readonly low: number | null;
        readonly high: number | null;
      };
    }[];
    readonly teams: {
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
      readonly points: readonly {
        readonly teams: number;
        readonly value_usd: string;
        readonly cost_usd: string;
        readonly return_usd: string;
        readonly return_low_usd: string;
        readonly return_high_usd: string;
      }[];
    };
    readonly scenario: {
      readonly id: string;
      readonly name: string;
      readonly changes: {
        readonly growth_percent_per_month?: number;
        readonly teams?: number;
        readonly model_mix?: readonly {
          readonly from_model: string;
          readonly to_model: string;
          readonly percent: number;
        }[];
        readonly price_changes?: readonly {
          readonly model?: string;
          readonly percent: number;
          readonly from?: string;
        }[];
        readonly seasonality?: {
          readonly weekday_percents?: readonly number[];
          readonly periods?: readonly {
            readonly from: string;
            readonly to: string;
            readonly percent: number;
          }[];
        };
        readonly new_deployment?: {
          readonly name: string;
          readonly daily_cost_usd: string;
          readonly daily_runs?: number;
          readonly daily_tokens?: number;
          readonly starts_on?: string;
          readonly ramp_days?: number;
        };
      };
      readonly unpriced_models: readonly string[];
    } | null;
    readonly baseline: {
      readonly total: {
        readonly cost_usd: string;
        readonly runs: number;
        readonly tokens: number;
      };
      readonly total_band: {
        readonly cost_usd: {
          readonly expected: string;
          readonly low: string | null;
          readonly high: string | null;
        };
        readonly runs: {
          readonly expected: number;
          readonly low: number | null;
          readonly high: number | null;
        };
        readonly tokens: {
          readonly expected: number;
          readonly low: number | null;
          readonly high: number | null;
        };
      };
      readonly days: readonly {
        readonly date: string;
        readonly cost_usd: {
          readonly expected: string;
          readonly low: string | null;
          readonly high: string | null;
        };
        readonly runs: {
          readonly expected: number;
          readonly low: number | null;
          readonly high: number | null;
        };
        readonly tokens: {
          readonly expected: number;
          readonly low: number | null;
          readonly high: number | null;
        };
      }[];
    } | null;
  };
  readonly 'forecasts.linear': {
    readonly deployment: string;
    readonly teams: number;
    readonly value_usd: string;
    readonly cost_usd: string;
    readonly return_usd: string;
    readonly per_team: {
      readonly value_usd: string;
      readonly cost_usd: string;
      readonly return_usd: string;
    };
    readonly teams_observed: number;
    readonly history: {
      readonly from: string;
      readonly to: string;
      readonly runs: number;
      readonly value_usd: string;
      readonly cost_usd: string;
      readonly return_usd: string;
    };
  };
  readonly 'forecasts.list': {
    readonly measure: 'spend' | 'runs' | 'tokens';
    readonly unit: 'usd' | 'tokens' | 'requests';
    readonly timezone: string;
    readonly horizon_days: number;
    readonly coverage: number;
    readonly data: readonly {
      readonly scope: Readonly<Record<string, string>>;
      readonly method: 'none' | 'mean' | 'trend' | 'trend_and_weekday' | 'seasonal_naive' | 'weekday_mean' | 'smoothed_level' | 'holt_winters' | 'combined';
      readonly quality: 'none' | 'low' | 'fair' | 'good';
      readonly backtest: {
        readonly mean_absolute_error: string;
        readonly seasonal_naive_error: string | null;
        readonly origins: number;
        readonly days_ahead: number;
      } | null;
      readonly history: readonly {
        readonly date: string;
        readonly value: string;
      }[];
      readonly today: {
        readonly date: string;
        readonly value: string;
      };
      readonly forecast: readonly {
        readonly date: string;
        readonly expected: string;
        readonly low: string | null;
        readonly high: string | null;
      }[];
      readonly total: {
        readonly expected: string;
        readonly low: string | null;
        readonly high: string | null;
      };
      readonly limits: readonly {
        readonly limit_id: string;
        readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
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
      }[];
    }[];
  };
  readonly 'gateway.calls.list': {
    readonly data: readonly {
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
    }[];
    readonly next_cursor: string | null;
    readonly process_id: string;
    readonly processes: number;
  };
  readonly 'gateway.put': Responses['gateway.read'];
  readonly 'gateway.read': {
    readonly default_max_output_tokens: number;
    readonly min_output_tokens: number;
    readonly unseen_input: 'hold' | 'refuse';
    readonly unseen_input_tokens: number | null;
    readonly unknown_tokenizer: 'estimate' | 'bytes';
    readonly max_tool_calls: number;
    readonly unpriced_tool_call_usd: string | null;
    readonly hold: 'worst_case' | 'expected';
    readonly on_limit: 'refuse' | 'fit' | 'fallback';
    readonly on_abort: 'drain' | 'close';
    readonly customer_from_body: boolean;
    readonly updated_at: string | null;
  };
  readonly 'holds.extend': Responses['decisions.extend'];
  readonly 'holds.increase': Responses['decisions.extend'];
  readonly 'holds.list': {
    readonly data: readonly Responses['decisions.extend'][];
    readonly next_cursor: string | null;
  };
  readonly 'installation.read': {
    readonly status: 'ok' | 'warn' | 'fail';
    readonly checks: readonly {
      readonly id: string;
      readonly status: 'ok' | 'warn' | 'fail';
      readonly finding: string;
      readonly remedy: string;
    }[];
    readonly version: string;
    readonly engine: 'embedded' | 'postgres';
    readonly database_version: string;
    readonly region: string | null;
    readonly process_started_at: string;
    readonly processes: readonly {
      readonly id: string;
      readonly version: string | null;
      readonly seen_at: string;
      readonly current: boolean;
    }[];
    readonly migrations: {
      readonly applied: number;
      readonly last_applied: string | null;
      readonly last_applied_at: string | null;
      readonly due: readonly string[];
      readonly postponed: readonly string[];
    };
    readonly queues: {
      readonly events_waiting: number;
      readonly events_oldest_seconds: number;
      readonly webhook_deliveries_waiting: number;
      readonly webhook_overdue_seconds: number;
    };
    readonly holds: {
      readonly open: number;
      readonly overdue: number;
      readonly overdue_seconds: number;
    };
    readonly spools: {
      readonly fail_open_decisions: number;
      readonly fail_open_bytes: number;
      readonly gateway_settlements: number;
    };
    readonly ledger_drift_usd: number;
    readonly retention_failing_orgs: number;
    readonly prices: {
      readonly newest_at: string | null;
      readonly changes_pending: number;
    };
    readonly database_connections: {
      readonly used: number;
      readonly idle: number;
      readonly waiting: number;
    };
    readonly jobs: readonly {
      readonly id: string;
      readonly every_seconds: number;
      readonly last_started_at: string | null;
      readonly last_ended_at: string | null;
      readonly running: boolean;
      readonly failures: number;
      readonly last_error: string | null;
      readonly last_failed_at: string | null;
    }[];
  };
  readonly 'keys.change': Responses['keys.read'];
  readonly 'keys.list': {
    readonly data: readonly Responses['keys.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'keys.mint': {
    readonly id: string;
    readonly org_id: string | null;
    readonly name: string;
    readonly role: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
    readonly scopes: readonly string[];
    readonly hint: string;
    readonly status: 'active' | 'not_yet_valid' | 'expired' | 'revoked';
    readonly not_before: string | null;
    readonly expires_at: string | null;
    readonly revoked_at: string | null;
    readonly rotated_from: string | null;
    readonly created_at: string;
    readonly last_used_at: string | null;
    readonly attribution: {
      readonly member_id?: string;
      readonly team?: string;
      readonly department?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly customer_id?: string;
      readonly project?: string;
      readonly tags?: Readonly<Record<string, string>>;
    };
    readonly attribution_locked: readonly ('member_id' | 'team' | 'department' | 'workflow' | 'deployment' | 'customer_id' | 'project' | 'tags')[];
    readonly secret: string;
  };
  readonly 'keys.read': {
    readonly id: string;
    readonly org_id: string | null;
    readonly name: string;
    readonly role: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
    readonly scopes: readonly string[];
    readonly hint: string;
    readonly status: 'active' | 'not_yet_valid' | 'expired' | 'revoked';
    readonly not_before: string | null;
    readonly expires_at: string | null;
    readonly revoked_at: string | null;
    readonly rotated_from: string | null;
    readonly created_at: string;
    readonly last_used_at: string | null;
    readonly attribution: {
      readonly member_id?: string;
      readonly team?: string;
      readonly department?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly customer_id?: string;
      readonly project?: string;
      readonly tags?: Readonly<Record<string, string>>;
    };
    readonly attribution_locked: readonly ('member_id' | 'team' | 'department' | 'workflow' | 'deployment' | 'customer_id' | 'project' | 'tags')[];
  };
  readonly 'keys.rotate': Responses['keys.mint'];
  readonly 'ledger.reconciliation': {
    readonly balanced: boolean;
    readonly drift_usd: string;
    readonly checked_at: string;
    readonly totals: {
      readonly cost_usd: {
        readonly entries: string;
        readonly runs: string;
        readonly usage: string;
      };
      readonly tokens: {
        readonly entries: string;
        readonly runs: string;
        readonly usage: string;
      };
      readonly runs: {
        readonly entries: string;
        readonly runs: string;
        readonly usage: string;
      };
      readonly uncovered_usd: {
        readonly entries: string;
        readonly runs: string;
      };
      readonly credits_usd: {
        readonly entries: string;
        readonly tallies: string;
      };
      readonly prepaid_usd: {
        readonly entries: string;
        readonly tallies: string;
      };
    };
    readonly counters_checked: number;
    readonly counters: readonly {
      readonly key: string;
      readonly limit_id: string;
      readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
      readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
      readonly window_start: string | null;
      readonly window_end: string | null;
      readonly settled: string | number;
      readonly settled_by_entries: string | number | null;
      readonly held: string | number;
      readonly held_by_holds: string | number;
      readonly drift: string | number;
    }[];
  };
  readonly 'limits.list': {
    readonly data: readonly {
      readonly id: string;
      readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
      readonly name: string | null;
      readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
      readonly match: Readonly<Record<string, string>>;
      readonly enforcement: 'block' | 'alert';
      readonly limit: string | number;
      readonly standing: {
        readonly settled: string | number;
        readonly held: string | number;
        readonly remaining: string | number;
        readonly window_start: string | null;
        readonly window_end: string | null;
      } | null;
      readonly state: 'ok' | 'near' | 'exhausted' | null;
      readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
      readonly window_seconds: number | null;
      readonly timezone: string | null;
      readonly alert_thresholds: readonly number[];
      readonly owner: string | null;
      readonly expires_at: string | null;
      readonly created_at: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'limits.read': {
    readonly id: string;
    readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
    readonly name: string | null;
    readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
    readonly match: Readonly<Record<string, string>>;
    readonly enforcement: 'block' | 'alert';
    readonly limit: string | number;
    readonly standing: {
      readonly settled: string | number;
      readonly held: string | number;
      readonly remaining: string | number;
      readonly window_start: string | null;
      readonly window_end: string | null;
    } | null;
    readonly state: 'ok' | 'near' | 'exhausted' | null;
    readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
    readonly window_seconds: number | null;
    readonly timezone: string | null;
    readonly alert_thresholds: readonly number[];
    readonly owner: string | null;
    readonly expires_at: string | null;
    readonly created_at: string;
    readonly windows: readonly {
      readonly window_start: string;
      readonly window_end: string;
      readonly settled: string | number;
    }[];
    readonly alerts: readonly {
      readonly threshold: number | null;
      readonly at: string;
      readonly window_start: string | null;
      readonly value: string | null;
    }[];
  };
  readonly 'limits.values': {
    readonly data: readonly {
      readonly values: Readonly<Record<string, string>>;
      readonly standing: {
        readonly settled: string | number;
        readonly held: string | number;
        readonly remaining: string | number;
        readonly window_start: string | null;
        readonly window_end: string | null;
      };
      readonly state: 'ok' | 'near' | 'exhausted';
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'members.change': Responses['members.read'];
  readonly 'members.invite': {
    readonly id: string;
    readonly name: string;
    readonly email: string | null;
    readonly role: 'viewer' | 'member' | 'admin' | 'owner';
    readonly status: 'invited' | 'active' | 'removed';
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
  readonly 'members.list': {
    readonly data: readonly Responses['members.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'members.read': {
    readonly id: string;
    readonly name: string;
    readonly email: string | null;
    readonly role: 'viewer' | 'member' | 'admin' | 'owner';
    readonly status: 'invited' | 'active' | 'removed';
    readonly issuer: string | null;
    readonly subject: string | null;
    readonly link_expires_at: string | null;
    readonly created_at: string;
    readonly updated_at: string;
    readonly joined_at: string | null;
    readonly last_sign_in_at: string | null;
    readonly removed_at: string | null;
  };
  readonly 'members.sign_in_link': Responses['members.invite'];
  readonly 'meta.deprecations': readonly {
    readonly route: string;
    readonly since: string;
    readonly sunset: string;
    readonly replacement?: string;
    readonly documentation: string;
  }[];
  readonly 'meta.errors': {
    readonly data: readonly {
      readonly code: string;
      readonly statuses: readonly number[];
      readonly details: readonly string[];
      readonly retry: 'after_change' | 'after_interval' | 'after_window' | 'with_backoff' | 'never';
      readonly meaning: string;
    }[];
    readonly next_cursor: string | null;
    readonly gateway: readonly {
      readonly code: string;
      readonly statuses: readonly number[];
      readonly details: readonly string[];
      readonly retry: 'after_change' | 'after_interval' | 'after_window' | 'with_backoff' | 'never';
      readonly meaning: string;
    }[];
  };
  readonly 'meta.events': {
    readonly data: readonly {
      readonly type: string;
      readonly meaning: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly example: Readonly<Record<string, unknown>>;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'meta.openapi': Readonly<Record<string, unknown>>;
  readonly 'models.list': {
    readonly data: readonly {
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
      readonly modifiers: readonly {
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
      }[];
      readonly units: Readonly<Record<string, string>>;
      readonly context_tokens: number | null;
      readonly max_output_tokens: number | null;
      readonly regions: readonly string[] | null;
      readonly capabilities: readonly string[] | null;
      readonly aliases: readonly string[];
      readonly patterns: readonly string[];
      readonly latency_p50_ms: number | null;
      readonly latency_p95_ms: number | null;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'models.org_prices.list': {
    readonly data: readonly Responses['models.org_prices.put'][];
    readonly next_cursor: string | null;
  };
  readonly 'models.org_prices.put': {
    readonly id: string;
    readonly org_id: string;
    readonly model: string;
    readonly status: 'in_force' | 'scheduled' | 'past' | 'withdrawn';
    readonly discount_percent: string | null;
    readonly input_usd_per_million: string | null;
    readonly cached_input_usd_per_million: string | null;
    readonly cache_write_usd_per_million: string | null;
    readonly output_usd_per_million: string | null;
    readonly audio_input_usd_per_million: string | null;
    readonly audio_output_usd_per_million: string | null;
    readonly image_usd: string | null;
    readonly request_usd: string | null;
    readonly modifiers: readonly {
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
    }[];
    readonly units: Readonly<Record<string, string>>;
    readonly effective_from: string;
    readonly ended_at: string | null;
    readonly created_at: string;
  };
  readonly 'models.org_prices.read': {
    readonly id: string;
    readonly org_id: string;
    readonly model: string;
    readonly status: 'in_force' | 'scheduled' | 'past' | 'withdrawn';
    readonly discount_percent: string | null;
    readonly input_usd_per_million: string | null;
    readonly cached_input_usd_per_million: string | null;
    readonly cache_write_usd_per_million: string | null;
    readonly output_usd_per_million: string | null;
    readonly audio_input_usd_per_million: string | null;
    readonly audio_output_usd_per_million: string | null;
    readonly image_usd: string | null;
    readonly request_usd: string | null;
    readonly modifiers: readonly {
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
    }[];
    readonly units: Readonly<Record<string, string>>;
    readonly effective_from: string;
    readonly ended_at: string | null;
    readonly created_at: string;
    readonly versions: readonly Responses['models.org_prices.put'][];
  };
  readonly 'models.prices.list': {
    readonly data: readonly Responses['models.prices.put'][];
    readonly next_cursor: string | null;
  };
  readonly 'models.prices.put': {
    readonly id: string;
    readonly model: string;
    readonly provider: string | null;
    readonly status: 'in_force' | 'scheduled' | 'past' | 'withdrawn';
    readonly input_usd_per_million: string | null;
    readonly cached_input_usd_per_million: string | null;
    readonly cache_write_usd_per_million: string | null;
    readonly output_usd_per_million: string | null;
    readonly audio_input_usd_per_million: string | null;
    readonly audio_output_usd_per_million: string | null;
    readonly image_usd: string | null;
    readonly request_usd: string | null;
    readonly modifiers: readonly {
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
    }[];
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
  readonly 'models.prices.read': {
    readonly id: string;
    readonly model: string;
    readonly provider: string | null;
    readonly status: 'in_force' | 'scheduled' | 'past' | 'withdrawn';
    readonly input_usd_per_million: string | null;
    readonly cached_input_usd_per_million: string | null;
    readonly cache_write_usd_per_million: string | null;
    readonly output_usd_per_million: string | null;
    readonly audio_input_usd_per_million: string | null;
    readonly audio_output_usd_per_million: string | null;
    readonly image_usd: string | null;
    readonly request_usd: string | null;
    readonly modifiers: readonly {
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
    }[];
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
    readonly versions: readonly {
      readonly id: string;
      readonly model: string;
      readonly provider: string | null;
      readonly status: 'in_force' | 'scheduled' | 'past' | 'withdrawn';
      readonly input_usd_per_million: string | null;
      readonly cached_input_usd_per_million: string | null;
      readonly cache_write_usd_per_million: string | null;
      readonly output_usd_per_million: string | null;
      readonly audio_input_usd_per_million: string | null;
      readonly audio_output_usd_per_million: string | null;
      readonly image_usd: string | null;
      readonly request_usd: string | null;
      readonly modifiers: readonly {
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
      }[];
      readonly units: Readonly<Record<string, string>>;
      readonly follows_updates: boolean;
      readonly source: string | null;
      readonly effective_from: string;
      readonly created_at: string;
    }[];
  };
  readonly 'models.resolve': {
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
    readonly modifiers: readonly {
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
    }[];
    readonly units: Readonly<Record<string, string>>;
    readonly on_unpriced: 'refuse' | 'hold_default' | 'record' | null;
    readonly steps: readonly {
      readonly step: 'org_price' | 'exact' | 'alias' | 'pattern' | 'without_prefix' | 'without_date';
      readonly name: string;
      readonly model: string | null;
      readonly matched: boolean;
    }[];
  };
  readonly 'operator_keys.list': {
    readonly data: readonly Responses['keys.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'operator_keys.mint': Responses['keys.mint'];
  readonly 'operator_keys.read': Responses['keys.read'];
  readonly 'operator_keys.rotate': Responses['keys.mint'];
  readonly 'operator_sessions.list': {
    readonly data: readonly {
      readonly id: string;
      readonly method: 'key' | 'link' | 'invitation' | 'oidc' | 'saml';
      readonly key_id: string | null;
      readonly member_id: string | null;
      readonly name: string;
      readonly role: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
      readonly address: string;
      readonly user_agent: string;
      readonly status: 'active' | 'expired' | 'revoked';
      readonly current: boolean;
      readonly created_at: string;
      readonly last_seen_at: string;
      readonly expires_at: string;
      readonly ended_at: string | null;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'org.change': Responses['org.read'];
  readonly 'org.ip_allow_list.put': Responses['org.ip_allow_list.read'];
  readonly 'org.ip_allow_list.read': {
    readonly cidrs: readonly string[];
  };
  readonly 'org.read': {
    readonly id: string;
    readonly name: string;
    readonly slug: string;
    readonly timezone: string;
    readonly home_region: string | null;
    readonly residency_mode: 'forward' | 'strict';
    readonly on_unsettled: 'release' | 'post_held';
    readonly status: 'active' | 'suspended';
    readonly suspension_reason: string | null;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'orgs.change': Responses['org.read'];
  readonly 'orgs.configuration.apply': Responses['configuration.apply'];
  readonly 'orgs.configuration.plan': Responses['configuration.plan'];
  readonly 'orgs.configuration.read': Responses['configuration.read'];
  readonly 'orgs.create': Responses['org.read'];
  readonly 'orgs.keys.mint': Responses['keys.mint'];
  readonly 'orgs.list': {
    readonly data: readonly Responses['org.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'orgs.plan.put': Responses['orgs.plan.read'];
  readonly 'orgs.plan.read': {
    readonly plan_id: string | null;
    readonly plan: Responses['plans.read'] | null;
    readonly assigned_at: string | null;
  };
  readonly 'orgs.prepaid.put': Responses['orgs.prepaid.read'];
  readonly 'orgs.prepaid.read': {
    readonly id: string | null;
    readonly enabled: boolean;
    readonly topped_up_usd: string;
  };
  readonly 'orgs.prepaid.top_up': {
    readonly id: string;
    readonly amount_usd: string;
    readonly reference: string | null;
    readonly created_at: string;
  };
  readonly 'orgs.prepaid.top_ups.list': {
    readonly data: readonly Responses['orgs.prepaid.top_up'][];
    readonly next_cursor: string | null;
  };
  readonly 'orgs.rate_limits.put': Responses['orgs.rate_limits.read'];
  readonly 'orgs.rate_limits.read': {
    readonly read_rpm: number | null;
    readonly policies: readonly {
      readonly id: string;
      readonly name: string;
      readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
      readonly limit: string | number;
      readonly kind: 'rate' | 'quota';
      readonly window_seconds: number;
      readonly match: {
        readonly key_id?: string;
        readonly model?: string;
        readonly customer_id?: string;
        readonly route_class?: 'read' | 'write' | 'runs' | 'edge';
      };
      readonly burst: string | number | null;
      readonly created_at: string;
      readonly updated_at: string;
    }[];
  };
  readonly 'orgs.read': Responses['org.read'];
  readonly 'orgs.reinstate': Responses['org.read'];
  readonly 'orgs.summaries.list': {
    readonly data: readonly Responses['orgs.summary.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'orgs.summary.read': {
    readonly id: string;
    readonly name: string;
    readonly slug: string;
    readonly status: 'active' | 'suspended';
    readonly created_at: string;
    readonly month_start: string;
    readonly spend_usd: string;
    readonly runs: number;
    readonly prepaid_balance_usd: string | null;
    readonly nearest_limit: {
      readonly kind: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
      readonly used_percent: number;
    } | null;
    readonly last_active_at: string | null;
    readonly as_of: string | null;
  };
  readonly 'orgs.suspend': Responses['org.read'];
  readonly 'plan.read': Responses['orgs.plan.read'];
  readonly 'plans.create': Responses['plans.read'];
  readonly 'plans.list': {
    readonly data: readonly Responses['plans.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'plans.read': {
    readonly id: string;
    readonly name: string;
    readonly monthly_runs: number | null;
    readonly monthly_tokens: number | null;
    readonly overage_policy: 'block' | 'allow';
    readonly created_at: string;
  };
  readonly 'platform_audit.checkpoints.create': Responses['audit.checkpoints.create'];
  readonly 'platform_audit.checkpoints.list': {
    readonly data: readonly Responses['audit.checkpoints.create'][];
    readonly next_cursor: string | null;
  };
  readonly 'platform_audit.list': {
    readonly data: readonly {
      readonly id: string;
      readonly seq: number;
      readonly at: string;
      readonly actor: {
        readonly kind: string;
        readonly id: string;
      };
      readonly action: string;
      readonly outcome: 'success' | 'denied' | 'failure';
      readonly code: string | null;
      readonly target: {
        readonly kind: string;
        readonly id: string;
      };
      readonly before: Readonly<Record<string, unknown>> | null;
      readonly after: Readonly<Record<string, unknown>> | null;
      readonly detail: Readonly<Record<string, unknown>> | null;
      readonly address: string | null;
      readonly trace_id: string | null;
      readonly redacted: boolean;
      readonly previous_hash: string;
      readonly hash: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'platform_audit.signing_key.rotate': Responses['audit.signing_key'];
  readonly 'platform_audit.verify': Responses['audit.verify'];
  readonly 'platform_retention.put': Responses['platform_retention.read'];
  readonly 'platform_retention.read': {
    readonly audit_days: number | null;
    readonly legal_hold: boolean;
    readonly updated_at: string | null;
    readonly failing_since: string | null;
    readonly failing: readonly ('runs' | 'contents' | 'ledger_entries' | 'audit_entries' | 'support_access' | 'deliveries' | 'events')[];
    readonly last_run: {
      readonly id: string;
      readonly started_at: string;
      readonly finished_at: string | null;
      readonly deleted: {
        readonly runs: number;
        readonly contents: number;
        readonly ledger_entries: number;
        readonly audit_entries: number;
        readonly support_access: number;
        readonly deliveries: number;
        readonly events: number;
      };
    } | null;
  };
  readonly 'policies.change': Responses['policies.read'];
  readonly 'policies.create': Responses['policies.read'];
  readonly 'policies.evaluate': {
    readonly verdict: 'allow' | 'block' | 'require_approval' | 'error';
    readonly rule_id: string | null;
    readonly reason: string | null;
    readonly attempted: string | null;
    readonly considered: readonly {
      readonly rule_id: string;
      readonly priority: number;
      readonly effect: 'allow' | 'block' | 'require_approval';
      readonly outcome: 'decided' | 'passed_over' | 'failed' | 'not_reached' | 'disabled';
      readonly explanation: string;
    }[];
  };
  readonly 'policies.list': {
    readonly data: readonly Responses['policies.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'policies.read': {
    readonly id: string;
    readonly version: number;
    readonly effect: 'allow' | 'block' | 'require_approval';
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
  readonly 'policies.simulate': {
    readonly runs: number;
    readonly unchanged: number;
    readonly changed: number;
    readonly draft: {
      readonly allow: number;
      readonly block: number;
      readonly require_approval: number;
      readonly error: number;
    };
    readonly changes: readonly {
      readonly run_id: string;
      readonly model: string;
      readonly action: string | null;
      readonly charged_at: string;
      readonly now: {
        readonly verdict: 'allow' | 'block' | 'require_approval' | 'error';
        readonly rule_id: string | null;
        readonly reason: string | null;
      };
      readonly draft: {
        readonly verdict: 'allow' | 'block' | 'require_approval' | 'error';
        readonly rule_id: string | null;
        readonly reason: string | null;
      };
    }[];
  };
  readonly 'policies.variables': {
    readonly data: readonly {
      readonly name: string;
      readonly type: string;
      readonly meaning: string;
      readonly example: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'policies.versions': {
    readonly data: readonly {
      readonly version: number;
      readonly changed_at: string;
      readonly changed_by: string;
      readonly deleted: boolean;
      readonly policy: Responses['policies.read'];
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'prepaid.read': Responses['orgs.prepaid.read'];
  readonly 'price_changes.approve': Responses['price_changes.read'];
  readonly 'price_changes.list': {
    readonly data: readonly Responses['price_changes.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'price_changes.read': {
    readonly id: string;
    readonly model: string;
    readonly provider: string | null;
    readonly status: 'pending' | 'approved' | 'rejected' | 'superseded';
    readonly priced_as: string | null;
    readonly current_price_version: string;
    readonly rates: readonly {
      readonly rate: string;
      readonly before: string | null;
      readonly after: string | null;
      readonly change_percent: number | null;
    }[];
    readonly effective_from: string | null;
    readonly source: string;
    readonly created_at: string;
    readonly decided_at: string | null;
    readonly decided_by: string | null;
    readonly decision_reason: string | null;
    readonly price_version: string | null;
  };
  readonly 'price_changes.reject': Responses['price_changes.read'];
  readonly 'price_updates.create': {
    readonly dry_run: boolean;
    readonly effective_from: string;
    readonly counts: {
      readonly added: number;
      readonly changed: number;
      readonly pending: number;
      readonly kept: number;
      readonly skipped: number;
      readonly unchanged: number;
    };
    readonly models: readonly {
      readonly model: string;
      readonly provider: string | null;
      readonly status: 'added' | 'changed' | 'pending' | 'kept' | 'skipped' | 'unchanged';
      readonly reason: 'operator_price' | 'name_of_operator_price' | 'rejected' | 'no_price' | 'too_many_versions' | null;
      readonly priced_as: string | null;
      readonly rates: readonly {
        readonly rate: string;
        readonly before: string | null;
        readonly after: string | null;
        readonly change_percent: number | null;
      }[];
      readonly price_version: string | null;
      readonly change_id: string | null;
      readonly source: string;
    }[];
  };
  readonly 'rate_limit_policies.list': {
    readonly data: readonly {
      readonly id: string;
      readonly name: string;
      readonly unit: 'usd' | 'tokens' | 'requests' | 'concurrent';
      readonly limit: string | number;
      readonly kind: 'rate' | 'quota';
      readonly window_seconds: number;
      readonly match: {
        readonly key_id?: string;
        readonly model?: string;
        readonly customer_id?: string;
        readonly route_class?: 'read' | 'write' | 'runs' | 'edge';
      };
      readonly burst: string | number | null;
      readonly created_at: string;
      readonly updated_at: string;
    }[];
    readonly next_cursor: string | null;
    readonly read_rpm: number | null;
  };
  readonly 'refusals.list': {
    readonly data: readonly {
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
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'refusals.read': {
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
  readonly 'residency.put': Responses['residency.read'];
  readonly 'residency.read': {
    readonly home_region: string | null;
    readonly mode: 'forward' | 'strict';
  };
  readonly 'retention_policy.put': Responses['retention_policy.read'];
  readonly 'retention_policy.read': {
    readonly runs_days: number | null;
    readonly content_days: number;
    readonly audit_days: number | null;
    readonly deliveries_days: number;
    readonly idempotency_days: number;
    readonly legal_hold: boolean;
    readonly updated_at: string | null;
    readonly failing_since: string | null;
    readonly failing: readonly ('runs' | 'contents' | 'ledger_entries' | 'audit_entries' | 'support_access' | 'deliveries' | 'events')[];
    readonly last_run: {
      readonly id: string;
      readonly started_at: string;
      readonly finished_at: string | null;
      readonly deleted: {
        readonly runs: number;
        readonly contents: number;
        readonly ledger_entries: number;
        readonly audit_entries: number;
        readonly support_access: number;
        readonly deliveries: number;
        readonly events: number;
      };
    } | null;
  };
  readonly 'retention_policy.runs.list': {
    readonly data: readonly {
      readonly id: string;
      readonly started_at: string;
      readonly finished_at: string | null;
      readonly deleted: {
        readonly runs: number;
        readonly contents: number;
        readonly ledger_entries: number;
        readonly audit_entries: number;
        readonly support_access: number;
        readonly deliveries: number;
        readonly events: number;
      };
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'routing.decide': {
    readonly model: string;
    readonly provider: string | null;
    readonly expected_cost_usd: string;
    readonly score: number | null;
    readonly latency_ms: number | null;
    readonly fallback: boolean;
    readonly considered: readonly {
      readonly model: string;
      readonly reason: 'not_best' | 'no_price' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'not_in_region' | 'context_too_small' | 'output_too_long' | 'capability_missing' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'rate_limited' | 'not_evaluated' | 'evaluation_too_old' | 'too_few_samples' | 'score_too_low';
      readonly rank: number | null;
      readonly expected_cost_usd: string | null;
      readonly score: number | null;
      readonly latency_ms: number | null;
      readonly rule_id: string | null;
    }[];
    readonly not_checked: readonly ('safety' | 'chain')[];
    readonly decision_id?: string;
    readonly expires_at?: string;
    readonly held_usd?: string;
  };
  readonly 'routing_policy.put': Responses['routing_policy.read'];
  readonly 'routing_policy.read': {
    readonly candidates: readonly string[];
    readonly suite: string;
    readonly min_score: number;
    readonly min_samples: number;
    readonly max_age_days: number;
    readonly objective: 'cost' | 'latency' | 'quality';
    readonly weights: {
      readonly cost: number;
      readonly latency: number;
      readonly quality: number;
    } | null;
    readonly fallbacks: readonly string[];
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'runs.adjust': {
    readonly id: string;
    readonly run_id: string;
    readonly amount_usd: string;
    readonly reason: string;
    readonly uncovered_usd: string;
    readonly created_at: string;
    readonly actor: {
      readonly kind: string;
      readonly id: string;
    };
    readonly run: Responses['runs.read'];
  };
  readonly 'runs.adjustments.list': {
    readonly data: readonly {
      readonly id: string;
      readonly run_id: string;
      readonly amount_usd: string;
      readonly reason: string;
      readonly uncovered_usd: string;
      readonly created_at: string;
      readonly actor: {
        readonly kind: string;
        readonly id: string;
      } | null;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'runs.complete': Responses['runs.read'];
  readonly 'runs.create': Responses['runs.read'];
  readonly 'runs.create_bulk': {
    readonly accepted: number;
    readonly runs: readonly {
      readonly index: number;
      readonly id: string;
      readonly external_id: string | null;
    }[];
    readonly known: readonly {
      readonly index: number;
      readonly id: string;
      readonly external_id: string | null;
    }[];
    readonly errors?: readonly {
      readonly index: number;
      readonly code: string;
      readonly message: string;
      readonly fields: readonly {
        readonly field: string;
        readonly code: string;
        readonly message?: string;
      }[];
      readonly details: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly 'runs.list': {
    readonly data: readonly Responses['runs.read'][];
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
    readonly count?: {
      readonly value: number;
      readonly exact: boolean;
    };
  };
  readonly 'runs.read': {
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
  readonly 'runs.reprice': Responses['runs.adjust'];
  readonly 'safety_detectors.change': Responses['safety_detectors.read'];
  readonly 'safety_detectors.create': Responses['safety_detectors.read'];
  readonly 'safety_detectors.list': {
    readonly data: readonly Responses['safety_detectors.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'safety_detectors.read': {
    readonly id: string;
    readonly name: string;
    readonly kind: 'built_in' | 'regex' | 'words';
    readonly description: string | null;
    readonly enabled: boolean;
    readonly action: 'block' | 'flag';
    readonly threshold: number;
    readonly pattern: string | null;
    readonly words: readonly string[] | null;
    readonly looks_at_characters: number;
    readonly created_at: string | null;
    readonly updated_at: string | null;
  };
  readonly 'safety_detectors.test': {
    readonly verdict: 'pass' | 'flag' | 'block';
    readonly content_characters: number;
    readonly findings: readonly {
      readonly detector: string;
      readonly detector_id: string;
      readonly enabled: boolean;
      readonly action: 'block' | 'flag';
      readonly fires: boolean;
      readonly matches: readonly {
        readonly start: number;
        readonly end: number;
        readonly sample: string;
      }[];
    }[];
  };
  readonly 'secrets.rotate': {
    readonly key_id: string;
    readonly complete: boolean;
    readonly seen: number;
    readonly reencrypted: number;
    readonly unreadable: number;
    readonly next_cursor: string | null;
  };
  readonly 'sessions.list': {
    readonly data: readonly {
      readonly id: string;
      readonly method: 'key' | 'link' | 'invitation' | 'oidc' | 'saml';
      readonly key_id: string | null;
      readonly member_id: string | null;
      readonly name: string;
      readonly role: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
      readonly address: string;
      readonly user_agent: string;
      readonly status: 'active' | 'expired' | 'revoked';
      readonly current: boolean;
      readonly created_at: string;
      readonly last_seen_at: string;
      readonly expires_at: string;
      readonly ended_at: string | null;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'snapshots.create': {
    readonly id: string;
    readonly created_at: string;
    readonly bytes: number;
    readonly open_holds: number;
    readonly paused_ms: number;
  };
  readonly 'spend_cap.put': Responses['spend_cap.read'];
  readonly 'spend_cap.read': {
    readonly id: string;
    readonly cap_usd: string;
    readonly timezone: string | null;
    readonly alert_thresholds: readonly number[];
    readonly owner: string | null;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'sso.endpoints': {
    readonly oidc: {
      readonly login_url: string;
      readonly redirect_url: string;
      readonly org_redirect_url: string;
    };
    readonly saml: {
      readonly login_url: string;
      readonly sp_entity_id: string;
      readonly acs_url: string;
    };
  };
  readonly 'sso.put': Responses['sso.read'];
  readonly 'sso.read': {
    readonly kind: 'oidc' | 'saml';
    readonly issuer: string | null;
    readonly client_id: string | null;
    readonly client_secret_set: boolean;
    readonly scope: string | null;
    readonly idp_entity_id: string | null;
    readonly idp_sso_url: string | null;
    readonly idp_certificate: string | null;
    readonly groups_attribute: string;
    readonly role_mapping: readonly {
      readonly group: string;
      readonly role: 'viewer' | 'member' | 'admin' | 'owner';
    }[];
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
  readonly 'sso.tests.create': {
    readonly id: string;
    readonly kind: 'oidc' | 'saml';
    readonly status: 'pending' | 'started' | 'finished';
    readonly result: {
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
    readonly created_at: string;
    readonly expires_at: string;
    readonly start_url: string;
  };
  readonly 'sso.tests.read': {
    readonly id: string;
    readonly kind: 'oidc' | 'saml';
    readonly status: 'pending' | 'started' | 'finished';
    readonly result: {
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
    readonly created_at: string;
    readonly expires_at: string;
  };
  readonly 'statements.compare': {
    readonly statement_id: string;
    readonly timezone: string;
    readonly total: {
      readonly billed_usd: string;
      readonly recorded_usd: string;
      readonly difference_usd: string;
      readonly causes: readonly {
        readonly cause: 'missing' | 'unsettled' | 'late' | 'price' | 'time_zone' | 'unknown' | 'rounding';
        readonly usd: string;
        readonly rows: number;
      }[];
    };
    readonly data: readonly {
      readonly day: string;
      readonly model: string;
      readonly project: string | null;
      readonly billed: {
        readonly usd: string;
        readonly input_tokens: number | null;
        readonly cached_input_tokens: number | null;
        readonly cache_write_tokens: number | null;
        readonly output_tokens: number | null;
      };
      readonly recorded: {
        readonly usd: string;
        readonly input_tokens: number | null;
        readonly cached_input_tokens: number | null;
        readonly cache_write_tokens: number | null;
        readonly output_tokens: number | null;
      };
      readonly difference: {
        readonly usd: string;
        readonly input_tokens: number | null;
        readonly cached_input_tokens: number | null;
        readonly cache_write_tokens: number | null;
        readonly output_tokens: number | null;
      };
      readonly causes: readonly {
        readonly cause: 'missing' | 'unsettled' | 'late' | 'price' | 'time_zone' | 'unknown' | 'rounding';
        readonly usd: string;
        readonly tokens: number | null;
        readonly provider_key_ids: readonly string[];
      }[];
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'statements.create': Responses['statements.read'];
  readonly 'statements.list': {
    readonly data: readonly Responses['statements.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'statements.read': {
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
  readonly 'statements.reconcile': Responses['statements.read'];
  readonly 'support.grants.create': Responses['support.grants.read'];
  readonly 'support.grants.list': {
    readonly data: readonly Responses['support.grants.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'support.grants.read': {
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
  readonly 'support.sessions.open': {
    readonly id: string;
    readonly grant_id: string;
    readonly org_id: string;
    readonly scope: readonly string[];
    readonly operator_key_id: string;
    readonly created_at: string;
    readonly expires_at: string;
    readonly token: string;
  };
  readonly 'support_access.grants.approve': Responses['support.grants.read'];
  readonly 'support_access.grants.deny': Responses['support.grants.read'];
  readonly 'support_access.grants.list': {
    readonly data: readonly Responses['support.grants.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'support_access.list': {
    readonly data: readonly {
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
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'support_access.settings.put': Responses['support_access.settings.read'];
  readonly 'support_access.settings.read': {
    readonly allowed: boolean;
    readonly approval_required: boolean;
  };
  readonly 'unpriced_models.list': {
    readonly data: readonly {
      readonly model: string;
      readonly runs: number;
      readonly repriced_runs: number;
      readonly input_tokens: number;
      readonly output_tokens: number;
      readonly first_used_at: string;
      readonly last_used_at: string;
      readonly priced_as: string | null;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'unpriced_models.totals': {
    readonly data: readonly {
      readonly model: string;
      readonly organizations: number;
      readonly runs: number;
      readonly repriced_runs: number;
      readonly input_tokens: number;
      readonly output_tokens: number;
      readonly first_used_at: string;
      readonly last_used_at: string;
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'unpriced_policy.put': Responses['unpriced_policy.read'];
  readonly 'unpriced_policy.read': {
    readonly on_unpriced: 'refuse' | 'hold_default' | 'record';
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
  readonly 'usage.read': {
    readonly from: string;
    readonly to: string;
    readonly timezone: string;
    readonly previous?: {
      readonly from: string;
      readonly to: string;
    };
    readonly total: {
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
      readonly previous?: {
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
      readonly change?: {
        readonly runs: number;
        readonly runs_ratio: number | null;
        readonly cost_usd: string;
        readonly cost_ratio: number | null;
      };
    };
    readonly data: readonly {
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
      readonly previous?: {
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
      readonly change?: {
        readonly runs: number;
        readonly runs_ratio: number | null;
        readonly cost_usd: string;
        readonly cost_ratio: number | null;
      };
    }[];
    readonly next_cursor: string | null;
  };
  readonly 'usage.series': {
    readonly from: string;
    readonly to: string;
    readonly timezone: string;
    readonly interval: 'hour' | 'day' | 'month';
    readonly points: readonly string[];
    readonly series: readonly {
      readonly kind: 'all' | 'value' | 'unset' | 'other';
      readonly value: string | null;
      readonly points: readonly ({
        readonly runs: number;
        readonly failed_runs: number;
        readonly input_tokens: number;
        readonly output_tokens: number;
        readonly cost_usd: string;
        readonly value_usd: string;
        readonly latency_p95_ms?: number | null;
      } | null)[];
    }[];
  };
  readonly 'usage.values': {
    readonly from: string;
    readonly to: string;
    readonly fields: {
      readonly key_id: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly model: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly provider: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly workflow: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly deployment: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly department: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly team: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly customer_id: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly status: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly member_id: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
      readonly project: {
        readonly values: readonly string[];
        readonly more: boolean;
      };
    };
    readonly tags: Readonly<Record<string, {
      readonly values: readonly string[];
      readonly more: boolean;
    }>>;
  };
  readonly 'webhooks.change': Responses['webhooks.read'];
  readonly 'webhooks.create': {
    readonly id: string;
    readonly url: string;
    readonly format: 'json' | 'slack' | 'teams';
    readonly events: readonly string[];
    readonly description: string | null;
    readonly status: 'active' | 'paused' | 'disabled';
    readonly disabled_reason: 'gone' | 'failing' | null;
    readonly disabled_at: string | null;
    readonly event_version: 1 | 2;
    readonly created_at: string;
    readonly updated_at: string;
    readonly secret?: string;
  };
  readonly 'webhooks.deliveries.list': {
    readonly data: readonly Responses['webhooks.deliveries.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'webhooks.deliveries.payload': {
    readonly id: string;
    readonly type: string;
    readonly created_at: string;
    readonly org_id: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly 'webhooks.deliveries.read': {
    readonly id: string;
    readonly event_id: string;
    readonly event_type: string;
    readonly state: 'waiting' | 'delivered' | 'failed';
    readonly failure: 'attempts_exhausted' | 'gone' | 'disabled' | 'queue_full' | 'event_gone' | null;
    readonly next_attempt_at: string | null;
    readonly attempts: readonly {
      readonly at: string;
      readonly status: number | null;
      readonly latency_ms: number;
      readonly error: 'timeout' | 'address_not_allowed' | 'name_not_resolved' | 'connection_refused' | 'connection_reset' | 'tls' | 'invalid_answer' | 'network' | null;
      readonly response: string | null;
    }[];
    readonly created_at: string;
    readonly ended_at: string | null;
  };
  readonly 'webhooks.deliveries.redeliver': Responses['webhooks.deliveries.read'];
  readonly 'webhooks.list': {
    readonly data: readonly Responses['webhooks.read'][];
    readonly next_cursor: string | null;
  };
  readonly 'webhooks.org_secret.read': {
    readonly secret: string;
    readonly fingerprint: string;
    readonly created_at: string;
  };
  readonly 'webhooks.org_secret.rotate': Responses['webhooks.org_secret.read'];
  readonly 'webhooks.pause': Responses['webhooks.read'];
  readonly 'webhooks.read': {
    readonly id: string;
    readonly url: string;
    readonly format: 'json' | 'slack' | 'teams';
    readonly events: readonly string[];
    readonly description: string | null;
    readonly status: 'active' | 'paused' | 'disabled';
    readonly disabled_reason: 'gone' | 'failing' | null;
    readonly disabled_at: string | null;
    readonly event_version: 1 | 2;
    readonly created_at: string;
    readonly updated_at: string;
  };
  readonly 'webhooks.redeliver': {
    readonly redelivering: number;
    readonly more: boolean;
    readonly next_cursor: string | null;
  };
  readonly 'webhooks.resume': Responses['webhooks.read'];
  readonly 'webhooks.signing.read': {
    readonly event_version: 1 | 2;
    readonly fingerprint: string | null;
    readonly created_at: string | null;
    readonly age_seconds: number | null;
    readonly overlap_ends_at: string | null;
    readonly previous_fingerprint: string | null;
  };
  readonly 'webhooks.signing.rotate': {
    readonly event_version: 1 | 2;
    readonly fingerprint: string | null;
    readonly created_at: string | null;
    readonly age_seconds: number | null;
    readonly overlap_ends_at: string | null;
    readonly previous_fingerprint: string | null;
    readonly secret: string;
  };
  readonly 'webhooks.test': Responses['webhooks.deliveries.read'];
}

export type OperationId = keyof Responses;

/** The type of the rows of a list. */
export type Item<Id extends OperationId> = Responses[Id] extends { readonly data: readonly (infer Row)[] } ? Row : never;
