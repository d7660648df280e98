/** The API representation of a run. */
import {
  type CostParts,
  inKindOrder,
  kindOfCode,
  nanosOfParts,
  unsplitCode,
} from '../../../kernel/cost-parts.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { isoInstant } from '../../../platform/time/iso-instant.ts';
import { isDefaultRates } from '../unpriced-models/index.ts';
import { postedRow, type RunDraft, type RunRow, readPaid } from './queries.ts';
import type { CostPartView, RunView } from './schema.ts';

interface ViewOptions {
  /** The open hold of a running run. */
  readonly hold?: Hold | null | undefined;
  /** Sums of the run's entries by kind. Left out in lists, which would have to read all entries. */
  readonly parts?: CostParts | undefined;
}

export function viewRun(run: RunRow, { hold, parts }: ViewOptions = {}): RunView {
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
    // Subtracted, because the column contains both kinds of cache writes.
    cache_write_tokens: Number(run.cache_write_tokens - (run.cache_write_1h_tokens ?? 0n)),
    cache_write_1h_tokens: Number(run.cache_write_1h_tokens ?? 0n),
    output_tokens: Number(run.output_tokens),
    service_tier: run.service_tier,
    region: run.region,
    units: run.units ?? {},
    cost_usd: run.cost_nanos === null ? null : formatUsd(run.cost_nanos),
    adjustment_usd: formatUsd(run.adjusted_nanos),
    cost_parts:
      run.cost_nanos === null || parts === undefined
        ? null
        : viewParts(parts, run.cost_nanos + run.adjusted_nanos),
    uncovered_usd: formatUsd(run.uncovered_nanos),
    value_usd: run.value_nanos === null ? null : formatUsd(run.value_nanos),
    latency_ms: run.latency_ms === null ? null : Number(run.latency_ms),
    price_version: run.price_version,
    priced_as: run.priced_as,
    price_source: priceSourceOf(run),
    started_at: isoInstant(run.started_at.getTime()),
    finished_at: run.finished_at === null ? null : isoInstant(run.finished_at.getTime()),
    // Null, because only `readRun` returns content: responses to writes are stored, and lists would be too long.
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

/** Returns the view of a run right after its charge. */
export function viewPosted(posted: Posted<RunDraft>, hold?: Hold | null): RunView {
  return viewRun(postedRow(posted), { hold, parts: posted.posting.parts });
}

/** Returns the view of a stored run with its parts. */
export async function viewStored(db: Queryable, run: RunRow, hold?: Hold): Promise<RunView> {
  const parts = run.cost_nanos === null ? undefined : (await readPaid(db, run.org_id, run.id)).parts;
  return viewRun(run, { hold, parts });
}

function viewParts(parts: CostParts, nanos: bigint): CostPartView[] {
  const unsplit = nanos - nanosOfParts(parts);
  const rest = unsplit === 0n ? [] : [{ code: unsplitCode, quantity: 0n, nanos: unsplit }];
  return [...inKindOrder(parts), ...rest].map((part) => ({
    kind: kindOfCode(part.code),
    quantity: Number(part.quantity),
    cost_usd: formatUsd(part.nanos),
  }));
}

/** Returns true if the model of the run had no price and the run was not repriced. */
export function isWithoutPrice({ marks, price_version }: Pick<RunRow, 'marks' | 'price_version'>): boolean {
  return marks.includes('unpriced') && (price_version === null || isDefaultRates(price_version));
}

function priceSourceOf(run: RunRow): RunView['price_source'] {
  // Null for an unsettled run, whose cost is its held amount.
  if (run.status === 'running') {
    return null;
  }
  if (run.price_version !== null) {
    return isDefaultRates(run.price_version) ? 'default_rates' : 'price';
  }
  return isWithoutPrice(run) ? 'none' : null;
}
