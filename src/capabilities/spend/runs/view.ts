/** The API representation of a run. */
import { formatUsd } from '../../../kernel/money.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import { isoInstant } from '../../../platform/time/iso-instant.ts';
import { isDefaultRates } from '../unpriced-models/index.ts';
import type { RunRow } from './queries.ts';
import type { RunView } from './schema.ts';

/** `hold` is the open hold of a running run. */
export function viewRun(run: RunRow, hold?: Hold | null): RunView {
  return {
    id: run.id,
    external_id: run.external_id,
    model: run.model,
    served_model: run.served_model,
    provider: run.provider,
    action: run.action,
    status: run.status,
    workflow: run.workflow,
    deployment: run.deployment,
    department: run.department,
    team: run.team,
    customer_id: run.customer_id,
    member_id: run.member_id,
    project: run.project,
    tags: run.tags ?? {},
    chain_id: run.chain_id,
    parent_run_id: run.parent_run_id,
    depth: run.depth,
    input_tokens: Number(run.input_tokens),
    cached_input_tokens: Number(run.cached_input_tokens),
    // The column has both kinds of writes.
    cache_write_tokens: Number(run.cache_write_tokens - (run.cache_write_1h_tokens ?? 0n)),
    cache_write_1h_tokens: Number(run.cache_write_1h_tokens ?? 0n),
    output_tokens: Number(run.output_tokens),
    service_tier: run.service_tier,
    region: run.region,
    units: run.units ?? {},
    cost_usd: run.cost_nanos === null ? null : formatUsd(run.cost_nanos),
    adjustment_usd: formatUsd(run.adjusted_nanos),
    uncovered_usd: formatUsd(run.uncovered_nanos),
    value_usd: run.value_nanos === null ? null : formatUsd(run.value_nanos),
    latency_ms: run.latency_ms === null ? null : Number(run.latency_ms),
    price_version: run.price_version,
    priced_as: run.priced_as,
    price_source: priceSourceOf(run),
    started_at: isoInstant(run.started_at.getTime()),
    finished_at: run.finished_at === null ? null : isoInstant(run.finished_at.getTime()),
    // Only `readRun` returns content: responses to writes are stored, and lists would be too long.
    content: null,
    metadata: run.metadata ?? {},
    decision_id: run.decision_id,
    held_usd: hold == null ? null : formatUsd(hold.amounts.usd),
    expires_at: hold == null ? null : isoInstant(hold.expiresAtMs),
    marks: run.flagged_by === null ? [...run.marks] : [...run.marks, 'flagged'],
    flagged_by: [...(run.flagged_by ?? [])],
    key_id: run.key_id,
    charged_at: isoInstant(run.charged_at.getTime()),
    created_at: isoInstant(run.created_at.getTime()),
  };
}

/** Returns true if the model of the run had no price, and the run was not repriced since. */
export function isWithoutPrice({ marks, price_version }: Pick<RunRow, 'marks' | 'price_version'>): boolean {
  return marks.includes('unpriced') && (price_version === null || isDefaultRates(price_version));
}

function priceSourceOf(run: RunRow): RunView['price_source'] {
  // The cost of an unsettled run is its held amount.
  if (run.status === 'running') {
    return null;
  }
  if (run.price_version !== null) {
    return isDefaultRates(run.price_version) ? 'default_rates' : 'price';
  }
  return isWithoutPrice(run) ? 'none' : null;
}
