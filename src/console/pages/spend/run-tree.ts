/** Runs that follow from one another, as a tree. */
import { milliseconds, usd } from '../../format.ts';
import { html, type Markup, path } from '../../html.ts';

export interface RunView {
  readonly id: string;
  readonly external_id: string | null;
  readonly model: string;
  readonly provider: string | null;
  readonly action: string | null;
  readonly status: string;
  readonly workflow: string | null;
  readonly deployment: string | null;
  readonly department: string | null;
  readonly team: string | null;
  readonly customer_id: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly chain_id: string | null;
  readonly parent_run_id: string | null;
  readonly depth: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string | null;
  readonly adjustment_usd: string;
  readonly uncovered_usd: string;
  readonly value_usd: string | null;
  readonly latency_ms: number | null;
  readonly price_version: string | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly charged_at: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly decision_id: string | null;
  readonly held_usd: string | null;
  readonly marks: readonly string[];
  readonly flagged_by: readonly string[];
  readonly key_id: string;
}

/** Those whose parent is not among them stand at the top. */
export function runTree(runs: readonly RunView[], currentId: string): Markup {
  const known = new Set(runs.map(({ id }) => id));
  const children = new Map<string | null, RunView[]>();
  for (const run of runs) {
    const parent = run.parent_run_id !== null && known.has(run.parent_run_id) ? run.parent_run_id : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(run);
    children.set(parent, siblings);
  }
  const branch = (parent: string | null): Markup[] =>
    (children.get(parent) ?? []).map((run) => {
      const below = branch(run.id);
      return html`<li>${node(run, run.id === currentId)}${below.length > 0 && html`<ul>${below}</ul>`}</li>`;
    });
  return html`<ul class="tree">${branch(null)}</ul>`;
}

function node(run: RunView, isCurrent: boolean): Markup {
  const name = html`<strong>${run.action ?? 'run'}</strong> ${run.model}`;
  return html`<div class="node${isCurrent && ' here'}">${isCurrent ? html`<span aria-current="true">${name}</span>` : html`<a href="${path`/console/runs/${run.id}`}">${name}</a>`}
<span class="quiet">${usd(run.cost_usd ?? run.held_usd)}</span><span class="quiet">${milliseconds(run.latency_ms)}</span>${run.status !== 'succeeded' && html`<span class="quiet">${run.status}</span>`}</div>`;
}
