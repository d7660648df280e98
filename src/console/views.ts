/** As much of the API's answers as several pages read. */

export interface LimitView {
  readonly id: string;
  readonly kind: string;
  readonly name: string | null;
  readonly unit: string;
  readonly match: Readonly<Record<string, string>>;
  readonly enforcement: 'block' | 'alert';
  readonly limit: string | number;
  readonly standing: StandingView | null;
  readonly expires_at: string | null;
}

export interface StandingView {
  readonly settled: string | number;
  readonly held: string | number;
  readonly remaining: string | number;
  readonly window_start: string | null;
  readonly window_end: string | null;
}

export interface UsageView {
  readonly total: { readonly cost_usd: string; readonly runs: number };
  readonly data: readonly UsageRow[];
  readonly next_cursor: string | null;
}

export interface UsageRow {
  readonly day?: string;
  readonly model?: string | null;
  readonly workflow?: string | null;
  readonly customer_id?: string | null;
  readonly runs: number;
  readonly cost_usd: string;
}

export interface RefusalView {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly operation: string;
  readonly key_id: string;
  readonly model: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly last_at: string;
}
